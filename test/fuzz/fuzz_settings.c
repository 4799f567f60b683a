/* Durations and numbers from people, and text of strangers for a terminal, a log or JSON. */
#include "fuzz.h"
#include "log.h"
#include "number.h"
#include "settings.h"
#include "utf8.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    char *text = fuzz_text(data, size), *clean = malloc(UTF8_ROOM(size)), quoted[64];
    int64_t integer;
    double number;

    if (!clean)
        abort();
    if (number_read_duration(text, &integer) == 0 && integer < 0)
        abort();
    (void)number_read_int(text, &integer);
    (void)number_read(text, &number);
    (void)number_read_part(text, &number);
    (void)number_read_scaled(text, &number);
    (void)log_quote(quoted, sizeof quoted, text);
    (void)utf8_clean(clean, text);
    utf8_make_printable(text);
    free(clean);
    free(text);
    return 0;
}
