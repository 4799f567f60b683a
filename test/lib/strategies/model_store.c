/* Plays the operations of the seam. */
#include "model_store.h"

#include "read_then_write.h"

struct model model;

static enum outcome read_stock(struct sale *sale, int shard, struct stock_row *row) {
    (void)sale;
    *row = model.rows[shard];
    model.seen_empty[shard] = row->available <= 0;
    return model.read_outcome;
}

static void note_sold(struct sale *sale, const struct stock_row *seen) {
    sale->shard = seen->shard;
    sale->unit = seen->first_unit + seen->available - 1;
    sale->remaining = seen->available - 1;
}

static enum outcome begin_write(struct sale *sale, enum guard guard,
                                const struct store_lock *under) {
    (void)sale;
    (void)guard;
    (void)under;
    return OUTCOME_OK;
}

static void end_write(struct sale *sale) {
    (void)sale;
}

/* The token of a lock that is held is written on it. */
static int64_t fence_of(const struct store_lock *under) {
    return under != NULL ? ((const struct model_lock *)(const void *)under)->fence : 0;
}

static bool holds(const struct stock_row *row, const struct stock_row *seen, enum guard guard,
                  const struct store_lock *under) {
    switch (guard) {
    case GUARD_ANY:
        return true;
    case GUARD_VERSION:
        return row->version == seen->version;
    case GUARD_VALUE:
        return row->available == seen->available;
    case GUARD_FENCE:
        return row->fence == seen->fence && row->fence < fence_of(under);
    }
    return false;
}

static enum outcome write_stock(struct sale *sale, const struct stock_row *seen, enum guard guard,
                                const struct store_lock *under) {
    struct model_sale *own = (struct model_sale *)(void *)sale;
    struct stock_row *row = &model.rows[seen->shard];

    if (model.write_outcome != OUTCOME_OK)
        return model.write_outcome;
    if (!holds(row, seen, guard, under))
        return OUTCOME_CONFLICT;
    if (own->transaction.is_open) {
        own->transaction.has_written = true;
        own->transaction.row = *seen;
        return OUTCOME_SOLD;
    }
    row->available = seen->available - 1;
    row->version++;
    if (fence_of(under) > row->fence)
        row->fence = fence_of(under);
    note_sold(sale, seen);
    return OUTCOME_SOLD;
}

static enum outcome take_stock(struct sale *sale, int shard) {
    if (model.rows[shard].available == 0)
        return OUTCOME_SOLD_OUT;
    note_sold(sale, &model.rows[shard]);
    model.rows[shard].available--;
    return OUTCOME_SOLD;
}

/* ---- transactions: what was written is in the row when it is committed */

static enum outcome begin(struct sale *sale, enum isolation isolation) {
    struct model_sale *own = (struct model_sale *)(void *)sale;

    assert_false(own->transaction.is_open);
    memset(&own->transaction, 0, sizeof own->transaction);
    own->transaction.is_open = true;
    own->transaction.isolation = isolation;
    return OUTCOME_OK;
}

static int find_row(int first, bool is_locked) {
    for (int i = 0; i < SHARDS; i++) {
        int shard = (first + i) % SHARDS;

        if (model.rows[shard].available > 0 && (is_locked || !model.is_row_locked[shard]))
            return shard;
    }
    return -1;
}

static enum outcome read_for_update(struct sale *sale, int shard, enum row_wait wait,
                                    struct stock_row *row) {
    struct model_sale *own = (struct model_sale *)(void *)sale;

    assert_true(own->transaction.is_open);
    if (shard == ANY_SHARD && find_row(0, true) < 0)
        return OUTCOME_SOLD_OUT;
    if (shard == ANY_SHARD)
        shard = find_row(own->first_shard, wait != ROW_SKIP_LOCKED);
    if (shard < 0 || model.is_row_locked[shard])
        return OUTCOME_BUSY;
    model.is_row_locked[shard] = own->transaction.has_row = true;
    *row = own->transaction.row = model.rows[shard];
    return model.read_outcome;
}

static void end(struct model_sale *own) {
    assert_true(own->transaction.is_open);
    own->transaction.is_open = false;
    if (own->transaction.has_row)
        model.is_row_locked[own->transaction.row.shard] = false;
}

static enum outcome commit(struct sale *sale) {
    struct model_sale *own = (struct model_sale *)(void *)sale;
    const struct stock_row seen = own->transaction.row;

    assert_true(own->transaction.has_written);
    end(own);
    return write_stock(
        sale, &seen, own->transaction.isolation == SERIALIZABLE ? GUARD_VERSION : GUARD_ANY, NULL);
}

static void rollback(struct sale *sale) {
    end((struct model_sale *)(void *)sale);
}

static enum outcome lock(struct sale *sale, enum lock_kind kind, int shard,
                         struct store_lock **out) {
    const bool is_again = kind == LOCK_REENTRANT && model.holders[shard] == sale;
    struct model_sale *own = (struct model_sale *)(void *)sale;

    if ((model.is_locked[shard] && !is_again) || model.readers > 0)
        return OUTCOME_BUSY;
    model.is_locked[shard] = true;
    model.holders[shard] = sale;
    model.times[shard]++;
    model.locks_taken++;
    model.stamped++;
    own->lock = (struct model_lock){shard, ++model.fence, false};
    *out = (struct store_lock *)(void *)&own->lock;
    return OUTCOME_OK;
}

static enum outcome lock_shared(struct sale *sale, enum lock_kind kind, int shard,
                                struct store_lock **out) {
    struct model_sale *own = (struct model_sale *)(void *)sale;

    (void)kind;
    if (model.is_locked[shard])
        return OUTCOME_BUSY;
    model.readers++;
    own->lock = (struct model_lock){.shard = shard, .is_shared = true};
    *out = (struct store_lock *)(void *)&own->lock;
    return OUTCOME_OK;
}

static uint64_t stamp(struct sale *sale, int shard) {
    (void)sale;
    return model.is_locked[shard] ? 0 : model.stamped + 1;
}

static enum outcome lock_stamped(struct sale *sale, int shard, uint64_t given,
                                 struct store_lock **out) {
    return given == stamp(sale, shard) ? lock(sale, LOCK_STAMPED, shard, out) : OUTCOME_CONFLICT;
}

static enum outcome check_lock(struct sale *sale, const struct store_lock *given) {
    (void)sale;
    (void)given;
    return model.is_lease_lost ? OUTCOME_BUSY : OUTCOME_OK;
}

static void unlock(struct sale *sale, struct store_lock *given, enum outcome outcome) {
    const struct model_lock *held = (const struct model_lock *)(const void *)given;

    (void)sale;
    model.unlocked_with = outcome;
    if (held->is_shared)
        model.readers--;
    else
        model.is_locked[held->shard] = --model.times[held->shard] > 0;
}

static void wait_for_go(struct sale *sale) {
    struct fiber_event *go = &((struct model_sale *)(void *)sale)->go;

    fiber_event_wait(go);
    *go = (struct fiber_event)FIBER_EVENT_INIT;
}

static void say(const char *word) {
    size_t used = strlen(model.said);

    (void)snprintf(model.said + used, sizeof model.said - used, "%s%s", used > 0 ? ", " : "", word);
}

void model_set_key(const char *value, int64_t ttl_ms) {
    (void)snprintf(model.key, sizeof model.key, "%s", value);
    model.key_ttl_ms = ttl_ms;
}

static void play(struct kv_call *call) {
    const bool is_there = model.key[0] != '\0';

    assert_string_equal(call->key, "lock");
    switch (call->command) {
    case KV_SET_ABSENT:
        call->is_yes = !is_there;
        if (call->is_yes)
            model_set_key(call->value, call->ttl_ms);
        break;
    case KV_EXPIRE:
        model.key_ttl_ms = call->ttl_ms;
        break;
    case KV_GET:
        call->is_yes = is_there;
        (void)snprintf(call->reply, sizeof call->reply, "%s", model.key);
        break;
    case KV_DELETE:
        call->is_yes = is_there;
        model_set_key("", 0);
        break;
    case KV_DELETE_IF_EQUAL:
        call->is_yes = strcmp(model.key, call->value) == 0;
        if (call->is_yes)
            model_set_key("", 0);
        break;
    case KV_SCRIPT:
        fail_msg("no strategy here has a script");
    }
}

static enum outcome kv(struct sale *sale, struct kv_call *call) {
    static const char *const words[] = {
#define X(name, text) text,
        KV_COMMANDS(X)
#undef X
    };

    (void)sale;
    say(words[call->command]);
    if (model.kv_outcome == OUTCOME_OK)
        play(call);
    return model.kv_outcome;
}

static void random_token(struct sale *sale, char token[TOKEN_TEXT]) {
    (void)snprintf(token, TOKEN_TEXT, "of %p", (void *)sale);
}

static enum outcome pause_before_retry(struct sale *sale) {
    if (!model.may_pause)
        return OUTCOME_BUSY;
    wait_for_go(sale);
    return OUTCOME_OK;
}

/* The ledger knows nothing of it. */
static enum outcome find_sale(struct sale *sale, bool *is_found) {
    (void)sale;
    *is_found = false;
    return OUTCOME_OK;
}

static int deal(struct sale *sale) {
    return ((struct model_sale *)(void *)sale)->first_shard;
}

static bool saw_empty(struct sale *sale, int shard) {
    (void)sale;
    return model.seen_empty[shard];
}

static enum outcome pass(struct sale *sale, enum fail_point point) {
    if (model.does_stop && model.stop == point)
        wait_for_go(sale);
    return model.passes_with[point];
}

static const struct store_ops ops = {.read_stock = read_stock,
                                     .read_for_update = read_for_update,
                                     .begin = begin,
                                     .commit = commit,
                                     .rollback = rollback,
                                     .begin_write = begin_write,
                                     .end_write = end_write,
                                     .find_sale = find_sale,
                                     .deal = deal,
                                     .saw_empty = saw_empty,
                                     .pass = pass,
                                     .write_stock = write_stock,
                                     .take_stock = take_stock,
                                     .take_in_batch = take_stock,
                                     .lock = lock,
                                     .lock_shared = lock_shared,
                                     .stamp = stamp,
                                     .lock_stamped = lock_stamped,
                                     .check_lock = check_lock,
                                     .unlock = unlock,
                                     .kv = kv,
                                     .random_token = random_token,
                                     .pause = pause_before_retry,
                                     .work = wait_for_go};

int model_set_up(void **state) {
    (void)state;
    memset(&model, 0, sizeof model);
    model.options = (struct sale_options){.shards = SHARDS, .borrows = true, .ttl_ms = 300};
    for (int i = 0; i < SHARDS; i++)
        model.rows[i] = (struct stock_row){.shard = i, .first_unit = 1 + 10 * i, .available = 10};
    return 0;
}

int model_tear_down(void **state) {
    (void)state;
    fiber_cleanup();
    return 0;
}

static void run(void *arg) {
    struct model_sale *sale = arg;

    sale->outcome = sale->strategy->sell != NULL
                        ? sale->strategy->sell(&sale->sale)
                        : lock_then_write(&sale->sale, sale->strategy->lock);
}

static const struct strategy *find(const char *name) {
    const struct strategy *const *at = strategies;

    while (strcmp((*at)->name, name) != 0)
        assert_non_null(*++at);
    return *at;
}

void model_begin(struct model_sale *sale, const char *name, int first_shard) {
    *sale = (struct model_sale){
        .sale = {.ops = &ops, .options = &model.options},
        .first_shard = first_shard,
        .strategy = find(name),
        .go = FIBER_EVENT_INIT,
    };
    assert_int_equal(fiber_start(run, sale), 0);
}

void model_go_on(struct model_sale *sale) {
    fiber_event_set(&sale->go);
}

enum outcome model_sell(const char *name, int first_shard, struct model_sale *sale) {
    model_begin(sale, name, first_shard);
    fiber_event_set(&sale->go);
    return sale->outcome;
}
