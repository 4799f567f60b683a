/* The notes of pending sales in Redis, under the keys that strategies/spread/prewarm.c names. */
#include "segment_redis.h"

#include "clock.h"
#include "fiber.h"
#include "log.h"
#include "redis.h"
#include "text_copy.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define REDIS_MS  1000 /* of a command */
#define KEY_BYTES (UUID_TEXT + 16)
#define PRODUCTS  "sale:prewarmed"

/* A command that a fiber waits for, on its stack; `take` reads the reply, -1 without memory. */
struct asking {
    struct redis_call call;
    int (*take)(const redisReply *reply, void *data);
    void *data;
    int taken;
    struct fiber_event answered;
};

static void on_answered(struct redis_call *call, const redisReply *reply) {
    struct asking *asking = call->data;

    if (call->status == REDIS_IS_OK && asking->take != NULL)
        asking->taken = asking->take(reply, asking->data);
    fiber_event_set(&asking->answered);
}

static enum outcome ask(struct redis *redis, struct asking *asking, char message[MESSAGE_BYTES]) {
    static struct log_limit failures;
    char quoted[2 * sizeof asking->call.message];
    unsigned left_out;

    asking->answered = (struct fiber_event)FIBER_EVENT_INIT;
    asking->call.data = asking;
    if (asking->call.deadline_ms == 0)
        asking->call.deadline_ms = clock_now_ms() + REDIS_MS;
    redis_call_start(redis, &asking->call, on_answered);
    fiber_event_wait(&asking->answered);
    if (asking->call.status == REDIS_IS_OK && asking->taken == 0)
        return OUTCOME_OK;
    if (log_limit_pass(&failures, clock_now_ms(), &left_out))
        log_warn("pending sales", "command=%s left_out=%u why=%s", asking->call.argv[0], left_out,
                 log_quote(quoted, sizeof quoted, asking->call.message));
    (void)snprintf(message, MESSAGE_BYTES, "Redis cannot be reached, or refused a command");
    return OUTCOME_BUSY;
}

static const char *key_of(char key[KEY_BYTES], const char *product_id) {
    (void)snprintf(key, KEY_BYTES, "sale:{%s}:stock", product_id);
    return key;
}

/* ---- notes */

/* "<shard> <first unit> <units before> <instance>": how prewarm.c notes an order. False, and a line
 * in the log, when it is none: nothing of it is brought to the ledger. */
static bool read_note(struct note *note, const char *order_id, const char *text) {
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
        notes->count += read_note(&notes->notes[notes->count], reply->element[i]->str,
                                  reply->element[i + 1]->str);
    return 0;
}

/* Of a product that is sold out, the orders are forgotten with the last note: by then the ledger
 * has all of them, and no order can take a second unit. */
enum outcome notes_read(struct redis *redis, const char *product_id, int64_t age_ms,
                        struct notes *notes, char message[MESSAGE_BYTES]) {
    static const char script[] =
        "local time, pending = redis.call('time'), KEYS[1] .. ':pending' "
        "local now = time[1] * 1000 + math.floor(time[2] / 1000) "
        "if redis.call('hexists', KEYS[1], 'over') == 1 and (redis.call('hget', KEYS[1], 'left') "
        "or '0') == '0' and redis.call('llen', KEYS[1] .. ':segments') == 0 "
        "and redis.call('zcard', pending) == 0 then "
        "redis.call('del', KEYS[1] .. ':orders') return {1} end "
        "local answer = {0} "
        "for _, id in ipairs(redis.call('zrangebyscore', pending, '-inf', now - ARGV[1], 'limit', "
        "0, ARGV[2])) do "
        "local note = redis.call('hget', KEYS[1] .. ':orders', id) "
        "if note then answer[#answer + 1] = id answer[#answer + 1] = note end end "
        "return answer";
    struct number age = number_of(age_ms), most = number_of(SEGMENT_SALES_MAX);
    char key[KEY_BYTES];
    struct asking asking = {
        .call = {.argc = 6,
                 .argv = {"EVAL", script, "1", key_of(key, product_id), age.text, most.text}},
        .take = take_notes,
        .data = notes};

    notes->count = 0;
    return ask(redis, &asking, message);
}

struct one_note {
    struct note *note;
    const char *order_id;
    bool is_found;
};

static int take_note(const redisReply *reply, void *data) {
    struct one_note *one = data;

    one->is_found = reply->type == REDIS_REPLY_STRING;
    return one->is_found && !read_note(one->note, one->order_id, reply->str) ? -1 : 0;
}

enum outcome notes_find(struct redis *redis, const char *product_id, const char *order_id,
                        struct note *note, bool *is_found, char message[MESSAGE_BYTES]) {
    static const char script[] = "return redis.call('hget', KEYS[1] .. ':orders', ARGV[1])";
    struct one_note one = {.note = note, .order_id = order_id};
    char key[KEY_BYTES];
    struct asking asking = {
        .call = {.argc = 5, .argv = {"EVAL", script, "1", key_of(key, product_id), order_id}},
        .take = take_note,
        .data = &one};
    enum outcome outcome = ask(redis, &asking, message);

    *is_found = one.is_found;
    return outcome;
}

/* "<order> <order> ...", those to keep in front of a "/". */
static char *list_orders(const struct segment_sale *sales, size_t count) {
    char *text = malloc(count * UUID_TEXT + 2), *at = text;

    for (size_t i = 0; i < count && text != NULL; i++)
        if (sales[i].outcome == OUTCOME_SOLD)
            at += sprintf(at, "%s ", sales[i].order_id);
    if (text != NULL)
        at = stpcpy(at, "/");
    for (size_t i = 0; i < count && text != NULL; i++)
        if (sales[i].outcome != OUTCOME_SOLD)
            at += sprintf(at, "%s ", sales[i].order_id);
    return text;
}

enum outcome notes_forget(struct redis *redis, const char *product_id,
                          const struct segment_sale *sales, size_t count,
                          char message[MESSAGE_BYTES]) {
    static const char script[] =
        "local orders, pending = KEYS[1] .. ':orders', KEYS[1] .. ':pending' "
        "local written, gone = ARGV[1]:match('^(.*)/(.*)$') "
        "for id in written:gmatch('%S+') do redis.call('zrem', pending, id) end "
        "for id in gone:gmatch('%S+') do "
        "redis.call('zrem', pending, id) redis.call('hdel', orders, id) end return 0";
    char key[KEY_BYTES], *orders = list_orders(sales, count);
    struct asking asking = {
        .call = {.argc = 5, .argv = {"EVAL", script, "1", key_of(key, product_id), orders}}};
    enum outcome outcome = OUTCOME_BUSY;

    if (orders != NULL)
        outcome = ask(redis, &asking, message);
    free(orders);
    return outcome;
}

static int take_count(const redisReply *reply, void *data) {
    struct notes_count *count = data;

    if (reply->elements != 2)
        return -1;
    *count = (struct notes_count){reply->element[0]->integer, reply->element[1]->integer};
    return 0;
}

enum outcome notes_count(struct redis *redis, const char *product_id, struct notes_count *count,
                         char message[MESSAGE_BYTES]) {
    static const char script[] =
        "local left = tonumber(redis.call('hget', KEYS[1], 'left') or 0) "
        "for _, segment in ipairs(redis.call('lrange', KEYS[1] .. ':segments', 0, -1)) do "
        "left = left + segment:match('(%d+)$') end "
        "return {left, redis.call('zcard', KEYS[1] .. ':pending')}";
    char key[KEY_BYTES];
    struct asking asking = {
        .call = {.argc = 4, .argv = {"EVAL", script, "1", key_of(key, product_id)}},
        .take = take_count,
        .data = count};

    return ask(redis, &asking, message);
}

/* ---- products */

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

enum outcome notes_products(struct redis *redis, char (**products)[UUID_TEXT], size_t *count,
                            char message[MESSAGE_BYTES]) {
    struct product_list list = {NULL, 0};
    struct asking asking = {
        .call = {.argc = 2, .argv = {"SMEMBERS", PRODUCTS}}, .take = take_products, .data = &list};
    enum outcome outcome = ask(redis, &asking, message);

    *products = list.products;
    *count = list.count;
    return outcome;
}

enum outcome notes_add_product(struct redis *redis, const char *product_id, int64_t deadline_ms,
                               char message[MESSAGE_BYTES]) {
    struct asking asking = {
        .call = {.argc = 3, .argv = {"SADD", PRODUCTS, product_id}, .deadline_ms = deadline_ms}};

    return ask(redis, &asking, message);
}

enum outcome notes_remove_product(struct redis *redis, const char *product_id,
                                  char message[MESSAGE_BYTES]) {
    struct asking asking = {.call = {.argc = 3, .argv = {"SREM", PRODUCTS, product_id}}};

    return ask(redis, &asking, message);
}
