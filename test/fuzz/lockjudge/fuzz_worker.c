/* Lines of a worker of lockjudge: any program may be one. */
#include "fuzz.h"
#include "line.h"
#include "why.h"

#include <assert.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    char *text = fuzz_text(data, size);
    struct line line;
    struct why why;
    char caps[LINE_CAPS_TEXT];

    if (line_parse(text, size, &line, &why) == 0) {
        line_caps_text(line.caps, caps, sizeof caps);
        assert(strlen(line.text) < sizeof line.text && line_word_text(line.word) != NULL);
    }
    free(text);
    return 0;
}
