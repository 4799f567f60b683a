/* The part that every store shares: the steps of a write, and the points where a sale can be made
 * to fail. */
#include "store.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

static const struct {
    const char *name, *text;
} outcomes[] = {
#define X(name, text) {#name, text},
    OUTCOMES(X)
#undef X
};

const char *outcome_text(enum outcome outcome) {
    return outcomes[outcome].text;
}

const char *outcome_name(enum outcome outcome) {
    return outcomes[outcome].name;
}

const char *lock_kind_name(enum lock_kind kind) {
    static const char *const names[] = {
#define X(name, text, server) text,
        LOCK_KINDS(X)
#undef X
    };

    return names[kind];
}

enum outcome outcome_of_sale(struct sale *sale, enum outcome outcome, const char *did) {
    if (outcome >= OUTCOME_SOLD && outcome <= OUTCOME_FAILED)
        return outcome;
    if (outcome <= OUTCOME_KEY_REUSED)
        (void)snprintf(sale->message, MESSAGE_BYTES, "the strategy %s %s", did,
                       outcome_name(outcome));
    else
        (void)snprintf(sale->message, MESSAGE_BYTES, "the strategy %s %u, which is not an outcome",
                       did, (unsigned)outcome);
    return OUTCOME_FAILED;
}

/* A mistake of a strategy. */
static enum outcome store_refuse(struct sale *sale, const char *mistake) {
    (void)snprintf(sale->message, MESSAGE_BYTES, "%s", mistake);
    return OUTCOME_FAILED;
}

/* The next step's outcome, or the first that was not OK. */
static enum outcome then_pass(struct sale *sale, enum outcome outcome, enum fail_point point) {
    return outcome == OUTCOME_OK ? sale->ops->pass(sale, point) : outcome;
}

enum outcome store_read_stock(struct sale *sale, int shard, struct stock_row *row) {
    return then_pass(sale, sale->ops->read_stock(sale, shard, row), FAIL_AFTER_READ);
}

enum outcome store_read_for_update(struct sale *sale, int shard, enum row_wait wait,
                                   struct stock_row *row) {
    if (!sale->is_in_transaction)
        return store_refuse(sale, "the strategy read for update outside a transaction");
    return then_pass(sale, sale->ops->read_for_update(sale, shard, wait, row), FAIL_AFTER_READ);
}

/* A found order has its unit, from this write or from an earlier one of the same order. So the
 * answer is REPEATED: the caller may take back only a unit that is certainly this sale's. An absent
 * order proves nothing, because the statement may still be running. */
static enum outcome look_up(struct sale *sale) {
    bool is_found = false;

    (void)sale->ops->find_sale(sale, &is_found);
    return is_found ? OUTCOME_REPEATED : OUTCOME_UNKNOWN;
}

static enum outcome after_write(struct sale *sale, enum outcome outcome) {
    if (outcome == OUTCOME_UNKNOWN)
        return look_up(sale);
    if (outcome != OUTCOME_SOLD)
        return outcome;
    return sale->ops->pass(sale, FAIL_AFTER_WRITE) == OUTCOME_OK ? OUTCOME_SOLD : OUTCOME_UNKNOWN;
}

enum outcome store_write_stock(struct sale *sale, const struct stock_row *seen, enum guard guard,
                               const struct store_lock *under) {
    enum outcome outcome;

    if (seen->available <= 0)
        return store_refuse(sale, "the strategy sold from a row that has no unit left");
    if (under != NULL && under != sale->held)
        return store_refuse(sale, "the strategy wrote under a lock that it does not hold");
    if (seen->token < 0 || seen->token > INT32_MAX)
        return store_refuse(sale, "a fencing token is a number from 0 to 2147483647");
    outcome = then_pass(sale, sale->ops->check_write(sale, guard, under), FAIL_BEFORE_WRITE);
    if (outcome == OUTCOME_OK)
        outcome = sale->ops->write_stock(sale, seen, guard, under);
    return after_write(sale, outcome);
}

static enum outcome take_by(struct sale *sale, int shard,
                            enum outcome (*take)(struct sale *sale, int shard)) {
    enum outcome outcome;

    if (sale->is_in_transaction)
        return store_refuse(sale, "the strategy sold by one statement inside a transaction");
    if (sale->options->is_cart)
        return store_refuse(sale, "the strategy sold half a cart by one statement");
    outcome = sale->ops->pass(sale, FAIL_BEFORE_WRITE);
    return outcome == OUTCOME_OK ? after_write(sale, take(sale, shard)) : outcome;
}

enum outcome store_take_stock(struct sale *sale, int shard) {
    return take_by(sale, shard, sale->ops->take_stock);
}

enum outcome store_take_in_batch(struct sale *sale, int shard) {
    return take_by(sale, shard, sale->ops->take_in_batch);
}

/* For a step that sells nothing even if it took effect. */
static enum outcome nothing_sold(enum outcome outcome) {
    return outcome == OUTCOME_UNKNOWN ? OUTCOME_BUSY : outcome;
}

enum outcome store_open_data_set(struct sale *sale, struct data_set *set) {
    sale->ops->random_token(sale, set->token);
    return nothing_sold(sale->ops->open_data_set(sale, set));
}

static bool is_row(const struct sale *sale, const struct stock_row *row) {
    return row->shard >= 0 && row->shard < sale->options->shards && row->first_unit >= 1;
}

/* What is wrong with a data set? NULL: nothing. */
static const char *fault_of_data_set(const struct sale *sale, const struct data_set *set) {
    if (set == NULL)
        return "the strategy passed NULL as data set";
    if (set->token[0] == '\0' || memchr(set->token, '\0', sizeof set->token) == NULL)
        return "the strategy passed a data set that it did not open";
    if (set->last < -1 || set->last >= sale->options->shards)
        return "the strategy passed a data set with a last row that does not exist";
    return NULL;
}

enum outcome store_hand_out(struct sale *sale, const struct data_set *set, struct stock_row *row) {
    const char *fault = fault_of_data_set(sale, set);

    if (fault != NULL)
        return store_refuse(sale, fault);
    return nothing_sold(sale->ops->hand_out(sale, set, row));
}

enum outcome store_load_row(struct sale *sale, const struct data_set *set,
                            const struct stock_row *row) {
    const char *fault = fault_of_data_set(sale, set);

    if (fault != NULL)
        return store_refuse(sale, fault);
    if (row->available < 0 || row->available > INT32_MAX ||
        (row->available > 0 && !is_row(sale, row)))
        return store_refuse(sale, "the strategy loaded a row that does not exist");
    return nothing_sold(sale->ops->load_row(sale, set, row));
}

enum outcome store_take_loaded(struct sale *sale, struct loaded_unit *taken) {
    return sale->ops->take_loaded(sale, taken);
}

enum outcome store_write_pending(struct sale *sale, const struct stock_row *seen, bool is_awaited) {
    enum outcome outcome;

    if (seen->available <= 0)
        return store_refuse(sale, "the strategy sold from a row that has no unit left");
    if (!is_row(sale, seen))
        return store_refuse(sale, "the strategy wrote to a row that does not exist");
    if (sale->ops->pass(sale, FAIL_BEFORE_WRITE) != OUTCOME_OK)
        return OUTCOME_UNKNOWN;
    outcome = sale->ops->write_pending(sale, seen, is_awaited);
    return outcome == OUTCOME_SOLD ? after_write(sale, outcome) : outcome;
}

enum outcome store_take_returned(struct sale *sale) {
    return after_write(sale, sale->ops->take_returned(sale));
}

enum outcome store_find_sale(struct sale *sale, bool *is_found) {
    return sale->ops->find_sale(sale, is_found);
}

enum outcome store_begin(struct sale *sale, enum isolation isolation) {
    enum outcome outcome;

    if (sale->is_in_transaction)
        return store_refuse(sale, "the strategy began a transaction inside a transaction");
    outcome = sale->ops->begin(sale, isolation);
    sale->is_in_transaction = outcome == OUTCOME_OK;
    return outcome;
}

enum outcome store_end(struct sale *sale, enum outcome outcome) {
    if (!sale->is_in_transaction)
        return store_refuse(sale, "the strategy ended a transaction that it did not begin");
    sale->is_in_transaction = false;
    outcome = outcome_of_sale(sale, outcome, "ended a transaction with");
    if (outcome == OUTCOME_SOLD)
        outcome = then_pass(sale, OUTCOME_OK, FAIL_BEFORE_COMMIT);
    if (outcome != OUTCOME_OK) {
        sale->ops->rollback(sale);
        return outcome == OUTCOME_UNKNOWN ? OUTCOME_FAILED : outcome;
    }
    outcome = sale->ops->commit(sale);
    return outcome == OUTCOME_UNKNOWN ? look_up(sale) : outcome;
}

/* What is wrong with one more lock? NULL: nothing. */
static const char *fault_of_lock(const struct sale *sale, const struct lock_call *call) {
    if (call->kind > LOCK_PG_ADVISORY_RAW || call->kind == LOCK_KEY)
        return "the strategy asked for a kind of lock that does not exist";
    if (call->mode == MODE_SHARED && call->kind != LOCK_RWLOCK && call->kind != LOCK_REDIS_RW)
        return "the strategy shared a lock of a kind that cannot be shared";
    if (sale->held != NULL && (call->kind != LOCK_REENTRANT || sale->held_kind != call->kind))
        return "the strategy took a second lock while it held one";
    return NULL;
}

static enum outcome win_lock(struct sale *sale, struct lock_call call, struct store_lock **lock) {
    const char *fault = fault_of_lock(sale, &call);
    enum outcome outcome;

    if (fault != NULL)
        return store_refuse(sale, fault);
    if (call.mode == MODE_UNCHANGED && call.stamp == 0)
        return OUTCOME_CONFLICT;
    outcome = sale->ops->lock(sale, &call);
    *lock = call.lock;
    if (outcome != OUTCOME_OK)
        return outcome;
    sale->held = call.lock;
    sale->held_kind = call.kind;
    sale->held_times++;
    outcome = sale->ops->pass(sale, FAIL_AFTER_LOCK);
    if (outcome != OUTCOME_OK)
        store_unlock(sale, call.lock, outcome);
    return outcome;
}

enum outcome store_lock(struct sale *sale, enum lock_kind kind, int shard,
                        struct store_lock **lock) {
    return win_lock(sale, (struct lock_call){kind, MODE_ALONE, shard, 0, NULL}, lock);
}

enum outcome store_lock_shared(struct sale *sale, enum lock_kind kind, int shard,
                               struct store_lock **lock) {
    return win_lock(sale, (struct lock_call){kind, MODE_SHARED, shard, 0, NULL}, lock);
}

uint64_t store_stamp(struct sale *sale, int shard) {
    struct lock_call call = {LOCK_STAMPED, MODE_LOOK, shard, 0, NULL};

    (void)sale->ops->lock(sale, &call);
    return call.stamp;
}

enum outcome store_lock_stamped(struct sale *sale, int shard, uint64_t stamp,
                                struct store_lock **lock) {
    return win_lock(sale, (struct lock_call){LOCK_STAMPED, MODE_UNCHANGED, shard, stamp, NULL},
                    lock);
}

void store_unlock(struct sale *sale, struct store_lock *lock, enum outcome outcome) {
    if (lock == NULL || lock != sale->held)
        return;
    if (sale->ops->pass(sale, FAIL_BEFORE_UNLOCK) != OUTCOME_OK)
        outcome = OUTCOME_UNKNOWN; /* so it is not given back */
    assert(sale->held_times > 0);
    sale->ops->unlock(sale, lock, outcome);
    if (--sale->held_times == 0)
        sale->held = NULL;
}

/* What is wrong with a command? NULL: nothing. */
static const char *fault_of_command(const struct kv_call *call) {
    const bool has_value = call->command == KV_SET_ABSENT || call->command == KV_DELETE_IF_EQUAL ||
                           call->command == KV_IS;

    if (call->command > KV_COUNT)
        return "the strategy asked for a command that does not exist";
    if (call->key == NULL)
        return "the strategy passed NULL as key";
    if (has_value && call->value == NULL)
        return "the strategy passed NULL as value";
    if (call->command == KV_SET_ABSENT && call->ttl_ms < 0)
        return "the strategy set a key with a negative TTL";
    return NULL;
}

static const char *fault_of_call(const struct kv_call *call) {
    const char *fault = NULL;
    int steps = 0;

    if (call->server < 0 || call->server > KV_SERVERS)
        return "the strategy asked a server that does not exist";
    for (; call != NULL && fault == NULL; call = call->then)
        fault = ++steps > KV_STEPS ? "the strategy passed a script that is too long"
                                   : fault_of_command(call);
    return fault;
}

static enum outcome pass_before(struct sale *sale, enum kv_command command) {
    switch (command) {
    case KV_EXPIRE:
        return sale->ops->pass(sale, FAIL_BEFORE_EXPIRE);
    case KV_DELETE:
    case KV_DELETE_IF_EQUAL:
        return sale->ops->pass(sale, FAIL_BEFORE_DELETE);
    case KV_SET_ABSENT:
    case KV_GET:
    case KV_IS:
    case KV_COUNT:
        break;
    }
    return OUTCOME_OK;
}

static void forget_replies(struct kv_call *call) {
    for (; call != NULL; call = call->then) {
        call->is_yes = false;
        memset(call->reply, 0, sizeof call->reply);
    }
}

enum outcome store_kv(struct sale *sale, struct kv_call *call) {
    const char *fault = fault_of_call(call);
    enum outcome outcome = OUTCOME_OK;
    struct kv_call *step;

    if (fault != NULL)
        return store_refuse(sale, fault);
    forget_replies(call);
    for (step = call; step != NULL && outcome == OUTCOME_OK; step = step->then)
        outcome = pass_before(sale, step->command);
    if (outcome == OUTCOME_OK)
        outcome = nothing_sold(sale->ops->kv(sale, call));
    if (outcome != OUTCOME_OK)
        forget_replies(call);
    for (step = call; step != NULL && outcome == OUTCOME_OK; step = step->then)
        if (step->command == KV_SET_ABSENT && step->is_yes)
            outcome = sale->ops->pass(sale, FAIL_AFTER_LOCK);
    return outcome;
}

enum outcome store_kv_set_absent(struct sale *sale, const char *key, const char *value,
                                 int64_t ttl_ms, bool *was_set) {
    struct kv_call call = {KV_SET_ABSENT, .key = key, .value = value, .ttl_ms = ttl_ms};
    enum outcome outcome = store_kv(sale, &call);

    *was_set = call.is_yes;
    return outcome;
}

enum outcome store_kv_expire(struct sale *sale, const char *key, int64_t ttl_ms) {
    return store_kv(sale, &(struct kv_call){KV_EXPIRE, .key = key, .ttl_ms = ttl_ms});
}

enum outcome store_kv_get(struct sale *sale, const char *key, char value[KV_TEXT]) {
    struct kv_call call = {KV_GET, .key = key};
    enum outcome outcome = store_kv(sale, &call);

    static_assert(sizeof call.reply == KV_TEXT, "a reply is a value");
    for (size_t i = 0; i < KV_TEXT; i++)
        value[i] = outcome == OUTCOME_OK && call.is_yes ? call.reply[i] : '\0';
    return outcome;
}

enum outcome store_kv_delete(struct sale *sale, const char *key) {
    return store_kv(sale, &(struct kv_call){KV_DELETE, .key = key});
}

enum outcome store_kv_delete_if_equal(struct sale *sale, const char *key, const char *value) {
    return store_kv(sale, &(struct kv_call){KV_DELETE_IF_EQUAL, .key = key, .value = value});
}

int store_deal(struct sale *sale) {
    return sale->ops->deal(sale);
}

void store_cart(struct sale *sale, int rows[2]) {
    if (sale->first_in_cart == 0)
        sale->first_in_cart = 1 + sale->ops->deal(sale) % 2;
    rows[0] = sale->first_in_cart - 1;
    rows[1] = 1 - rows[0];
}

bool store_saw_empty(struct sale *sale, int shard) {
    return sale->ops->saw_empty(sale, shard);
}

void store_random_token(struct sale *sale, char token[TOKEN_TEXT]) {
    sale->ops->random_token(sale, token);
}

enum outcome store_pause(struct sale *sale) {
    enum outcome outcome = sale->ops->pause(sale);

    sale->pauses += outcome == OUTCOME_OK;
    return outcome;
}

void store_work(struct sale *sale) {
    (void)sale->ops->work(sale, INT64_MAX);
}

bool store_work_for(struct sale *sale, int64_t most_ms) {
    return sale->ops->work(sale, most_ms > 1 ? most_ms : 1);
}

void store_trace(struct sale *sale, const char *text) {
    if (sale->ops->trace != NULL && text != NULL)
        sale->ops->trace(sale, text);
}
