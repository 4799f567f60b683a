/* JSON of strangers, read by both readers: if the flat one accepts a text, the tree agrees with
 * it. */
#include "fuzz.h"
#include "json_flat.h"
#include "json_read.h"

static void compare(const struct json_flat *flat, const json_t *json) {
    const char *name;
    json_t *value;
    int64_t number;

    if (json_object_size(json) != flat->count)
        abort();
    json_object_foreach ((json_t *)(uintptr_t)json, name, value) {
        const char *text = json_flat_text(flat, name);

        if (json_is_string(value) ? !text || strcmp(text, json_string_value(value)) != 0
            : json_is_integer(value)
                ? !json_flat_integer(flat, name, &number) || number != json_integer_value(value)
                : json_flat_is_true(flat, name) != json_is_true(value))
            abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    char *text = fuzz_text(data, size);
    json_t *json = json_read(text, size, NULL);
    struct json_flat flat;

    if (json_flat_read(&flat, text, size))
        compare(&flat, json);
    json_decref(json);
    free(text);
    return 0;
}
