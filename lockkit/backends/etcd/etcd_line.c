/* Keys, transactions, and places in the line. */
#include "etcd_line.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A slash would begin the line of another name; a percent sign marks an encoded byte. */
static size_t append_name(char *key, size_t length, const char *name) {
    for (; *name; name++) {
        if (*name == '/' || *name == '%')
            length += (size_t)sprintf(key + length, "%%%02X", (unsigned)(unsigned char)*name);
        else
            key[length++] = *name;
    }
    return length;
}

struct etcd_keys etcd_keys_of(const struct etcd_line *line) {
    const struct lk_command *command = line->command;
    const char *owner = command->owner != NULL ? command->owner : "";
    struct etcd_keys keys;
    char key[ETCD_KEY_SIZE];
    size_t length = strlen(line->prefix);

    assert(length < ETCD_PREFIX_SIZE && strlen(command->name) <= NAME_MAX_BYTES);
    assert(strlen(owner) <= LABEL_MAX_BYTES);
    memcpy(key, line->prefix, length);
    length = append_name(key, length, command->name);
    keys.prefix_length = length + 1;
    key[length] = '/' + 1;
    base64_encode(keys.end, key, length + 1);
    key[length] = '/';
    base64_encode(keys.first, key, length + 1);
    memcpy(key + length + 1, owner, strlen(owner));
    base64_encode(keys.own, key, length + 1 + strlen(owner));
    return keys;
}

/* ---- Transactions */

static json_t *created(const char *key, int64_t revision) {
    return json_pack("{s:s, s:s, s:s, s:I}", "target", "CREATE", "result", "EQUAL", "key", key,
                     "create_revision", (json_int_t)revision);
}

static json_t *get_own(const struct etcd_keys *keys) {
    return json_pack("{s:{s:s, s:b}}", "request_range", "key", keys->own, "keys_only", 1);
}

static json_t *etcd_line_put(const struct etcd_line *line, const char *key, int64_t lease) {
    char value[ETCD_VALUE_SIZE], text[BASE64_SIZE(ETCD_VALUE_SIZE)];

    if (line->command->mode == LK_SHARED)
        (void)snprintf(value, sizeof value, "s%u %s", line->command->permits, line->label);
    else
        (void)snprintf(value, sizeof value, "x %s", line->label);
    base64_encode(text, value, strlen(value));
    return json_pack("{s:{s:s, s:s, s:I}}", "request_put", "key", key, "value", text, "lease",
                     (json_int_t)lease);
}

const char *etcd_line_parse(char *value, enum lk_mode *mode, uint32_t *permits) {
    char *end = value;
    unsigned long number = value[0] == 's' ? strtoul(value + 1, &end, 10) : 1;

    *mode = LK_EXCLUSIVE;
    *permits = 1;
    if (value[0] == 'x' && value[1] == ' ')
        return value + 2;
    if (end <= value + 1 || *end != ' ' || number == 0 || number > UINT32_MAX)
        return value; /* of another program */
    *mode = LK_SHARED;
    *permits = (uint32_t)number;
    return end + 1;
}

/* A line without sharers needs only its last two keys: the key that was just put, and the one
 * before it. `before`: only keys created before it; 0: all. */
static json_t *get_line(const struct etcd_keys *keys, const struct lk_command *command,
                        int64_t before) {
    bool is_alone = command->mode == LK_EXCLUSIVE;

    return json_pack("{s:{s:s, s:s, s:s, s:s, s:i, s:b, s:I}}", "request_range", "key", keys->first,
                     "range_end", keys->end, "sort_target", "CREATE", "sort_order",
                     is_alone ? "DESCEND" : "ASCEND", "limit", is_alone ? 2 : ETCD_LINE_MOST,
                     "keys_only", is_alone, "max_create_revision",
                     (json_int_t)(before > 0 ? before - 1 : 0));
}

static json_t *transaction(json_t *compare, json_t *success, json_t *failure) {
    return json_pack("{s:o, s:o, s:o}", "compare", compare, "success", success, "failure", failure);
}

bool etcd_line_is_read(const struct lk_command *command) {
    return command->patience_ms > 0 || command->mode == LK_SHARED;
}

json_t *etcd_line_enter(const struct etcd_line *line, int64_t lease) {
    const struct etcd_keys keys = etcd_keys_of(line);
    json_t *put = etcd_line_put(line, keys.own, lease), *compare, *success;

    if (etcd_line_is_read(line->command)) {
        compare = created(keys.own, 0);
        success = json_pack("[o, o]", put, get_line(&keys, line->command, 0));
    } else {
        compare = created(keys.first, 0);
        if (compare != NULL)
            (void)json_object_set_new(compare, "range_end", json_string(keys.end));
        success = json_pack("[o]", put);
    }
    return transaction(json_pack("[o]", compare), success, json_pack("[o]", get_own(&keys)));
}

json_t *etcd_line_look(const struct etcd_line *line, int64_t revision) {
    const struct etcd_keys keys = etcd_keys_of(line);

    return transaction(json_pack("[o]", created(keys.own, revision)),
                       json_pack("[o]", get_line(&keys, line->command, revision)), json_array());
}

json_t *etcd_line_move(const struct etcd_line *line, int64_t revision, int64_t lease) {
    const struct etcd_keys keys = etcd_keys_of(line);

    return transaction(json_pack("[o]", created(keys.own, revision)),
                       json_pack("[o]", etcd_line_put(line, keys.own, lease)), json_array());
}

json_t *etcd_line_leave(const struct etcd_line *line) {
    const struct etcd_keys keys = etcd_keys_of(line);
    json_t *first = json_pack("{s:{s:s, s:s, s:s, s:s, s:i, s:b}}", "request_range", "key",
                              keys.first, "range_end", keys.end, "sort_target", "CREATE",
                              "sort_order", "ASCEND", "limit", 1, "keys_only", 1);
    json_t *delete = json_pack("{s:{s:s}}", "request_delete_range", "key", keys.own);

    return transaction(json_array(), json_pack("[o, o, o]", get_own(&keys), first, delete),
                       json_array());
}

json_t *etcd_line_own(const struct etcd_line *line) {
    const struct etcd_keys keys = etcd_keys_of(line);

    return json_pack("{s:s, s:b}", "key", keys.own, "keys_only", 1);
}

/* ---- Replies */

static bool is_range(const json_t *range) {
    const json_t *kvs = json_object_get(range, "kvs"), *kv; /* missing when there are none */
    size_t i;

    json_array_foreach (kvs, i, kv)
        if (json_string_value(json_object_get(kv, "key")) == NULL ||
            json_integer_of(kv, "create_revision") == 0)
            return false;
    return json_is_object(range) && (kvs == NULL || json_is_array(kvs));
}

bool etcd_line_is_whole(const json_t *range) {
    return is_range(range) && (json_array_size(json_object_get(range, "kvs")) > 0 ||
                               json_integer_of(range, "count") == 0);
}

static bool is_reply_to(char operation, const json_t *response) {
    switch (operation) {
    case 'p':
        return json_is_object(json_object_get(response, "response_put"));
    case 'r':
        return is_range(json_object_get(response, "response_range"));
    default:
        return json_is_object(json_object_get(response, "response_delete_range"));
    }
}

enum etcd_done etcd_line_done(const json_t *reply, const char *success, const char *failure) {
    const json_t *succeeded = json_object_get(reply, "succeeded"); /* missing when it is false */
    const json_t *responses = json_object_get(reply, "responses");
    const char *operations = json_is_true(succeeded) ? success : failure;

    if ((succeeded != NULL && !json_is_boolean(succeeded)) || operations == NULL ||
        json_array_size(responses) != strlen(operations))
        return ETCD_DONE_UNKNOWN;
    for (size_t i = 0; operations[i]; i++)
        if (!is_reply_to(operations[i], json_array_get(responses, i)))
            return ETCD_DONE_UNKNOWN;
    return json_is_true(succeeded) ? ETCD_DONE_SUCCESS : ETCD_DONE_FAILURE;
}

int64_t etcd_line_deleted(const json_t *reply) {
    const json_t *responses = json_object_get(reply, "responses"), *response;
    int64_t count = 0;
    size_t i;

    json_array_foreach (responses, i, response) {
        if (!is_reply_to('d', response))
            return -1;
        count += json_integer_of(json_object_get(response, "response_delete_range"), "deleted");
    }
    return i > 0 ? count : -1;
}

const json_t *etcd_line_found(const json_t *reply, size_t index) {
    const json_t *responses = json_object_get(reply, "responses");
    const json_t *range = json_object_get(json_array_get(responses, index), "response_range");

    return json_object_get(range, "kvs");
}

/* For a sharer: the last exclusive key before it, if there is one, and the number of permits taken.
 */
struct etcd_place etcd_line_place(const json_t *found, int64_t revision,
                                  const struct lk_command *command) {
    const char *last = NULL, *last_alone = NULL;
    int64_t last_revision = 0, last_alone_revision = 0;
    uint64_t taken = command->permits;
    const json_t *kv;
    size_t i;

    json_array_foreach (found, i, kv) {
        int64_t created_at = json_integer_of(kv, "create_revision");
        char value[ETCD_VALUE_SIZE];
        enum lk_mode mode = LK_EXCLUSIVE;
        uint32_t permits = 1;

        if (created_at >= revision)
            continue;
        if (json_bytes_of(kv, "value", value, sizeof value))
            (void)etcd_line_parse(value, &mode, &permits);
        taken += permits;
        if (created_at > last_revision) {
            last_revision = created_at;
            last = json_string_value(json_object_get(kv, "key"));
        }
        if (mode == LK_EXCLUSIVE && created_at > last_alone_revision) {
            last_alone_revision = created_at;
            last_alone = json_string_value(json_object_get(kv, "key"));
        }
    }
    if (command->mode == LK_EXCLUSIVE || last_alone != NULL)
        return (struct etcd_place){last == NULL, command->mode == LK_EXCLUSIVE ? last : last_alone};
    return (struct etcd_place){
        (command->limit == 0 || taken <= command->limit) && i < ETCD_LINE_MOST, NULL};
}
