/* Replies of etcd's JSON gateway, and keys of a queue that other clients wrote. */
#include "etcd_line.h"
#include "fuzz.h"
#include "json_read.h"

static void read_key(const json_t *key) {
    char bytes[ETCD_KEY_SIZE], value[ETCD_VALUE_SIZE];
    enum lk_mode mode;
    uint32_t permits;

    (void)json_bytes_of(key, "key", bytes, sizeof bytes);
    (void)json_integer_of(key, "create_revision");
    if (json_bytes_of(key, "value", value, sizeof value))
        (void)etcd_line_parse(value, &mode, &permits);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    char *text = fuzz_text(data, size);
    json_t *reply = json_read_as_is(text, size, NULL);
    const struct lk_command command = {.mode = LK_SHARED, .permits = 1, .limit = 2, .owner = "y"};
    const json_t *key;
    size_t at;

    for (size_t i = 0; i < 3; i++) {
        const json_t *found = etcd_line_found(reply, i);

        (void)etcd_line_place(found, 5, &command);
        json_array_foreach (found, at, key)
            read_key(key);
    }
    (void)etcd_line_deleted(reply);
    json_decref(reply);
    free(text);
    return 0;
}
