/* Tests random strategies in random worlds: the search with the table and the search without it
 * must find the same.
 *
 * LAB_RANDOM_SEED is the first seed, and LAB_RANDOM_COUNT the number of worlds with a choice. */
#include "explore.h"
#include "fiber.h"
#include "test.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SEED  1
#define COUNT 1000
#define MOST  1024 /* schedules of one world */
#define STEPS 12
#define TRIES 3

static uint64_t random_state;

static unsigned below(unsigned bound) {
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return (unsigned)(random_state >> 20) % bound;
}

/* ---- a strategy: a few operations, each with a place to go on if it fails */

struct hands {
    struct sale *sale;
    struct store_lock *lock;
    struct stock_row row;
    struct data_set set;
    uint64_t stamp;
    int shard;
    char token[TOKEN_TEXT];
    enum outcome last;
};

static enum outcome do_read(struct hands *hands, unsigned argument) {
    return store_read_stock(hands->sale, hands->shard, &hands->row);
}

static enum outcome do_write(struct hands *hands, unsigned argument) {
    return store_write_stock(hands->sale, &hands->row, (enum guard)(argument % 4),
                             argument % 3 == 0 ? hands->lock : NULL);
}

static enum outcome do_take(struct hands *hands, unsigned argument) {
    return argument % 2 != 0 ? store_take_in_batch(hands->sale, hands->shard)
                             : store_take_stock(hands->sale, hands->shard);
}

static enum outcome do_returned(struct hands *hands, unsigned argument) {
    return store_take_returned(hands->sale);
}

static enum outcome do_find(struct hands *hands, unsigned argument) {
    bool is_found;

    (void)store_find_sale(hands->sale, &is_found);
    return is_found ? OUTCOME_REPEATED : OUTCOME_OK;
}

static enum outcome do_begin(struct hands *hands, unsigned argument) {
    return store_begin(hands->sale, (enum isolation)(argument % 2));
}

static enum outcome do_read_for_update(struct hands *hands, unsigned argument) {
    return store_read_for_update(hands->sale, argument % 4 == 3 ? ANY_SHARD : hands->shard,
                                 (enum row_wait)(argument % 3), &hands->row);
}

static enum outcome do_end(struct hands *hands, unsigned argument) {
    return store_end(hands->sale, argument % 2 == 0 ? OUTCOME_SOLD : hands->last);
}

static enum outcome do_lock(struct hands *hands, unsigned argument) {
    return store_lock(hands->sale, (enum lock_kind)(argument % (LOCK_PG_ADVISORY_RAW + 1)),
                      hands->shard, &hands->lock);
}

static enum outcome do_lock_shared(struct hands *hands, unsigned argument) {
    return store_lock_shared(hands->sale, argument % 2 != 0 ? LOCK_RWLOCK : LOCK_REDIS_RW,
                             hands->shard, &hands->lock);
}

static enum outcome do_stamp(struct hands *hands, unsigned argument) {
    hands->stamp = store_stamp(hands->sale, hands->shard);
    return hands->stamp != 0 ? OUTCOME_OK : OUTCOME_BUSY;
}

static enum outcome do_lock_stamped(struct hands *hands, unsigned argument) {
    return store_lock_stamped(hands->sale, hands->shard, hands->stamp, &hands->lock);
}

static enum outcome do_unlock(struct hands *hands, unsigned argument) {
    store_unlock(hands->sale, hands->lock, argument % 4 == 0 ? OUTCOME_UNKNOWN : hands->last);
    return hands->last;
}

static const char *key_of(unsigned argument) {
    return argument % 2 != 0 ? "a" : "b";
}

static enum outcome do_set(struct hands *hands, unsigned argument) {
    bool was_set;
    const enum outcome outcome = store_kv_set_absent(hands->sale, key_of(argument), hands->token,
                                                     argument % 3 * 50, &was_set);

    return outcome == OUTCOME_OK && !was_set ? OUTCOME_CONFLICT : outcome;
}

static enum outcome do_get(struct hands *hands, unsigned argument) {
    char value[KV_TEXT];
    const enum outcome outcome = store_kv_get(hands->sale, key_of(argument), value);

    return outcome == OUTCOME_OK && strcmp(value, hands->token) != 0 ? OUTCOME_CONFLICT : outcome;
}

static enum outcome do_expire(struct hands *hands, unsigned argument) {
    return store_kv_expire(hands->sale, key_of(argument), argument % 3 * 50);
}

static enum outcome do_delete(struct hands *hands, unsigned argument) {
    return argument % 4 < 2 ? store_kv_delete(hands->sale, key_of(argument))
                            : store_kv_delete_if_equal(hands->sale, key_of(argument), hands->token);
}

static enum outcome do_open(struct hands *hands, unsigned argument) {
    return store_open_data_set(hands->sale, &hands->set);
}

static enum outcome do_hand_out(struct hands *hands, unsigned argument) {
    return store_hand_out(hands->sale, &hands->set, &hands->row);
}

static enum outcome do_load(struct hands *hands, unsigned argument) {
    return store_load_row(hands->sale, &hands->set, &hands->row);
}

static enum outcome do_take_loaded(struct hands *hands, unsigned argument) {
    struct loaded_unit taken;
    const enum outcome outcome = store_take_loaded(hands->sale, &taken);

    if (outcome != OUTCOME_OK)
        return outcome;
    if (taken.seen.available > 0)
        hands->row = taken.seen;
    return taken.seen.available == 0 || (argument % 2 != 0 && taken.is_half_sold) ? OUTCOME_CONFLICT
                                                                                  : OUTCOME_OK;
}

static enum outcome do_write_pending(struct hands *hands, unsigned argument) {
    return store_write_pending(hands->sale, &hands->row, argument % 2 != 0);
}

static enum outcome do_deal(struct hands *hands, unsigned argument) {
    hands->shard = store_deal(hands->sale);
    return OUTCOME_OK;
}

static enum outcome do_pause(struct hands *hands, unsigned argument) {
    return store_pause(hands->sale);
}

static enum outcome do_work(struct hands *hands, unsigned argument) {
    if (argument % 2 != 0)
        return store_work_for(hands->sale, 1 + argument % 3) ? OUTCOME_CONFLICT : hands->last;
    store_work(hands->sale);
    return hands->last;
}

static enum outcome do_script(struct hands *hands, unsigned argument) {
    const int server = (int)(argument % 3);
    struct kv_call count = {KV_COUNT, .key = "number"};
    struct kv_call set = {KV_SET_ABSENT, .key = key_of(argument), .value = hands->token,
                          .ttl_ms = 50,  .then = &count,          .server = server};
    struct kv_call is = {KV_IS, .key = key_of(argument), .value = hands->token, .then = &set,
                         .server = server};
    struct kv_call delete = {KV_DELETE_IF_EQUAL, .key = key_of(argument), .value = hands->token,
                             .then = &set, .server = server};
    struct kv_call *const scripts[] = {&set, &is, &delete};
    const enum outcome outcome = store_kv(hands->sale, scripts[argument / 3 % 3]);

    return outcome == OUTCOME_OK && !scripts[argument / 3 % 3]->is_yes ? OUTCOME_CONFLICT : outcome;
}

/* Operations that sell occur more often. */
static const struct operation {
    const char *name;
    enum outcome (*run)(struct hands *hands, unsigned argument);
} operations[] = {{"read", do_read},
                  {"read", do_read},
                  {"write", do_write},
                  {"write", do_write},
                  {"take", do_take},
                  {"take", do_take},
                  {"returned", do_returned},
                  {"find", do_find},
                  {"begin", do_begin},
                  {"rfu", do_read_for_update},
                  {"end", do_end},
                  {"lock", do_lock},
                  {"lock", do_lock},
                  {"shared", do_lock_shared},
                  {"stamp", do_stamp},
                  {"stamped", do_lock_stamped},
                  {"unlock", do_unlock},
                  {"set", do_set},
                  {"get", do_get},
                  {"expire", do_expire},
                  {"delete", do_delete},
                  {"script", do_script},
                  {"deal", do_deal},
                  {"open", do_open},
                  {"hand out", do_hand_out},
                  {"load", do_load},
                  {"take loaded", do_take_loaded},
                  {"bring", do_write_pending},
                  {"pause", do_pause},
                  {"work", do_work},
                  {"answer", NULL}};
#define OPERATIONS (sizeof operations / sizeof *operations)

static struct {
    const struct operation *operation;
    unsigned argument, otherwise; /* the place to go on if it fails */
} program[STEPS];
static unsigned program_count;

static enum outcome sell(struct sale *sale) {
    struct hands hands = {.sale = sale, .row = {.available = 1, .unit = 1}};
    unsigned at = 0;

    store_random_token(sale, hands.token);
    for (int made = 0; made < TRIES * STEPS && at < program_count; made++) {
        if (program[at].operation->run == NULL)
            break;
        hands.last = program[at].operation->run(&hands, program[at].argument);
        at =
            hands.last == OUTCOME_OK || hands.last == OUTCOME_SOLD ? at + 1 : program[at].otherwise;
    }
    store_unlock(sale, hands.lock, hands.last);
    return hands.last;
}

static const struct strategy strategy = {.name = "random", .sell = sell};

static void make_program(void) {
    program_count = 2 + below(STEPS - 2);
    for (unsigned i = 0; i < program_count; i++) {
        program[i].operation = &operations[below(OPERATIONS)];
        program[i].argument = below(64);
        program[i].otherwise = below(program_count + 1);
    }
}

/* ---- a world and its judgement */

static struct model_setup make_setup(void) {
    const unsigned faults[] = {0, below(1U << FAULT_COUNT), 1U << below(FAULT_COUNT)};
    const int64_t waits[] = {5000, 100, 10};

    return (struct model_setup){.strategy = &strategy,
                                .options = {.work_ms = (int)below(3) * 20,
                                            .wait_ms = waits[below(3)],
                                            .ttl_ms = below(2) != 0 ? 10000 : 100,
                                            .shards = 1 + (int)below(2),
                                            .deal = below(3) == 0 ? DEAL_RANDOM : DEAL_EVEN,
                                            .borrows = true,
                                            .returns_to_count = below(4) == 0,
                                            .replicas = 1 + (int)below(2)},
                                .orders = 1 + (int)below(3),
                                .instances = 1 + (int)below(3),
                                .stock = (int)below(4),
                                .others = below(4) == 0 ? 1 + (int)below(2) : 0,
                                .faults = faults[below(3)]};
}

/* A hash over all that a judge can see makes some ends wrong and others right. It also gives each
 * end one of 64 kinds, for a real judge names anomalies. `data` collects the kinds. */
static unsigned judge(void *data, const struct model_world *world) {
    const struct model_state *state = &world->state;
    uint64_t hash = state->gave_back;

    for (int i = 0; i <= world->setup.orders; i++) {
        const struct model_order *order = &state->orders[i];
        const struct model_sold *sold = &state->sold[i];

        hash = hash * 31 + order->outcome * 7U + order->state * 3U + order->came_after * 5U +
               (unsigned)order->unit;
        hash = hash * 31 + (sold->is_there ? 1U + (unsigned)sold->unit * 3U + sold->number * 5U +
                                                 (unsigned)sold->remaining
                                           : 0);
    }
    for (int i = 0; i < world->setup.options.shards; i++)
        hash = hash * 31 + (unsigned)state->rows[i].available;
    hash *= UINT64_C(0x9e3779b97f4a7c15);
    *(uint64_t *)data |= UINT64_C(1) << (hash >> 58);
    return hash >> 62 == 0;
}

static uint64_t most = MOST;

static bool is_enough(void *data, const struct exploration *so_far) {
    return so_far->runs >= most;
}

static struct exploration explore_it(const struct model_setup *setup, int preemptions,
                                     bool is_naive, uint64_t *kinds) {
    struct exploration it = {.setup = *setup,
                             .preemptions = preemptions,
                             .is_naive = is_naive,
                             .judge = judge,
                             .is_stopped = is_enough,
                             .data = kinds};

    assert_int_equal(explore(&it), 0);
    return it;
}

static void print_world(const struct model_setup *setup, int preemptions) {
    print_message(
        "orders %d others %d instances %d stock %d shards %d faults %x work %d wait %d ttl %d "
        "deal %d return %d replicas %d preemptions %d\n",
        setup->orders, setup->others, setup->instances, setup->stock, setup->options.shards,
        setup->faults, (int)setup->options.work_ms, (int)setup->options.wait_ms,
        (int)setup->options.ttl_ms, (int)setup->options.deal, setup->options.returns_to_count,
        setup->options.replicas, preemptions);
    for (unsigned i = 0; i < program_count; i++)
        print_message("%2u %s %u, or %u\n", i, program[i].operation->name, program[i].argument,
                      program[i].otherwise);
}

/* The number of schedules; 0: too many to run each. `seed` is only for the message. */
static uint64_t compare(const struct model_setup *setup, int preemptions, uint64_t seed) {
    uint64_t kinds = 0, known_kinds = 0;
    const struct exploration naive = explore_it(setup, preemptions, true, &kinds);
    struct exploration known;

    if (naive.end == EXPLORE_STOPPED)
        return 0;
    known = explore_it(setup, preemptions, false, &known_kinds);
    if (known.end != naive.end ||
        (known.end == EXPLORE_COMPLETE &&
         (known.schedules != naive.schedules || known.violated != naive.violated ||
          known.shortest.count != naive.shortest.count || known_kinds != kinds))) {
        print_world(setup, preemptions);
        fail_msg("seed %" PRIu64 ": %" PRIu64 " schedules, %" PRIu64 " violated, %zu moves; "
                 "with the table %" PRIu64 ", %" PRIu64 ", %zu; ends %d %d; kinds %" PRIx64
                 " %" PRIx64,
                 seed, naive.schedules, naive.violated, naive.shortest.count, known.schedules,
                 known.violated, known.shortest.count, (int)naive.end, (int)known.end, kinds,
                 known_kinds);
    }
    return naive.schedules;
}

static uint64_t try_one(uint64_t seed) {
    struct model_setup setup;

    random_state = seed * UINT64_C(0x9e3779b97f4a7c15) | 1;
    for (int i = 0; i < 8; i++)
        (void)below(2);
    make_program();
    setup = make_setup();
    return compare(&setup, (int)below(4), seed);
}

static uint64_t number_of(const char *name, uint64_t otherwise) {
    const char *text = getenv(name);

    return text != NULL ? strtoull(text, NULL, 10) : otherwise;
}

static void test_the_table_leaves_nothing_out_of_random_strategies(void **state) {
    const uint64_t first = number_of("LAB_RANDOM_SEED", SEED);
    const uint64_t count = number_of("LAB_RANDOM_COUNT", COUNT);
    uint64_t schedules = 0, compared = 0;

    for (uint64_t i = 0; compared < count; i++) {
        const uint64_t more = try_one(first + i);

        schedules += more;
        compared += more > 1;
    }
    print_message("%" PRIu64 " compared, %" PRIu64 " schedules\n", compared, schedules);
}

/* ---- errors that this test has found */

static void add_step(const char *name, unsigned argument, unsigned otherwise) {
    size_t i = 0;

    while (strcmp(operations[i].name, name) != 0)
        i++;
    program[program_count].operation = &operations[i];
    program[program_count].argument = argument;
    program[program_count++].otherwise = otherwise;
}

static struct model_setup two_orders(unsigned faults) {
    program_count = 0;
    return (struct model_setup){
        .strategy = &strategy,
        .options = {.work_ms = 40, .wait_ms = 100, .ttl_ms = 100, .shards = 1, .replicas = 1},
        .orders = 2,
        .instances = 2,
        .stock = 2,
        .faults = faults};
}

static void test_to_work_twice_is_not_to_work_once(void **state) {
    const struct model_setup setup = two_orders(0);

    add_step("work", 0, 3);
    add_step("work", 0, 3);
    add_step("take", 0, 3);
    assert_true(compare(&setup, 2, 0) > 1);
}

/* A key expires while all orders wait to try again. It also wakes the order that moved last. */
static void test_time_wakes_the_order_that_moved_last(void **state) {
    const struct model_setup setup = two_orders(1U << FAULT_CRASH);

    add_step("set", 28, 1);
    add_step("work", 0, 2);
    add_step("pause", 0, 4);
    add_step("write", 0, 2);
    assert_true(compare(&setup, 3, 0) > 1);
}

/* Any instance brings a note in the keys after 2 s. */
static void test_a_unit_that_was_left_behind_is_brought(void **state) {
    const struct model_setup setup = two_orders(1U << FAULT_CRASH);

    most = 100000;
    add_step("open", 0, 5);
    add_step("hand out", 0, 3);
    add_step("load", 0, 5);
    add_step("take loaded", 0, 5);
    add_step("bring", 0, 5);
    assert_true(compare(&setup, 2, 0) > 1);
}

static int tear_down(void **state) {
    fiber_cleanup();
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_table_leaves_nothing_out_of_random_strategies),
        cmocka_unit_test(test_to_work_twice_is_not_to_work_once),
        cmocka_unit_test(test_time_wakes_the_order_that_moved_last),
        cmocka_unit_test(test_a_unit_that_was_left_behind_is_brought),
    };

    return cmocka_run_group_tests(tests, NULL, tear_down);
}
