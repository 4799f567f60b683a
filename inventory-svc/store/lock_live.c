/* The live store's locks: the locks of locks/, and locks that a strategy makes of raw Redis
 * commands. Each raw command is sent once. Under --lab, the lab gets the result of each raw lock
 * command, and each failpoint before it fires. */
#include "store_live_internal.h"

#include "clock.h"
#include "fiber.h"
#include "log.h"
#include "number.h"
#include "redis.h"
#include "text_copy.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* ---- Locks of locks/ */

/* Give the sale the lock that it already holds, at once and at no cost. */
static enum outcome live_win_again(struct live_sale *live, const struct lock_call *call) {
    assert(call->kind == LOCK_REENTRANT && live->lock.kind == call->kind);
    if (live->lock.shard != call->shard) {
        (void)why_set(live->why, "lock: a sale holds one lock at a time");
        return OUTCOME_FAILED;
    }
    assert(live->lock_times > 0);
    live->lock_times++;
    return OUTCOME_OK;
}

enum outcome live_lock(struct sale *sale, struct lock_call *call) {
    struct live_sale *live = live_of(sale);
    struct store_lock *lock = &live->lock;
    enum outcome outcome;

    call->lock = lock;
    if (call->mode == MODE_LOOK) {
        call->stamp = lock_stamp(live->product, call->shard);
        return OUTCOME_OK;
    }
    if (lock->grant != NULL)
        return live_win_again(live, call);
    *lock = (struct store_lock){.servers = &live->store->locks,
                                .product = live->product,
                                .sale = sale,
                                .why = live->why,
                                .kind = call->kind,
                                .mode = call->mode,
                                .shard = call->shard,
                                .stamp = call->stamp,
                                .deadline_ms = live->lock_deadline_ms,
                                .due_ms = live->deadline_ms};
    outcome = lock_acquire(lock);
    live->lock_times = 1;
    live->is_lock_unsure = false;
    sale_cost_lock(&live->cost, lock->kind, lock->wait_ns, lock->attempts);
    live->cost.kept_ns = lock->kept_ns;
    return outcome;
}

/* How long to keep the lock of a sale that does not know the outcome of its write. */
static int64_t live_hold_ms(const struct live_sale *live) {
    int64_t left_ms = live->lands_until_ms - clock_now_ms();

    return left_ms > 0 ? left_ms : 0;
}

void live_unlock(struct sale *sale, struct store_lock *lock, enum outcome outcome) {
    struct live_sale *live = live_of(sale);
    /* A sale that shares a lock keeps no other sale out, so its time is no hold. */
    const int64_t hold_ns = lock->mode == MODE_SHARED ? -1 : clock_now_ns() - lock->acquired_ns;

    assert(lock == &live->lock && lock->grant != NULL && live->lock_times > 0);
    live->is_lock_unsure |= outcome == OUTCOME_UNKNOWN;
    if (--live->lock_times > 0)
        return;
    if (live->is_lock_unsure)
        lock_abandon(lock, live_hold_ms(live));
    else
        lock_release(lock);
    if (hold_ns >= 0)
        lock_note_hold(lock->kind, hold_ns);
    sale_cost_unlock(&live->cost, lock->kind, hold_ns,
                     !live->is_lock_unsure && !lock->is_handed_over);
}

/* ---- Events for the lab */

static struct lab_event event_of(const struct live_sale *live, const char *kind, const char *name) {
    return (struct lab_event){
        .product_id = live->product->id, .order_id = live->order_id, .kind = kind, .name = name};
}

void live_tell_firing(const struct live_sale *live, enum fail_point point, enum fail_action action,
                      int64_t ms) {
    struct lab_event event = event_of(live, "failpoint", fail_points[point]);
    char detail[48];

    if (live->store->lab == NULL)
        return;
    text_copy(detail, sizeof detail, fail_actions[action].text);
    if (fail_actions[action].has_duration)
        (void)snprintf(detail, sizeof detail, "%s %" PRId64 " ms", fail_actions[action].text, ms);
    event.detail = detail;
    event.lasts_ms = fail_actions[action].has_duration ? ms : 0;
    if (!lab_events_tell(live->store->lab, &event))
        log_warn("a failpoint fires without a row in lab_event", "order=%s point=%s",
                 live->order_id, fail_points[point]);
}

void live_trace(struct sale *sale, const char *text) {
    const struct live_sale *live = live_of(sale);
    char cut[TRACE_TEXT], quoted[2 * TRACE_TEXT];

    text_copy(cut, sizeof cut, text);
    log_info("trace", "order=%s text=%s", live->order_id, log_quote(quoted, sizeof quoted, cut));
}

static const char *const command_names[] = {
#define X(name, text) text,
    KV_COMMANDS(X)
#undef X
};

static bool live_is_refusal(const struct kv_call *call, const char *result) {
    return call->command == KV_SET_ABSENT && strcmp(result, "no") == 0;
}

/* A sale asks for a taken lock again and again. All its refusals are one row. */
static void fold(struct live_sale *live, const struct kv_call *call, const char *key,
                 int64_t begun_ns) {
    if (live->refusals++ == 0)
        live->refused_from_ns = begun_ns;
    live->refused_ns = clock_now_ns();
    text_copy(live->refused_key, sizeof live->refused_key, key);
    text_copy(live->refused_token, sizeof live->refused_token, call->value);
}

static void live_note_refusals(struct live_sale *live) {
    struct lab_event event = event_of(live, "lock", command_names[KV_SET_ABSENT]);
    char detail[48];

    if (live->refusals == 0)
        return;
    (void)snprintf(detail, sizeof detail, "%u times", live->refusals);
    event.detail = live->refusals > 1 ? detail : "";
    event.key = live->refused_key;
    event.token = live->refused_token;
    event.result = "no";
    event.ago_ns = clock_now_ns() - live->refused_ns;
    event.took_ns = live->refused_ns - live->refused_from_ns;
    lab_events_note(live->store->lab, &event);
    live->refusals = 0;
}

static void live_note_command(struct live_sale *live, const struct kv_call *call, const char *key,
                              const char *result, int64_t begun_ns) {
    struct lab_event event = event_of(live, "lock", command_names[call->command]);
    const bool has_ttl = call->command == KV_SET_ABSENT || call->command == KV_EXPIRE;
    char detail[48] = "";

    if (live->store->lab == NULL)
        return;
    if (live_is_refusal(call, result)) {
        fold(live, call, key, begun_ns);
        return;
    }
    live_note_refusals(live);
    if (has_ttl && call->ttl_ms > 0)
        (void)snprintf(detail, sizeof detail, "ttl %" PRId64 " ms", call->ttl_ms);
    event.detail = detail;
    event.lasts_ms = has_ttl && call->is_yes ? call->ttl_ms : 0;
    event.key = key;
    event.token = call->command == KV_GET ? call->reply : call->value;
    event.result = result;
    event.took_ns = clock_now_ns() - begun_ns;
    lab_events_note(live->store->lab, &event);
}

/* ---- Raw commands */

#define KV_MS     1000 /* of a command */
#define VOTE_MS   30   /* of a command at one of several servers: the others answer instead */
#define KEY_BYTES (UUID_TEXT + KV_TEXT + 8)

extern const struct redis_script store_delete_if_equal, store_steps;

/* A command that a fiber waits for; on its stack. */
struct kv_waiting {
    struct redis_call redis;
    struct kv_call *call;
    struct fiber_event answered;
    char keys[KV_STEPS][KEY_BYTES], ttls[KV_STEPS][24];
};

static bool is_script(const struct kv_call *call) {
    return call->then != NULL || call->command == KV_IS;
}

/* A reply of an unexpected type is no yes. */
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

static void read_step(struct kv_call *call, const redisReply *reply, bool is_yes) {
    call->is_yes = is_yes;
    call->reply[0] = '\0';
    if (is_yes && reply->type == REDIS_REPLY_INTEGER && call->command == KV_COUNT)
        (void)snprintf(call->reply, sizeof call->reply, "%lld", reply->integer);
    else if (is_yes && reply->str != NULL)
        text_copy(call->reply, sizeof call->reply, reply->str);
}

/* A script answers the replies of all its commands that said yes. */
static void kv_live_read_reply(struct kv_call *call, const redisReply *reply) {
    size_t at = 0;

    if (!is_script(call)) {
        read_step(call, reply, is_yes(call->command, reply));
        return;
    }
    for (; call != NULL; call = call->then, at++) {
        const bool is_there = reply->type == REDIS_REPLY_ARRAY && at < reply->elements;

        read_step(call, is_there ? reply->element[at] : reply, is_there);
    }
}

static void kv_live_on_answered(struct redis_call *redis, const redisReply *reply) {
    struct kv_waiting *waiting = redis->data;

    if (redis->status == REDIS_IS_OK)
        kv_live_read_reply(waiting->call, reply);
    fiber_event_set(&waiting->answered);
}

static struct redis_call kv_live_script(const struct kv_waiting *waiting) {
    static const char *const numbers[KV_STEPS + 1] = {"0", "1", "2", "3"};
    struct redis_call redis = {.script = &store_steps};
    int count = 0, at;

    for (const struct kv_call *step = waiting->call; step != NULL; step = step->then, count++)
        redis.argv[3 + count] = waiting->keys[count];
    redis.argv[2] = numbers[count];
    redis.argc = 3 + count;
    at = 0;
    for (const struct kv_call *step = waiting->call; step != NULL; step = step->then, at++) {
        redis.argv[redis.argc++] = command_names[step->command];
        redis.argv[redis.argc++] = step->value != NULL ? step->value : "";
        redis.argv[redis.argc++] = waiting->ttls[at];
    }
    return redis;
}

static struct redis_call kv_live_command(const struct kv_waiting *waiting) {
    const struct kv_call *call = waiting->call;
    const char *key = waiting->keys[0], *ttl = waiting->ttls[0];

    if (is_script(call))
        return kv_live_script(waiting);
    switch (call->command) {
    case KV_SET_ABSENT:
        return (struct redis_call){.argc = call->ttl_ms > 0 ? 6 : 4,
                                   .argv = {"SET", key, call->value, "NX", "PX", ttl}};
    case KV_EXPIRE:
        return (struct redis_call){.argc = 3, .argv = {"PEXPIRE", key, ttl}};
    case KV_GET:
        return (struct redis_call){.argc = 2, .argv = {"GET", key}};
    case KV_DELETE:
        return (struct redis_call){.argc = 2, .argv = {"DEL", key}};
    case KV_DELETE_IF_EQUAL: /* whole: it is short, so it never takes a second command */
        return (struct redis_call){.script = &store_delete_if_equal,
                                   .is_whole = true,
                                   .argc = 5,
                                   .argv = {[2] = "1", key, call->value}};
    case KV_COUNT:
        return (struct redis_call){.argc = 2, .argv = {"INCR", key}};
    case KV_IS:
        break;
    }
    assert(false);
    return (struct redis_call){.argc = 0};
}

static bool is_release(enum kv_command command) {
    return command == KV_DELETE || command == KV_DELETE_IF_EQUAL;
}

/* Or a look at the holder before a release. */
static bool is_at_end(enum kv_command command) {
    return is_release(command) || command == KV_GET;
}

/* A sale may give back its lock however late it is: a key without a TTL would stay for ever. */
static int64_t kv_live_due_ms(const struct live_sale *live, const struct kv_call *call) {
    int64_t ms = clock_now_ms() + (call->server > 0 ? VOTE_MS : KV_MS);

    return is_at_end(call->command) ? ms : number_min(ms, live->deadline_ms);
}

/* Setting and deleting a key is a lock, and counts as one. */
static void kv_live_count(struct live_sale *live, const struct kv_call *call, int64_t begun_ns) {
    int64_t now_ns = clock_now_ns();

    if (call->command == KV_SET_ABSENT) {
        if (live->key_asked_ns == 0)
            live->key_asked_ns = begun_ns;
        live->cost.has_lock = true;
        live->cost.lock = LOCK_KEY;
        live->cost.wait_ns = now_ns - live->key_asked_ns;
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

void live_give_up(struct live_sale *live) {
    live_note_refusals(live);
    if (live->key_asked_ns != 0)
        lock_note_wait(LOCK_KEY, clock_now_ns() - live->key_asked_ns);
}

/* Strategies with a raw lock ignore the result of their release, so it is logged here. */
static void log_release(const struct live_sale *live, const struct kv_call *call) {
    static struct log_limit limit;
    unsigned left_out;

    if (is_release(call->command) && call->then == NULL && !call->is_yes &&
        log_limit_pass(&limit, clock_now_ms(), &left_out))
        log_warn("a lock was not released: it is gone, or another sale holds it",
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
        log_warn("Redis command failed", "command=%s key=%s left_out=%u why=%s",
                 waiting->redis.argv[0], waiting->keys[0], left_out,
                 log_quote(quoted, sizeof quoted, waiting->redis.message));
    if (!is_at_end(waiting->call->command)) /* else keep the sale's earlier message */
        (void)why_set(live_of(sale)->why, "Redis %s",
                      status == REDIS_IS_UNKNOWN    ? "did not answer"
                      : status == REDIS_IS_REJECTED ? "refused a command"
                                                    : "cannot be reached");
    return status == REDIS_IS_UNKNOWN ? OUTCOME_UNKNOWN : OUTCOME_BUSY;
}

/* Redis did nothing if it never got the command, or refused it. */
static const char *result_of(const struct kv_waiting *waiting, const struct kv_call *step) {
    if (waiting->redis.status == REDIS_IS_UNKNOWN)
        return "unknown";
    return waiting->redis.status == REDIS_IS_OK && step->is_yes ? "yes" : "no";
}

static struct redis *redis_at(const struct store *store, int server) {
    return server == 0 ? store->kv : store->others[server - 1];
}

static void kv_live_ask(struct live_sale *live, struct kv_waiting *waiting) {
    waiting->redis = kv_live_command(waiting);
    waiting->redis.data = waiting;
    waiting->redis.sends = &live->cost.redis;
    waiting->redis.deadline_ms = kv_live_due_ms(live, waiting->call);
    redis_call_start(redis_at(live->store, waiting->call->server), &waiting->redis,
                     kv_live_on_answered);
    fiber_event_wait(&waiting->answered);
}

static enum outcome live_has_no_server(struct live_sale *live, int server) {
    (void)why_set(live->why,
                  "this stack has no server %d of keys: the strategy needs NEEDS_REDLOCK, and the "
                  "stack --with redlock",
                  server);
    return OUTCOME_BUSY;
}

enum outcome live_kv(struct sale *sale, struct kv_call *call) {
    struct live_sale *live = live_of(sale);
    struct kv_waiting waiting = {.call = call, .answered = FIBER_EVENT_INIT};
    const int64_t begun_ns = clock_now_ns();
    bool was_yes = true;
    int at = 0;

    if (redis_at(live->store, call->server) == NULL)
        return live_has_no_server(live, call->server);
    for (const struct kv_call *step = call; step != NULL; step = step->then, at++) {
        (void)snprintf(waiting.keys[at], KEY_BYTES, "sale:{%s}:%s", live->product->id, step->key);
        (void)snprintf(waiting.ttls[at], sizeof waiting.ttls[at], "%" PRId64, step->ttl_ms);
    }
    kv_live_ask(live, &waiting);
    at = 0;
    for (const struct kv_call *step = call; step != NULL && was_yes; step = step->then, at++) {
        live_note_command(live, step, waiting.keys[at], result_of(&waiting, step), begun_ns);
        kv_live_count(live, step, begun_ns);
        was_yes = step->is_yes;
    }
    return kv_live_outcome_of(sale, &waiting);
}
