/* Compares the model with the live store on real Postgres and Redis: a few sales run thousands of
 * random operations on both, one after the other. TEST_SEED repeats a failure. */
#include "store.h"
/* Each store has a struct store_lock of its own. */
#define store_lock live_store_lock
#include "instance.h"
#undef store_lock
#include "model.h"
#include "reservation_sql.h"
#include "seam_op.h"
#include "servers.h"
#include "strategies.h"

#define SALES     4
#define OPS       14
#define SEQUENCES 500
#define LOG_BYTES 4096

struct pair {
    struct live_sale live;
    struct why why;
    struct seam_side sides[2]; /* the live store, and the model */
    char order_id[UUID_TEXT];
    bool has_seen, is_in_transaction, can_only_end, has_written;
    int locks; /* the number of locks that it holds */
};

/* A sequence of operations. It runs in a fiber. */
struct run {
    uint64_t random;
    char product_id[UUID_TEXT];
    struct product *product;
    struct model_world world;
    struct pair pairs[SALES];
    enum {
        ABOUT_ALL,
        ABOUT_TRANSACTIONS,
        ABOUT_CYCLES,
        ABOUT_LOCKS,
        ABOUT_KEYS,
        ABOUT_SEGMENTS,
        ABOUTS
    } about;
    enum lock_kind lock;
    struct seam_fences fences[2];
    char log[LOG_BYTES];
};

static struct {
    unsigned first, next;
    unsigned ops, cycles;
    bool has_failed, is_done;
} all;

static unsigned pick(struct run *run, unsigned of) {
    run->random ^= run->random << 13;
    run->random ^= run->random >> 7;
    run->random ^= run->random << 17;
    return (unsigned)(run->random >> 33) % of;
}

/* ---- operations that need not wait for another sale */

static bool is_any_held(const struct run *run) {
    for (int i = 0; i < run->world.setup.options.shards; i++)
        if (run->world.state.rows[i].holder >= 0)
            return true;
    return false;
}

static bool is_in_uncommitted_row(const struct run *run, int who) {
    const int ledger = run->world.sales[who].ledger;

    for (int i = 0; i < SALES; i++)
        if (i != who && run->pairs[i].has_written && run->world.sales[i].ledger == ledger)
            return true;
    return false;
}

/* A repeat in a batch without units left may get either of two answers. */
static bool can_write(const struct run *run, const struct seam_op *op, int shard) {
    return !model_is_held_by_other(&run->world, op->who, shard) &&
           !is_in_uncommitted_row(run, op->who) &&
           (op->kind != OP_TAKE_IN_BATCH || run->world.state.rows[shard].available > 0 ||
            !run->world.state.sold[run->world.sales[op->who].ledger].is_there);
}

static bool is_any_in_transaction(const struct run *run) {
    for (int i = 0; i < SALES; i++)
        if (run->pairs[i].is_in_transaction)
            return true;
    return false;
}

static bool is_of_subject(const struct run *run, const struct seam_op *op) {
    const struct pair *pair = &run->pairs[op->who];

    switch (run->about) {
    case ABOUT_TRANSACTIONS:
        return op->kind == OP_READ || op->kind == OP_READ_FOR_UPDATE || op->kind == OP_WRITE ||
               op->kind == OP_BEGIN || op->kind == OP_END;
    case ABOUT_CYCLES:
        return (op->kind == OP_BEGIN && op->isolation == SERIALIZABLE) ||
               (op->kind == OP_END && op->end == OUTCOME_SOLD) ||
               (op->kind == OP_READ && pair->is_in_transaction) ||
               (op->kind == OP_WRITE && pair->is_in_transaction && !pair->has_written);
    case ABOUT_LOCKS:
        return op->kind == OP_READ || op->kind == OP_WRITE ||
               (op->kind >= OP_LOCK && op->kind < OP_SET_ABSENT);
    case ABOUT_KEYS:
        return op->kind >= OP_SET_ABSENT;
    case ABOUT_SEGMENTS:
        return op->kind == OP_READ || op->kind == OP_TAKE || op->kind == OP_FIND ||
               (op->kind >= OP_WRITE_PENDING && op->kind <= OP_TAKE_LOADED);
    case ABOUT_ALL:
    case ABOUTS:
        break;
    }
    return op->kind < OP_LOCK && (op->kind < OP_OPEN_DATA_SET || op->kind > OP_TAKE_LOADED);
}

static bool has_fence(enum lock_kind kind) {
    return kind == LOCK_REDIS || kind == LOCK_TABLE;
}

static bool is_possible(const struct run *run, const struct seam_op *op) {
    const struct pair *pair = &run->pairs[op->who];
    const struct stock_row *seen = &pair->sides[0].seen;
    const bool is_in = pair->is_in_transaction;

    if (pair->can_only_end || !is_of_subject(run, op))
        return pair->can_only_end && op->kind == OP_END;
    switch (op->kind) {
    case OP_READ:
    case OP_FIND:
    case OP_SAW_EMPTY:
    case OP_DEAL:
    case OP_SET_ABSENT:
    case OP_EXPIRE:
    case OP_GET:
    case OP_DELETE:
    case OP_DELETE_IF_EQUAL:
    case OP_SCRIPT:
    case OP_OPEN_DATA_SET:
    case OP_TAKE_LOADED:
        return true;
    case OP_LOAD_ROW:
        return pair->sides[0].set.token[0] != '\0' && pair->has_seen;
    case OP_READ_FOR_UPDATE:
    case OP_END:
        return is_in;
    case OP_WRITE:
        return pair->has_seen && seen->available > 0 && can_write(run, op, seen->shard) &&
               (op->guard != GUARD_FENCE || (pair->locks > 0 && has_fence(op->lock)));
    case OP_TAKE:
    case OP_TAKE_IN_BATCH:
        return !is_in && can_write(run, op, op->shard);
    case OP_TAKE_RETURNED:
        return !is_in && !is_in_uncommitted_row(run, op->who);
    case OP_HAND_OUT:
        return !is_in && !is_any_held(run);
    case OP_WRITE_PENDING:
        return !is_in && pair->has_seen && seen->available > 0 && seen->shard >= 0 &&
               !is_any_held(run) && !is_in_uncommitted_row(run, op->who);
    case OP_BEGIN: /* the model remembers one committed transaction per order */
        return !is_in && run->world.state.txns[op->who].state != TXN_COMMITTED;
    case OP_CANCEL:
        return !is_in && run->world.state.sold[run->world.sales[op->who].ledger].is_there &&
               !is_any_held(run);
    case OP_SELL:
        return !is_any_in_transaction(run);
    case OP_LOCK:
        return pair->locks == 0 || op->lock == LOCK_REENTRANT;
    case OP_LOCK_SHARED:
        return pair->locks == 0 && op->lock == LOCK_RWLOCK;
    case OP_STAMP:
    case OP_LOCK_STAMPED:
        return op->lock == LOCK_STAMPED && (op->kind == OP_STAMP || pair->locks == 0);
    case OP_UNLOCK:
        return pair->locks > 0;
    case OP_COUNT:
        break;
    }
    return false;
}

static struct seam_op make_op(struct run *run) {
    static const char *const texts[] = {"a", "b", "7"}, *const keys[] = {"lock", "lock:hash", "x"};
    struct seam_op op;

    do {
        op = (struct seam_op){.kind = (enum seam_op_kind)pick(run, OP_COUNT),
                              .who = (int)pick(run, SALES),
                              .shard = (int)pick(run, (unsigned)run->world.setup.options.shards),
                              .wait = (enum row_wait)pick(run, 3),
                              .guard = (enum guard)pick(run, 4),
                              .lock = run->lock,
                              .isolation = (enum isolation)pick(run, 2),
                              .text = texts[pick(run, 3)],
                              .key = keys[pick(run, 3)],
                              .ttl_ms = pick(run, 2) == 0 ? 60000 : 0};
        if (op.kind == OP_READ_FOR_UPDATE && pick(run, 2) == 0)
            op.shard = ANY_SHARD;
        op.end =
            run->pairs[op.who].has_written && pick(run, 4) > 0 ? OUTCOME_SOLD : OUTCOME_SOLD_OUT;
        if (run->pairs[op.who].can_only_end)
            op.end = OUTCOME_CONFLICT;
    } while (!is_possible(run, &op));
    return op;
}

/* ---- operations on both sides */

static void cancel(struct run *run, int who) {
    struct model_state *state = &run->world.state;
    const int ledger = run->world.sales[who].ledger;

    assert_true(cancel_in_fiber(run->pairs[who].order_id));
    assert_true(state->sold[ledger].is_there);
    model_return(&run->world, ledger);
}

/* False: they differ. */
static bool note_op(struct run *run, const struct seam_op *op, const struct seam_answer *live,
                    const struct seam_answer *model) {
    const size_t used = strlen(run->log);
    char text[SEAM_TEXT], lives[SEAM_TEXT], models[SEAM_TEXT];
    bool is_same;

    seam_op_text(op, text);
    seam_answer_text(live, lives);
    seam_answer_text(model, models);
    is_same = strcmp(lives, models) == 0;
    (void)snprintf(run->log + used, sizeof run->log - used, "  %s: %s%s%s\n", text, lives,
                   is_same ? "" : "; but the model: ", is_same ? "" : models);
    return is_same;
}

static void follow(struct pair *pair, const struct seam_op *op, enum outcome outcome) {
    if (op->kind == OP_READ || op->kind == OP_READ_FOR_UPDATE)
        pair->has_seen |= outcome == OUTCOME_OK;
    if (op->kind == OP_BEGIN)
        pair->is_in_transaction = outcome == OUTCOME_OK;
    if (op->kind == OP_END)
        pair->is_in_transaction = pair->can_only_end = pair->has_written = false;
    else if (pair->is_in_transaction && op->kind != OP_FIND)
        pair->can_only_end = outcome != OUTCOME_OK && outcome != OUTCOME_SOLD;
    if (op->kind == OP_UNLOCK)
        pair->locks--;
    else if (op->kind >= OP_LOCK && op->kind < OP_UNLOCK && op->kind != OP_STAMP &&
             outcome == OUTCOME_OK)
        pair->locks++;
    if (pair->locks == 0)
        pair->sides[0].lock = pair->sides[1].lock = NULL;
    pair->has_written |= pair->is_in_transaction && op->kind == OP_WRITE && outcome == OUTCOME_SOLD;
}

/* A sale does not wait until its lock is released, so the next sale may find it taken for a moment.
 */
static struct seam_answer await_release(struct pair *pair, const struct seam_op *op,
                                        const struct strategy *strategy) {
    struct seam_answer live = {.outcome = OUTCOME_BUSY};

    for (int tries = 0; tries < 1000 && live.outcome == OUTCOME_BUSY; tries++) {
        fiber_sleep(&instance.loop, 1);
        live = seam_op_play(&pair->sides[0], op, strategy);
    }
    return live;
}

/* A sale may take any of the units that came back. Let the model take the one that Postgres
 * took. */
static void prefer_returned(struct model_state *state, int64_t unit) {
    for (size_t i = 0; i < state->returned_count; i++)
        if (state->returned[i].unit == unit) {
            const struct model_unit found = state->returned[i];

            state->returned[i] = state->returned[0];
            state->returned[0] = found;
            return;
        }
}

/* False: they differ. */
static bool do_one(struct run *run, const struct seam_op *op) {
    struct pair *pair = &run->pairs[op->who];
    const struct strategy *strategy = run->product->spec.strategy;
    struct seam_answer live, model;

    if (op->kind == OP_CANCEL) {
        cancel(run, op->who);
        live = model = (struct seam_answer){.outcome = OUTCOME_OK};
    } else {
        run->product->none_returned_until_ms = 0; /* look each time, like the model */
        live = seam_op_play(&pair->sides[0], op, strategy);
        if (op->kind == OP_END || op->kind == OP_SELL)
            instance_await_rollback();
        if (live.outcome == OUTCOME_SOLD)
            prefer_returned(&run->world.state, live.numbers[1]);
        model = seam_op_play(&pair->sides[1], op, strategy);
        if (op->kind == OP_LOCK && live.outcome == OUTCOME_BUSY && model.outcome == OUTCOME_OK)
            live = await_release(pair, op, strategy);
    }
    live.fence = seam_rank(&run->fences[0], live.fence);
    assert_true(live.fence >= 0);
    model.fence = seam_rank(&run->fences[1], model.fence);
    follow(pair, op, live.outcome);
    all.ops++;
    all.cycles +=
        run->about == ABOUT_CYCLES && live.outcome == OUTCOME_CONFLICT && op->kind != OP_WRITE;
    return note_op(run, op, &live, &model);
}

/* ---- the beginning and the end of a sequence */

/* A sale runs alone, so it must be ready at once. */
static void on_turn(struct model_world *world, int index) {
    assert_true(model_make(world, (struct model_move){MOVE_RUN, (uint8_t)index}));
    assert_true(model_is_ready(world, index));
}

static void begin_model(struct run *run, int stock) {
    struct model_world *world = &run->world;

    memset(world, 0, sizeof *world);
    world->setup = (struct model_setup){.strategy = run->product->spec.strategy,
                                        .options = run->product->spec.options,
                                        .orders = SALES,
                                        .instances = 1,
                                        .stock = stock};
    world->turn = on_turn;
    model_begin(world);
    world->state.dealt[0] =
        (uint8_t)(run->product->next_shard % (unsigned)world->setup.options.shards);
}

/* Sometimes the last sale is a repeat of the first one's order. */
static void begin_pairs(struct run *run) {
    for (int i = 0; i < SALES; i++) {
        struct pair *pair = &run->pairs[i];
        struct model_sale *sale = &run->world.sales[i];

        memset(pair, 0, sizeof *pair);
        uuid_v7(pair->order_id);
        if (i == SALES - 1 && pick(run, 3) == 0) {
            memcpy(pair->order_id, run->pairs[0].order_id, UUID_TEXT);
            sale->ledger = 0;
        }
        memcpy(sale->order_id, pair->order_id, sizeof pair->order_id);
        run->world.state.orders[i].state = ORDER_RUNS;
        live_sale_init(&pair->live, &instance.store, run->product, pair->order_id, clock_now_ms(),
                       &pair->why);
        pair->live.deadline_ms += 60000; /* the model's sales have no deadline */
        pair->sides[0].sale = &pair->live.sale;
        pair->sides[1].sale = &sale->sale;
        pair->live.sale.may_be_repeat = sale->sale.may_be_repeat = i == 0 || i == SALES - 1;
    }
}

static void begin_run(struct run *run, unsigned seed) {
    static const char *const specs[] = {"none,wait=0ms", "sharded-skip,shards=3,wait=0ms",
                                        "pg-row,return=count,wait=0ms", "pg-serializable,wait=0ms",
                                        "pg-nowait,wait=0ms"};
    static const enum lock_kind kinds[] = {LOCK_LOCAL,     LOCK_REDIS,  LOCK_MKDIR,
                                           LOCK_FLOCK,     LOCK_RWLOCK, LOCK_STAMPED,
                                           LOCK_REENTRANT, LOCK_SPIN,   LOCK_TABLE};
    struct why why;
    unsigned which;
    int stock;

    memset(run, 0, sizeof *run);
    run->random = ((uint64_t)seed + 1) * UINT64_C(0x9e3779b97f4a7c15);
    run->about = pick(run, ABOUTS);
    run->lock = kinds[pick(run, sizeof kinds / sizeof *kinds)];
    stock = run->about == ABOUT_CYCLES ? 9 : (int)pick(run, 7);
    which = run->about == ABOUT_CYCLES ? pick(run, 2) : pick(run, sizeof specs / sizeof *specs);
    strcpy(run->product_id, make_product(specs[which], stock));
    assert_int_equal(product_get(instance.store.products, run->product_id, &run->product, &why),
                     OUTCOME_OK);
    begin_model(run, stock);
    begin_pairs(run);
    if (run->product->spec.strategy->prepare != NULL) /* like the model */
        (void)run->product->spec.strategy->prepare(&run->pairs[0].live.sale);
    (void)snprintf(run->log, sizeof run->log, "%s, stock %d\n", run->product->row.strategy, stock);
}

static void end_run(struct run *run) {
    for (int i = 0; i < SALES; i++)
        while (run->pairs[i].locks > 0)
            (void)do_one(run, &(struct seam_op){OP_UNLOCK, .who = i, .text = ""});
    for (int i = 0; i < SALES; i++)
        if (run->pairs[i].is_in_transaction)
            (void)do_one(run,
                         &(struct seam_op){OP_END, .who = i, .text = "", .end = OUTCOME_SOLD_OUT});
    for (int i = 0; i < SALES; i++)
        live_sale_end(&run->pairs[i].live);
    product_put(run->product);
}

static int64_t sum_of_ledger(const struct model_state *state) {
    int64_t sum = 0;

    for (int i = 0; i < SALES; i++)
        if (state->sold[i].is_there)
            sum += 1 + 100 * state->sold[i].unit + 10000 * state->sold[i].remaining +
                   1000000 * state->sold[i].shard;
    return sum;
}

static bool is_same_ledger(struct run *run) {
    return sum_of_ledger(&run->world.state) ==
           ask("SELECT coalesce(sum(1 + 100 * unit + 10000 * remaining + 1000000 * shard), 0)"
               " FROM reservation WHERE product_id = '%s'",
               run->product_id);
}

static bool run_one(struct run *run, unsigned seed) {
    bool is_same = true;

    begin_run(run, seed);
    for (int i = 0; i < OPS && is_same; i++) {
        const struct seam_op op = make_op(run);

        is_same = do_one(run, &op);
    }
    end_run(run);
    for (int i = 0; i < run->world.setup.options.shards && is_same; i++)
        is_same = do_one(run, &(struct seam_op){OP_READ, .text = "", .shard = i});
    is_same = is_same && is_same_ledger(run);
    if (!is_same) /* cmocka would cut a long message */
        (void)fprintf(stderr, "TEST_SEED=%u: they differ at the end of\n%s", seed, run->log);
    return is_same;
}

static void run_next(void *arg) {
    struct run *run = malloc(sizeof *run);

    assert_non_null(run);
    all.has_failed = !run_one(run, all.next++);
    free(run);
    all.is_done = true;
}

static void test_the_model_answers_as_the_servers_do(void **state) {
    const char *seed = getenv("TEST_SEED");

    all.first = all.next = seed != NULL ? (unsigned)strtoul(seed, NULL, 10) : 1;
    while (!all.has_failed && all.next < all.first + SEQUENCES) {
        all.is_done = false;
        assert_int_equal(fiber_start(run_next, NULL), 0);
        WAIT_FOR(&instance.loop, all.is_done);
    }
    print_message("%u operations in %u sequences from TEST_SEED=%u, %u refused by a cycle\n",
                  all.ops, all.next - all.first, all.first, all.cycles);
    assert_false(all.has_failed);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test_setup_teardown(
        test_the_model_answers_as_the_servers_do, set_up, tear_down)};

    return cmocka_run_group_tests(tests, make_schema, drop_schema);
}
