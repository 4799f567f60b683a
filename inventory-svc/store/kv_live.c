/* The live store's raw commands: Redis, one command each, sent once. */
#include "store_live_internal.h"

#include "clock.h"
#include "fiber.h"
#include "log.h"
#include "redis.h"
#include "text_copy.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define KV_MS     1000 /* of a command */
#define KEY_BYTES (UUID_TEXT + KV_TEXT + 8)

extern const struct redis_script store_delete_if_equal;

/* A command that a fiber waits for; on its stack. */
struct kv_waiting {
    struct redis_call redis;
    struct kv_call *call;
    struct fiber_event answered;
    char key[KEY_BYTES], ttl[24];
};

/* A reply of another form than the command has is no yes. */
static bool is_yes(enum kv_command command, const redisReply *reply) {
    switch (reply->type) {
    case REDIS_REPLY_STATUS:
        return command == KV_SET_ABSENT && strcmp(reply->str, "OK") == 0;
    case REDIS_REPLY_INTEGER:
        return reply->integer != 0;
    case REDIS_REPLY_STRING:
        return command != KV_SET_ABSENT;
    }
    return false;
}

static void kv_live_read_reply(struct kv_call *call, const redisReply *reply) {
    call->is_yes = is_yes(call->command, reply);
    call->reply[0] = '\0';
    if (call->is_yes && reply->str != NULL)
        text_copy(call->reply, sizeof call->reply, reply->str);
}

static void kv_live_on_answered(struct redis_call *redis, const redisReply *reply) {
    struct kv_waiting *waiting = redis->data;

    if (redis->status == REDIS_IS_OK)
        kv_live_read_reply(waiting->call, reply);
    fiber_event_set(&waiting->answered);
}

static void kv_live_add(struct redis_call *redis, const char *argument) {
    assert(redis->argc < REDIS_ARGS_MAX);
    redis->argv[redis->argc++] = argument;
}

static void kv_live_write_command(struct kv_waiting *waiting) {
    struct redis_call *redis = &waiting->redis;
    const struct kv_call *call = waiting->call;

    switch (call->command) {
    case KV_SET_ABSENT:
        kv_live_add(redis, "SET");
        kv_live_add(redis, waiting->key);
        kv_live_add(redis, call->value);
        kv_live_add(redis, "NX");
        if (call->ttl_ms > 0) {
            kv_live_add(redis, "PX");
            kv_live_add(redis, waiting->ttl);
        }
        return;
    case KV_EXPIRE:
        kv_live_add(redis, "PEXPIRE");
        kv_live_add(redis, waiting->key);
        kv_live_add(redis, waiting->ttl);
        return;
    case KV_GET:
        kv_live_add(redis, "GET");
        kv_live_add(redis, waiting->key);
        return;
    case KV_DELETE:
        kv_live_add(redis, "DEL");
        kv_live_add(redis, waiting->key);
        return;
    case KV_DELETE_IF_EQUAL:
        redis->script = &store_delete_if_equal;
        redis->is_whole = true; /* it is short, and never takes a second command */
        redis->argc = 2;
        kv_live_add(redis, "1");
        kv_live_add(redis, waiting->key);
        kv_live_add(redis, call->value);
        return;
    }
}

static bool is_release(enum kv_command command) {
    return command == KV_DELETE || command == KV_DELETE_IF_EQUAL;
}

/* Or a look at who holds what is to be given back. */
static bool is_at_end(enum kv_command command) {
    return is_release(command) || command == KV_GET;
}

/* However late a sale is, it may give back what it holds: a key without a TTL would stay for ever.
 */
static int64_t kv_live_due_ms(const struct live_sale *live, enum kv_command command) {
    int64_t ms = clock_now_ms() + KV_MS;

    return is_at_end(command) ? ms : earlier(ms, live->deadline_ms);
}

/* A key that is set and deleted is a lock, and counts as one. */
static void kv_live_count(struct live_sale *live, const struct kv_call *call, int64_t begun_ns) {
    int64_t now_ns = clock_now_ns();

    if (call->command == KV_SET_ABSENT) {
        if (live->key_asked_ns == 0)
            live->key_asked_ns = begun_ns;
        sale_cost_key(&live->cost, now_ns - live->key_asked_ns);
        if (!call->is_yes)
            return;
        lock_note_wait(LOCK_KEY, now_ns - live->key_asked_ns);
        live->key_asked_ns = 0;
        live->key_set_ns = now_ns;
    } else if (is_release(call->command) && live->key_set_ns != 0) {
        lock_note_hold(LOCK_KEY, now_ns - live->key_set_ns);
        sale_cost_unlock(&live->cost, LOCK_KEY, now_ns - live->key_set_ns, false);
        live->key_set_ns = 0;
    }
}

void live_key_given_up(struct live_sale *live) {
    if (live->key_asked_ns != 0)
        lock_note_wait(LOCK_KEY, clock_now_ns() - live->key_asked_ns);
}

/* Those of a raw lock do not look at what becomes of their release. */
static void log_release(const struct live_sale *live, const struct kv_call *call) {
    static struct log_limit limit;
    unsigned left_out;

    if (is_release(call->command) && !call->is_yes &&
        log_limit_pass(&limit, clock_now_ms(), &left_out))
        log_warn("a lock was not given back: it is gone, or another's",
                 "order=%s product=%s left_out=%u", live->order_id, live->product->id, left_out);
}

static enum outcome kv_live_outcome_of(struct sale *sale, const struct kv_waiting *waiting) {
    static struct log_limit limit;
    char quoted[2 * sizeof waiting->redis.message];
    const enum redis_status status = waiting->redis.status;
    unsigned left_out;

    if (status == REDIS_IS_OK) {
        log_release(live_of(sale), waiting->call);
        return OUTCOME_OK;
    }
    if (log_limit_pass(&limit, clock_now_ms(), &left_out))
        log_warn("Redis command", "command=%s key=%s left_out=%u why=%s", waiting->redis.argv[0],
                 waiting->key, left_out, log_quote(quoted, sizeof quoted, waiting->redis.message));
    if (!is_at_end(waiting->call->command)) /* what the sale said before is why */
        (void)snprintf(sale->message, MESSAGE_BYTES, "Redis %s",
                       status == REDIS_IS_UNKNOWN    ? "did not answer"
                       : status == REDIS_IS_REJECTED ? "refused a command"
                                                     : "cannot be reached");
    return status == REDIS_IS_UNKNOWN ? OUTCOME_UNKNOWN : OUTCOME_BUSY;
}

/* A command that Redis has not got, or refused, did nothing. */
static const char *result_of(const struct kv_waiting *waiting) {
    if (waiting->redis.status == REDIS_IS_UNKNOWN)
        return "unknown";
    return waiting->redis.status == REDIS_IS_OK && waiting->call->is_yes ? "yes" : "no";
}

static void kv_live_ask(struct live_sale *live, struct kv_waiting *waiting) {
    waiting->redis =
        (struct redis_call){.data = waiting,
                            .sends = &live->cost.redis,
                            .deadline_ms = kv_live_due_ms(live, waiting->call->command)};
    kv_live_write_command(waiting);
    redis_call_start(live->store->kv, &waiting->redis, kv_live_on_answered);
    fiber_event_wait(&waiting->answered);
}

enum outcome live_kv(struct sale *sale, struct kv_call *call) {
    struct live_sale *live = live_of(sale);
    struct kv_waiting waiting = {.call = call, .answered = FIBER_EVENT_INIT};
    const int64_t begun_ns = clock_now_ns();

    (void)snprintf(waiting.key, sizeof waiting.key, "sale:{%s}:%s", live->product->id, call->key);
    (void)snprintf(waiting.ttl, sizeof waiting.ttl, "%" PRId64, call->ttl_ms);
    kv_live_ask(live, &waiting);
    live_note_command(live, call, waiting.key, result_of(&waiting), begun_ns);
    kv_live_count(live, call, begun_ns);
    return kv_live_outcome_of(sale, &waiting);
}
