/* The scripts and commands, and what their replies mean. */
#include "segment_redis.h"

#include "clock.h"
#include "fiber.h"
#include "log.h"
#include "redis.h"
#include "text_copy.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define REDIS_MS  1000 /* of a command */
#define KEY_BYTES (UUID_TEXT + 24)
#define PRODUCTS  "sale:prewarmed"

extern const struct redis_script pending_open_data_set, pending_load_row, pending_take_unit,
    pending_read_notes, pending_forget_notes, pending_count_stock;

/* ---- commands and scripts */

/* A command that a fiber waits for, on its stack; `take` reads the reply: 0, or -1 without memory
 * or when it is of another form. */
struct asking {
    struct redis_call call;
    int (*take)(const redisReply *reply, void *data);
    void *data;
    int taken;
    struct fiber_event answered;
};

static void segment_redis_on_answered(struct redis_call *call, const redisReply *reply) {
    struct asking *asking = call->data;

    if (call->status == REDIS_IS_OK && asking->take != NULL)
        asking->taken = asking->take(reply, asking->data);
    fiber_event_set(&asking->answered);
}

static void segment_send(const struct segment_keys *keys, struct asking *asking) {
    asking->answered = (struct fiber_event)FIBER_EVENT_INIT;
    asking->call.data = asking;
    asking->call.sends = keys->sends;
    asking->call.deadline_ms =
        keys->deadline_ms != 0 ? keys->deadline_ms : clock_now_ms() + REDIS_MS;
    redis_call_start(keys->redis, &asking->call, segment_redis_on_answered);
    fiber_event_wait(&asking->answered);
}

static enum outcome segment_end(const struct segment_keys *keys, const struct asking *asking) {
    static struct log_limit failures;
    const enum redis_status status = asking->call.status;
    char quoted[2 * sizeof asking->call.message];
    unsigned left_out;

    if (status == REDIS_IS_OK && asking->taken == 0)
        return OUTCOME_OK;
    if (log_limit_pass(&failures, clock_now_ms(), &left_out))
        log_warn("stock in Redis", "command=%s product=%s left_out=%u why=%s", asking->call.argv[0],
                 keys->product_id, left_out,
                 log_quote(quoted, sizeof quoted, asking->call.message));
    (void)snprintf(keys->message, MESSAGE_BYTES, "Redis %s",
                   status == REDIS_IS_OK         ? "answered what is not understood"
                   : status == REDIS_IS_UNKNOWN  ? "did not answer"
                   : status == REDIS_IS_REJECTED ? "refused a command"
                                                 : "cannot be reached");
    return OUTCOME_BUSY;
}

static enum outcome segment_ask(const struct segment_keys *keys, struct asking *asking) {
    segment_send(keys, asking);
    return segment_end(keys, asking);
}

/* Run a script on the product's keys. Its arguments are in place: after the first four. */
static enum outcome segment_run(const struct segment_keys *keys, const struct redis_script *script,
                                struct asking *asking) {
    char key[KEY_BYTES];

    assert(asking->call.argc >= 4 && asking->call.argc <= REDIS_ARGS_MAX);
    (void)snprintf(key, sizeof key, "sale:{%s}:stock", keys->product_id);
    asking->call.script = script;
    asking->call.argv[2] = "1";
    asking->call.argv[3] = key;
    segment_send(keys, asking);
    if (asking->call.is_whole && keys->retries != NULL)
        ++*keys->retries;
    return segment_end(keys, asking);
}

/* ---- what a sale does */

static int take_data_set(const redisReply *reply, void *data) {
    struct data_set *set = data;

    return reply->type == REDIS_REPLY_STRING &&
                   sscanf(reply->str, "%d %40s", &set->last, set->token) == 2
               ? 0
               : -1;
}

enum outcome segment_redis_open(const struct segment_keys *keys, struct data_set *set) {
    struct asking asking = {
        .call = {.argc = 5, .argv = {[4] = set->token}}, .take = take_data_set, .data = set};

    return segment_run(keys, &pending_open_data_set, &asking);
}

enum outcome segment_redis_load(const struct segment_keys *keys, const struct data_set *set,
                                const struct stock_row *row) {
    const struct number last = number_of(set->last), shard = number_of(row->shard),
                        first = number_of(row->first_unit), units = number_of(row->available);
    struct asking asking = {
        .call = {.argc = 9,
                 .argv = {[4] = set->token, last.text, shard.text, first.text, units.text}}};

    return segment_run(keys, &pending_load_row, &asking);
}

struct taking {
    struct loaded_unit *taken;
    bool is_over;
};

static int take_unit(const redisReply *reply, void *data) {
    struct taking *taking = data;
    struct loaded_unit *taken = taking->taken;
    int is_half_sold = 0;
    char word[8];

    *taken = (struct loaded_unit){.is_again = false};
    if (reply->type != REDIS_REPLY_STRING)
        return -1;
    taking->is_over = strcmp(reply->str, "over") == 0;
    if (taking->is_over || strcmp(reply->str, "empty") == 0)
        return 0;
    if (sscanf(reply->str, "%7s %d %" SCNd64 " %" SCNd64 " %d", word, &taken->seen.shard,
               &taken->seen.first_unit, &taken->seen.available, &is_half_sold) < 4 ||
        taken->seen.available < 1)
        return -1;
    taken->is_again = strcmp(word, "again") == 0;
    taken->is_half_sold = !taken->is_again && is_half_sold == 1;
    return taken->is_again || strcmp(word, "sold") == 0 ? 0 : -1;
}

enum outcome segment_redis_take(const struct segment_keys *keys, const char *order_id,
                                const char *instance, struct loaded_unit *taken) {
    struct taking taking = {.taken = taken};
    struct asking asking = {.call = {.argc = 6, .argv = {[4] = order_id, instance}},
                            .take = take_unit,
                            .data = &taking};
    enum outcome outcome = segment_run(keys, &pending_take_unit, &asking);

    if (outcome == OUTCOME_OK)
        return taking.is_over ? OUTCOME_SOLD_OUT : OUTCOME_OK;
    return asking.call.status == REDIS_IS_OK || asking.call.status == REDIS_IS_UNKNOWN
               ? OUTCOME_UNKNOWN
               : outcome;
}

/* ---- notes */

/* "<shard> <first unit> <units before> <instance>". False, and a line in the log, when it is none:
 * nothing of it is brought to the ledger. */
static bool segment_redis_read_note(struct note *note, const char *order_id, const char *text) {
    static struct log_limit limit;
    char quoted[2 * KEY_BYTES];
    int64_t first = 0, before = 0;
    unsigned left_out;
    int used = 0;

    text_copy(note->sale.order_id, UUID_TEXT, order_id);
    if (sscanf(text, "%d %" SCNd64 " %" SCNd64 " %n", &note->shard, &first, &before, &used) == 3 &&
        text[used] != '\0' && note->shard >= 0 && first >= 1 && before >= 1 &&
        before <= INT64_MAX - first) {
        note->sale.unit = first + before - 1;
        text_copy(note->instance, INSTANCE_BYTES, text + used);
        return true;
    }
    if (log_limit_pass(&limit, clock_now_ms(), &left_out))
        log_warn("a note in Redis is not understood", "order=%s left_out=%u note=%s",
                 note->sale.order_id, left_out, log_quote(quoted, sizeof quoted, text));
    return false;
}

/* [is finished, order, note, order, note ...] */
static int take_notes(const redisReply *reply, void *data) {
    struct notes *notes = data;

    notes->is_finished = reply->elements > 0 && reply->element[0]->integer != 0;
    for (size_t i = 1; i + 1 < reply->elements && notes->count < SEGMENT_SALES_MAX; i += 2)
        notes->count += segment_redis_read_note(&notes->notes[notes->count], reply->element[i]->str,
                                                reply->element[i + 1]->str);
    return 0;
}

enum outcome segment_redis_read(const struct segment_keys *keys, int64_t age_ms,
                                struct notes *notes) {
    const struct number age = number_of(age_ms), most = number_of(SEGMENT_SALES_MAX);
    struct asking asking = {.call = {.argc = 6, .argv = {[4] = age.text, most.text}},
                            .take = take_notes,
                            .data = notes};

    notes->count = 0;
    return segment_run(keys, &pending_read_notes, &asking);
}

struct one_note {
    struct note *note;
    const char *order_id;
    bool is_found;
};

static int take_note(const redisReply *reply, void *data) {
    struct one_note *one = data;

    one->is_found = reply->type == REDIS_REPLY_STRING;
    return one->is_found && !segment_redis_read_note(one->note, one->order_id, reply->str) ? -1 : 0;
}

enum outcome segment_redis_find(const struct segment_keys *keys, const char *order_id,
                                struct note *note, bool *is_found) {
    struct one_note one = {.note = note, .order_id = order_id};
    char key[KEY_BYTES];
    struct asking asking = {
        .call = {.argc = 3, .argv = {"HGET", key, order_id}}, .take = take_note, .data = &one};
    enum outcome outcome;

    (void)snprintf(key, sizeof key, "sale:{%s}:stock:orders", keys->product_id);
    outcome = segment_ask(keys, &asking);
    *is_found = one.is_found;
    return outcome;
}

/* "<order> <order> ...", those to keep in front of a "/". */
static char *segment_redis_list_orders(const struct segment_sale *sales, size_t count) {
    char *text = malloc(count * UUID_TEXT + 2), *at = text;

    for (size_t i = 0; i < count && text != NULL; i++)
        if (sales[i].outcome == OUTCOME_SOLD)
            at += sprintf(at, "%s ", sales[i].order_id);
    if (text != NULL)
        at = stpcpy(at, "/");
    for (size_t i = 0; i < count && text != NULL; i++)
        if (sales[i].outcome != OUTCOME_SOLD)
            at += sprintf(at, "%s ", sales[i].order_id);
    assert(text == NULL || (size_t)(at - text) < count * UUID_TEXT + 2);
    return text;
}

enum outcome segment_redis_forget(const struct segment_keys *keys, const struct segment_sale *sales,
                                  size_t count) {
    char *orders = segment_redis_list_orders(sales, count);
    struct asking asking = {.call = {.argc = 5, .argv = {[4] = orders}}};
    enum outcome outcome = OUTCOME_BUSY;

    if (orders != NULL)
        outcome = segment_run(keys, &pending_forget_notes, &asking);
    free(orders);
    return outcome;
}

/* ---- for all instances */

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
    struct asking asking = {.call = {.argc = 4}, .take = take_count, .data = count};
    enum outcome outcome = segment_run(keys, &pending_count_stock, &asking);

    *unsold = count[0];
    *noted = count[1];
    return outcome;
}

enum outcome segment_redis_announce(const struct segment_keys *keys) {
    struct asking asking = {.call = {.argc = 3, .argv = {"SADD", PRODUCTS, keys->product_id}}};

    return segment_ask(keys, &asking);
}

enum outcome segment_redis_retire(const struct segment_keys *keys) {
    struct asking asking = {.call = {.argc = 3, .argv = {"SREM", PRODUCTS, keys->product_id}}};

    return segment_ask(keys, &asking);
}

struct product_list {
    char (*products)[UUID_TEXT];
    size_t count;
};

static int take_products(const redisReply *reply, void *data) {
    struct product_list *list = data;

    list->products = calloc(reply->elements + 1, UUID_TEXT);
    for (size_t i = 0; i < reply->elements && list->products != NULL; i++)
        text_copy(list->products[list->count++], UUID_TEXT, reply->element[i]->str);
    return list->products != NULL ? 0 : -1;
}

enum outcome segment_redis_products(const struct segment_keys *keys, char (**products)[UUID_TEXT],
                                    size_t *count) {
    struct product_list list = {NULL, 0};
    struct asking asking = {
        .call = {.argc = 2, .argv = {"SMEMBERS", PRODUCTS}}, .take = take_products, .data = &list};
    enum outcome outcome = segment_ask(keys, &asking);

    *products = list.products;
    *count = list.count;
    return outcome;
}
