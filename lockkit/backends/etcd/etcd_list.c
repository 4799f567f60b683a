/* INSPECT and BREAK: the line as it stands, and those at its head taken out of it. */
#include "etcd_command.h"

#include <stdlib.h>
#include <string.h>

#define MS_PER_S 1000

/* Of a line the first `count` hold. */
static size_t count_holders(const json_t *line, const struct lk_command *command) {
    uint64_t taken = 0;
    const json_t *kv;
    size_t i;

    json_array_foreach (line, i, kv) {
        char value[ETCD_VALUE_SIZE];
        enum lk_mode mode = LK_EXCLUSIVE;
        uint32_t permits = 1;

        if (json_bytes_of(kv, "value", value, sizeof value))
            (void)etcd_line_parse(value, &mode, &permits);
        taken += permits;
        if (mode == LK_EXCLUSIVE)
            return i == 0 ? 1 : i;
        if (command->limit > 0 && taken > command->limit)
            return i;
    }
    return i;
}

/* What is told of one key, in memory of its own. */
struct standing {
    char key[ETCD_KEY_SIZE], value[ETCD_VALUE_SIZE];
};

static void describe(struct lk_holder *holder, struct standing *standing, const json_t *kv,
                     size_t prefix_length) {
    *holder = (struct lk_holder){.owner = "", .label = "", .remaining_ms = -1, .permits = 1};
    if (json_bytes_of(kv, "key", standing->key, sizeof standing->key) &&
        strlen(standing->key) >= prefix_length)
        holder->owner = standing->key + prefix_length;
    if (json_bytes_of(kv, "value", standing->value, sizeof standing->value))
        holder->label = etcd_line_parse(standing->value, &holder->mode, &holder->permits);
}

static void answer(struct etcd_sent *sent, int64_t remaining_ms) {
    struct lk_command *command = sent->command;
    size_t count = json_array_size(sent->line), holders = count_holders(sent->line, command);
    struct lk_holder *all = calloc(count + 1, sizeof *all);
    struct standing *standings = calloc(count + 1, sizeof *standings);
    struct etcd_keys keys;

    etcd_sent_keys(sent, &keys);
    for (size_t i = 0; all && standings && i < count; i++) {
        const json_t *kv = json_array_get(sent->line, i);

        describe(&all[i], &standings[i], kv, keys.prefix_length);
        all[i].fence = i < holders ? (uint64_t)json_integer_of(kv, "create_revision") : 0;
    }
    if (all && standings && holders > 0)
        all[0].remaining_ms = remaining_ms;
    command->holders = all;
    command->holder_count = holders;
    command->waiters = all ? all + holders : NULL;
    command->waiter_count = count - holders;
    json_decref(sent->line);
    etcd_sent_end(sent, all && standings ? LK_OK : LK_NOMEM);
    free(all);
    free(standings);
}

static void on_time_known(struct etcd_ask *ask) {
    struct etcd_sent *sent = ask->data;
    int64_t left_s = json_integer_of(ask->reply, "TTL");

    answer(sent, ask->status == LK_OK && left_s > 0 ? left_s * MS_PER_S : -1);
}

static void on_listed(struct etcd_ask *ask) {
    struct etcd_sent *sent = ask->data;
    const json_t *first;

    if (ask->status != LK_OK) {
        etcd_sent_end(sent, ask->status);
        return;
    }
    if (!etcd_line_is_whole(ask->reply)) {
        etcd_sent_end_puzzled(sent);
        return;
    }
    sent->line = json_incref(json_object_get(ask->reply, "kvs"));
    first = json_array_get(sent->line, 0);
    if (json_integer_of(first, "lease") > 0)
        etcd_sent_ask(sent, "/v3/lease/timetolive",
                      json_pack("{s:I}", "ID", (json_int_t)json_integer_of(first, "lease")), true,
                      on_time_known);
    else
        answer(sent, -1);
}

static void list(struct etcd_sent *sent, void (*on_answer)(struct etcd_ask *ask)) {
    struct etcd_keys keys;

    etcd_sent_keys(sent, &keys);
    etcd_sent_ask(sent, "/v3/kv/range", etcd_line_all(&keys), true, on_answer);
}

void etcd_inspect(struct etcd_sent *sent) {
    list(sent, on_listed);
}

static void on_broken(struct etcd_ask *ask) {
    struct etcd_sent *sent = ask->data;
    int64_t deleted = ask->status == LK_OK ? etcd_line_deleted(ask->reply) : 0;

    if (deleted < 0)
        etcd_sent_end_puzzled(sent);
    else
        etcd_sent_end(sent, ask->status == LK_OK && deleted == 0 ? LK_LOST : ask->status);
}

/* Its own keys are those of the one owner who is to go, so whose key is the same holds it. */
static json_t *doomed(const struct etcd_sent *sent, const json_t *line) {
    size_t holders = count_holders(line, sent->command);
    json_t *handles = json_array();
    struct etcd_keys keys;

    etcd_sent_keys(sent, &keys);
    for (size_t i = 0; i < holders; i++) {
        json_t *handle = json_object_get(json_array_get(line, i), "key");

        if (!sent->command->owner || strcmp(json_string_value(handle), keys.own) == 0)
            (void)json_array_append(handles, handle);
    }
    return handles;
}

static void on_listed_to_break(struct etcd_ask *ask) {
    struct etcd_sent *sent = ask->data;
    json_t *handles;

    if (ask->status != LK_OK) {
        etcd_sent_end(sent, ask->status);
        return;
    }
    if (!etcd_line_is_whole(ask->reply)) {
        etcd_sent_end_puzzled(sent);
        return;
    }
    handles = doomed(sent, json_object_get(ask->reply, "kvs"));
    if (json_array_size(handles) > 0)
        etcd_sent_ask(sent, "/v3/kv/txn", etcd_line_delete(handles), false, on_broken);
    else
        etcd_sent_end(sent, LK_LOST);
    json_decref(handles);
}

void etcd_break(struct etcd_sent *sent) {
    list(sent, on_listed_to_break);
}
