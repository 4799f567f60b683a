/* The scripts and commands of stock that Redis sells, and the reading of their replies. */
#include "segment_redis.h"

#include "clock.h"
#include "cluster_map.h"
#include "fiber.h"
#include "log.h"
#include "text_copy.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define REDIS_MS  1000 /* of a command */
#define MOVING_MS 20   /* before the next try, while a slot moves */
#define KEY_BYTES (TAG_BYTES + 24)
#define PARTS     "sale:prewarmed"
#define KEYS      4
#define ARGS      (3 + KEYS) /* the place of a script's first argument */

extern const struct redis_script pending_open_data_set, pending_keep_data_set, pending_load_row,
    pending_take_units, pending_find_order, pending_read_notes, pending_forget_notes,
    pending_count_stock;

void segment_tag(char tag[TAG_BYTES], const char *product_id, int parts, int part) {
    assert(part >= 0 && part < parts);
    if (parts == 1)
        text_copy(tag, TAG_BYTES, product_id);
    else
        (void)snprintf(tag, TAG_BYTES, "%.36s.%d", product_id, part % 1000);
}

/* A command that a fiber waits for; on its stack. `take` reads the reply and returns 0, or -1
 * without memory or for a reply of an unexpected form. */
struct asking {
    struct redis_routed routed;
    int (*take)(const redisReply *reply, void *data);
    void *data;
    int taken;
    struct fiber_event answered;
};

static void segment_redis_on_reply(struct redis_routed *routed, const redisReply *reply) {
    struct asking *asking = routed->call.data;

    if (asking->take != NULL)
        asking->taken = asking->take(reply, asking->data);
}

static void segment_redis_on_over(struct redis_routed *routed) {
    fiber_event_set(&((struct asking *)routed->call.data)->answered);
}

static void segment_redis_on_answered(struct redis_call *call, const redisReply *reply) {
    struct asking *asking = call->data;

    if (reply != NULL)
        segment_redis_on_reply(&asking->routed, reply);
    fiber_event_set(&asking->answered);
}

static const char *segment_redis_verb(const struct redis_call *call) {
    return call->args != NULL ? call->args[0] : call->argv[0];
}

/* A slot that moves, or a cluster without a node for some slot: soon it may be possible. */
static bool segment_redis_may_retry(const struct redis_call *call) {
    return call->status == REDIS_IS_NOT_SENT && cluster_is_for_now(call->message) &&
           clock_now_ms() + MOVING_MS < call->deadline_ms;
}

static void segment_ask_cluster(const struct segment_server *server, const char *name,
                                struct asking *asking) {
    asking->routed.on_reply = segment_redis_on_reply;
    asking->routed.slot = cluster_slot(name);
    for (;;) {
        redis_cluster_start(server->cluster, &asking->routed, segment_redis_on_over);
        fiber_event_wait(&asking->answered);
        if (!segment_redis_may_retry(&asking->routed.call))
            return;
        fiber_sleep(server->loop, MOVING_MS);
        asking->answered = (struct fiber_event)FIBER_EVENT_INIT;
    }
}

/* Ask the server of the key, or of the tag, `name`. */
static enum outcome segment_ask(const struct segment_keys *keys, const char *name,
                                struct asking *asking) {
    static struct log_limit failures;
    struct redis_call *call = &asking->routed.call;
    char quoted[2 * sizeof call->message];
    unsigned left_out;

    asking->answered = (struct fiber_event)FIBER_EVENT_INIT;
    call->data = asking;
    call->sends = keys->sends;
    call->deadline_ms = keys->deadline_ms != 0 ? keys->deadline_ms : clock_now_ms() + REDIS_MS;
    if (keys->server.cluster != NULL) {
        segment_ask_cluster(&keys->server, name, asking);
    } else {
        redis_call_start(keys->server.redis, call, segment_redis_on_answered);
        fiber_event_wait(&asking->answered);
    }
    if (call->status == REDIS_IS_OK && asking->taken == 0)
        return OUTCOME_OK;
    if (log_limit_pass(&failures, clock_now_ms(), &left_out))
        log_warn("stock in Redis failed", "command=%s of=%s left_out=%u why=%s",
                 segment_redis_verb(call), name, left_out,
                 log_quote(quoted, sizeof quoted, call->message));
    if (call->status == REDIS_IS_NOT_SENT && cluster_is_for_now(call->message))
        (void)why_set(keys->why, "the Redis Cluster does not serve this slot now: %s",
                      call->message);
    else
        (void)why_set(keys->why, "Redis %s",
                      call->status == REDIS_IS_OK         ? "sent an answer that cannot be read"
                      : call->status == REDIS_IS_UNKNOWN  ? "did not answer"
                      : call->status == REDIS_IS_REJECTED ? "refused a command"
                                                          : "cannot be reached");
    return OUTCOME_BUSY;
}

/* Run a script on the part's keys. Its arguments are in place, from ARGS on. A cluster needs to know
 * all keys: then no node begins a script that it cannot end. */
static enum outcome segment_run(const struct segment_keys *keys, const struct redis_script *script,
                                struct asking *asking) {
    static const char *const suffixes[KEYS] = {"", ":segments", ":orders", ":notes"};
    struct redis_call *call = &asking->routed.call;
    const char **args = call->args != NULL ? call->args : call->argv;
    char names[KEYS][KEY_BYTES];
    enum outcome outcome;

    assert(call->argc >= ARGS && (call->argc <= REDIS_ARGS_MAX || args != call->argv));
    call->script = script;
    args[2] = "4";
    for (size_t i = 0; i < KEYS; i++) {
        (void)snprintf(names[i], KEY_BYTES, "sale:{%s}:stock%s", keys->tag, suffixes[i]);
        args[3 + i] = names[i];
    }
    outcome = segment_ask(keys, keys->tag, asking);
    if (call->is_whole && keys->retries != NULL)
        ++*keys->retries;
    return outcome;
}

/* ---- The commands of a sale */

static int take_data_set(const redisReply *reply, void *data) {
    struct data_set *set = data;

    return reply->type == REDIS_REPLY_STRING &&
                   sscanf(reply->str, "%d %40s", &set->last, set->token) == 2
               ? 0
               : -1;
}

enum outcome segment_redis_open(const struct segment_keys *keys, struct data_set *set) {
    struct asking asking = {.routed.call = {.argc = ARGS + 1, .argv = {[ARGS] = set->token}},
                            .take = take_data_set,
                            .data = set};

    return segment_run(keys, &pending_open_data_set, &asking);
}

static int take_kept(const redisReply *reply, void *data) {
    *(bool *)data = reply->type == REDIS_REPLY_INTEGER && reply->integer == 1;
    return 0;
}

/* The slot, and then the number of its replicas. CLUSTER SLOTS: [[first, last, master, replica ...],
 * ...]. */
static int take_replicas(const redisReply *reply, void *data) {
    int *slot = data;

    for (size_t i = 0; i < reply->elements; i++) {
        const redisReply *range = reply->element[i];

        if (redis_reply_integer(range, 0) <= *slot && *slot <= redis_reply_integer(range, 1)) {
            *slot = (int)range->elements - 3;
            return 0;
        }
    }
    return -1;
}

/* Replicas that a cluster counts for the slot of the key, or of the tag, `name`; -1: not known. One
 * server needs none. */
static int segment_redis_replicas(const struct segment_keys *keys, const char *name) {
    int count = cluster_slot(name);
    struct asking asking = {.routed.call = {.argc = 2, .argv = {"CLUSTER", "SLOTS"}},
                            .take = take_replicas,
                            .data = &count};

    if (keys->server.cluster == NULL)
        return 0;
    return segment_ask(keys, name, &asking) == OUTCOME_OK ? count : -1;
}

static enum outcome segment_redis_unconfirmed(const struct segment_keys *keys) {
    (void)why_set(keys->why, "no replica of Redis has the stock's beginning yet");
    return OUTCOME_BUSY;
}

enum outcome segment_redis_keep(const struct segment_keys *keys, const struct data_set *set) {
    bool is_there = false;
    struct asking asking = {
        .routed = {.call = {.argc = ARGS + 1, .argv = {[ARGS] = set->token}}, .replicas = 1},
        .take = take_kept,
        .data = &is_there};
    const int replicas = segment_redis_replicas(keys, keys->tag);

    if (replicas == 0)
        return OUTCOME_OK; /* WAIT would take its whole time */
    if (replicas > 0 && segment_run(keys, &pending_keep_data_set, &asking) == OUTCOME_OK &&
        is_there && asking.routed.is_confirmed)
        return OUTCOME_OK;
    return segment_redis_unconfirmed(keys);
}

enum outcome segment_redis_load(const struct segment_keys *keys, const struct data_set *set,
                                const struct stock_row *row) {
    const struct number last = number_of(set->last), shard = number_of(row->shard),
                        first = number_of(row->first_unit), units = number_of(row->available);
    struct asking asking = {
        .routed.call = {
            .argc = ARGS + 5,
            .argv = {[ARGS] = set->token, last.text, shard.text, first.text, units.text}}};

    return segment_run(keys, &pending_load_row, &asking);
}

/* The orders of a call, and the first one that has no answer yet. */
struct taking {
    struct segment_want **wants;
    size_t count, next;
};

/* Read "sold <row> <first unit> <units before> <half> <orders> <note>". */
static bool take_run(struct taking *taking, const char *text) {
    struct stock_row seen = {.available = 0};
    struct made_note *note;
    char id[NOTE_ID_BYTES];
    int is_half_sold;
    unsigned run;

    if (sscanf(text, "sold %d %" SCNd64 " %" SCNd64 " %d %u %47s", &seen.shard, &seen.first_unit,
               &seen.available, &is_half_sold, &run, id) != 6 ||
        run < 1 || run > taking->count - taking->next || seen.available < (int64_t)run)
        return false;
    note = made_note_new(id, run);
    for (unsigned i = 0; i < run; i++, seen.available--) {
        struct segment_want *want = taking->wants[taking->next++];

        want->taken =
            (struct loaded_unit){.seen = seen, .is_half_sold = i == 0 && is_half_sold == 1};
        want->note = note;
    }
    return true;
}

/* Read the answer of one order, or of a run of orders. */
static bool take_answer(struct taking *taking, const char *text) {
    struct segment_want *want;
    struct stock_row *seen;

    if (taking->next == taking->count)
        return false;
    if (strncmp(text, "sold ", 5) == 0)
        return take_run(taking, text);
    want = taking->wants[taking->next++];
    seen = &want->taken.seen;
    if (strcmp(text, "over") == 0)
        want->outcome = OUTCOME_SOLD_OUT;
    want->taken.is_again = sscanf(text, "again %d %" SCNd64 " %" SCNd64, &seen->shard,
                                  &seen->first_unit, &seen->available) == 3 &&
                           seen->available >= 1;
    return want->taken.is_again || want->outcome == OUTCOME_SOLD_OUT || strcmp(text, "empty") == 0;
}

static int take_answers(const redisReply *reply, void *data) {
    struct taking *taking = data;

    for (size_t i = 0; i < reply->elements; i++) {
        const char *text = redis_reply_text(reply, i);

        if (text == NULL || !take_answer(taking, text))
            return -1;
    }
    return taking->next == taking->count ? 0 : -1;
}

/* How much Redis has to look for an order: in notes and in the list of orders, only there, or not. */
enum { LOOK_IN_NOTES, LOOK_IN_ORDERS, LOOK_NOWHERE, LOOKS };

static int look_of(const struct segment_want *want) {
    return want->has_asked ? LOOK_IN_NOTES : want->may_be_repeat ? LOOK_IN_ORDERS : LOOK_NOWHERE;
}

/* Write pointers to the wants in the order in which Redis answers them. `before`: how many come
 * before each kind. */
static void segment_redis_sort(struct segment_want *wants, size_t count,
                               struct segment_want **sorted, size_t before[LOOKS]) {
    size_t at = 0;

    for (int look = 0; look < LOOKS; look++) {
        before[look] = at;
        for (size_t i = 0; i < count; i++)
            if (look_of(&wants[i]) == look)
                sorted[at++] = &wants[i];
    }
    assert(at == count);
}

enum outcome segment_redis_take(const struct segment_keys *keys, const char *instance,
                                struct segment_want *wants, size_t count) {
    char fresh[SEGMENT_ORDERS_MAX * UUID_TEXT + 1] = "", *end = fresh;
    struct segment_want *sorted[SEGMENT_ORDERS_MAX];
    struct taking taking = {.wants = sorted, .count = count};
    struct number asked;
    const char *args[ARGS + 3 + SEGMENT_ORDERS_MAX] = {[ARGS] = instance, fresh, asked.text};
    struct asking asking = {.routed = {.call = {.args = args}, .replicas = keys->replicas},
                            .take = take_answers,
                            .data = &taking};
    size_t before[LOOKS];
    enum outcome outcome;

    assert(count > 0 && count <= SEGMENT_ORDERS_MAX);
    segment_redis_sort(wants, count, sorted, before);
    asked = number_of((int64_t)before[LOOK_IN_ORDERS]);
    for (size_t i = 0; i < before[LOOK_NOWHERE]; i++)
        args[ARGS + 3 + i] = sorted[i]->order_id;
    for (size_t i = before[LOOK_NOWHERE]; i < count; i++) {
        memcpy(end, sorted[i]->order_id, UUID_TEXT - 1);
        end += UUID_TEXT;
        end[-1] = i + 1 < count ? ' ' : '\0';
    }
    asking.routed.call.argc = (int)(ARGS + 3 + before[LOOK_NOWHERE]);
    outcome = segment_run(keys, &pending_take_units, &asking);
    for (size_t i = 0; i < count; i++)
        wants[i].taken.is_unconfirmed = keys->replicas > 0 && !asking.routed.is_confirmed;
    return outcome != OUTCOME_OK && (asking.routed.call.status == REDIS_IS_OK ||
                                     asking.routed.call.status == REDIS_IS_UNKNOWN)
               ? OUTCOME_UNKNOWN
               : outcome;
}

/* ---- Notes */

/* Read "<row> <first unit> <units before>". False when the text is something else. */
static bool read_place(struct segment_note *note, int64_t *last_unit, const char *text) {
    int64_t first = 0, before = 0;
    int used = 0;

    if (sscanf(text, "%d %" SCNd64 " %" SCNd64 "%n", &note->shard, &first, &before, &used) != 3 ||
        text[used] != '\0' || note->shard < 0 || first < 1 || before < 1 ||
        before > INT64_MAX - first)
        return false;
    *last_unit = first + before - 1;
    return true;
}

/* The ledger gets nothing of it. */
static void warn_of_note(const char *id, const char *text) {
    static struct log_limit limit;
    char quoted[2 * KEY_BYTES];
    unsigned left_out;

    if (log_limit_pass(&limit, clock_now_ms(), &left_out))
        log_warn("a note in Redis cannot be read", "note=%s left_out=%u text=%s", id, left_out,
                 log_quote(quoted, sizeof quoted, text));
}

/* Read the orders of a note behind the sales that are read already. `fields` are its four texts. */
static bool read_note(struct segment_note *note, const char *const fields[4]) {
    const char *orders = fields[3];
    const size_t length = strlen(orders);
    int64_t unit;

    if (!read_place(note, &unit, fields[1]) || length % UUID_TEXT != UUID_TEXT - 1)
        return false;
    text_copy(note->id, sizeof note->id, fields[0]);
    text_copy(note->instance, sizeof note->instance, fields[2]);
    for (note->count = 0; note->count * UUID_TEXT < length; note->count++) {
        struct segment_sale *sale = &note->sales[note->count];

        *sale = (struct segment_sale){.unit = unit - (int64_t)note->count};
        memcpy(sale->order_id, orders + note->count * UUID_TEXT, UUID_TEXT - 1);
    }
    return true;
}

/* [is finished, note, place, instance, orders, note ...] */
static int take_notes(const redisReply *reply, void *data) {
    struct segment_notes *notes = data;
    size_t sales = 0;

    notes->is_finished = redis_reply_integer(reply, 0) == 1;
    for (size_t i = 4; i < reply->elements; i += 4)
        sales += reply->element[i]->len / UUID_TEXT + 1;
    notes->notes = calloc(reply->elements / 4 + 1, sizeof *notes->notes);
    notes->sales = calloc(sales + 1, sizeof *notes->sales);
    if (notes->notes == NULL || notes->sales == NULL)
        return -1;
    sales = 0;
    for (size_t i = 1; i + 3 < reply->elements; i += 4) {
        const char *fields[4];
        struct segment_note *note = &notes->notes[notes->count];

        for (size_t j = 0; j < 4; j++)
            fields[j] =
                redis_reply_text(reply, i + j) != NULL ? redis_reply_text(reply, i + j) : "";
        note->sales = &notes->sales[sales];
        if (read_note(note, fields)) {
            notes->count++;
            sales += note->count;
        } else {
            warn_of_note(fields[0], fields[1]);
        }
    }
    return 0;
}

enum outcome segment_redis_read(const struct segment_keys *keys, int64_t age_ms, size_t most,
                                struct segment_notes *notes) {
    const struct number age = number_of(age_ms), count = number_of((int64_t)most);
    struct asking asking = {
        .routed.call = {.argc = ARGS + 2, .argv = {[ARGS] = age.text, count.text}},
        .take = take_notes,
        .data = notes};

    *notes = (struct segment_notes){.count = 0};
    return segment_run(keys, &pending_read_notes, &asking);
}

enum outcome segment_redis_find(const struct segment_keys *keys, const char *order_id,
                                struct segment_notes *notes) {
    struct asking asking = {.routed.call = {.argc = ARGS + 1, .argv = {[ARGS] = order_id}},
                            .take = take_notes,
                            .data = notes};

    *notes = (struct segment_notes){.count = 0};
    return segment_run(keys, &pending_find_order, &asking);
}

enum outcome segment_redis_forget(const struct segment_keys *keys,
                                  const struct segment_forget *forget) {
    const struct number notes = number_of((int64_t)forget->note_count);
    const char **args = calloc(ARGS + 1 + forget->note_count + forget->sale_count, sizeof *args);
    struct asking asking = {.routed.call = {.argc = ARGS + 1, .args = args}};
    int *argc = &asking.routed.call.argc;
    enum outcome outcome = OUTCOME_OK;

    if (args == NULL)
        return OUTCOME_BUSY;
    args[ARGS] = notes.text;
    for (size_t i = 0; i < forget->note_count; i++)
        args[(*argc)++] = forget->notes[i].id;
    for (size_t i = 0; i < forget->sale_count; i++)
        if (forget->sales[i].outcome != OUTCOME_SOLD)
            args[(*argc)++] = forget->sales[i].order_id;
    if (*argc > ARGS + 1)
        outcome = segment_run(keys, &pending_forget_notes, &asking);
    free(args);
    return outcome;
}

/* ---- For all instances */

static int take_count(const redisReply *reply, void *data) {
    int64_t *count = data;

    if (reply->elements != 2)
        return -1;
    count[0] = reply->element[0]->integer;
    count[1] = reply->element[1]->integer;
    return 0;
}

enum outcome segment_redis_count(const struct segment_keys *keys, int64_t *unsold, int64_t *noted) {
    int64_t count[2] = {0, 0};
    struct asking asking = {.routed.call = {.argc = ARGS}, .take = take_count, .data = count};
    enum outcome outcome = segment_run(keys, &pending_count_stock, &asking);

    *unsold = count[0];
    *noted = count[1];
    return outcome;
}

enum outcome segment_redis_announce(const struct segment_keys *keys) {
    const int replicas = segment_redis_replicas(keys, PARTS);
    struct asking asking = {.routed = {.call = {.argc = 3, .argv = {"SADD", PARTS, keys->tag}},
                                       .replicas = replicas > 0 ? 1 : 0}};
    const enum outcome outcome = replicas >= 0 ? segment_ask(keys, PARTS, &asking) : OUTCOME_BUSY;

    return outcome == OUTCOME_OK && replicas > 0 && !asking.routed.is_confirmed
               ? segment_redis_unconfirmed(keys)
               : outcome;
}

enum outcome segment_redis_retire(const struct segment_keys *keys) {
    struct asking asking = {.routed.call = {.argc = 3, .argv = {"SREM", PARTS, keys->tag}}};

    return segment_ask(keys, PARTS, &asking);
}

static int take_parts(const redisReply *reply, void *data) {
    struct segment_parts *parts = data;

    parts->tags = calloc(reply->elements + 1, TAG_BYTES);
    for (size_t i = 0; i < reply->elements && parts->tags != NULL; i++)
        text_copy(parts->tags[parts->count++], TAG_BYTES, reply->element[i]->str);
    return parts->tags != NULL ? 0 : -1;
}

enum outcome segment_redis_parts(const struct segment_keys *keys, struct segment_parts *parts) {
    struct asking asking = {
        .routed.call = {.argc = 2, .argv = {"SMEMBERS", PARTS}}, .take = take_parts, .data = parts};

    *parts = (struct segment_parts){NULL, 0};
    return segment_ask(keys, PARTS, &asking);
}

int segment_redis_check(const struct segment_server *server, int64_t deadline_ms, struct why *why) {
    const int64_t now_ms = clock_now_ms();
    const struct segment_keys keys = {
        .server = *server, .why = why, .deadline_ms = now_ms + (deadline_ms - now_ms) / 2};
    struct segment_parts parts;
    const bool is_known = segment_redis_parts(&keys, &parts) == OUTCOME_OK;
    bool *slots = malloc(CLUSTER_SLOTS * sizeof *slots);
    int code = -1;

    assert(server->cluster != NULL);
    if (slots == NULL) {
        (void)why_set(why, "no memory to look at the Redis Cluster");
    } else {
        memset(slots, !is_known, CLUSTER_SLOTS * sizeof *slots);
        for (size_t i = 0; is_known && i < parts.count; i++)
            slots[cluster_slot(parts.tags[i])] = true;
        code = redis_cluster_check(server->cluster, slots, deadline_ms, why);
    }
    free(slots);
    free(parts.tags);
    return code;
}
