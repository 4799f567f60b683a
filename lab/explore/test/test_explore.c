/* Compares the search with a brute one that tries everything, and runs schedules again. */
#include "fiber.h"
#include "play.h"
#include "test.h"
#include "trial.h"

#include <stdio.h>
#include <string.h>

static unsigned find_twins(void *data, const struct model_world *world) {
    return has_twins(world);
}

static struct exploration explore_spec(const char *text, int orders, int preemptions,
                                       unsigned faults, bool is_naive) {
    struct exploration it = {.setup = setup_of(text, orders, 2),
                             .preemptions = preemptions,
                             .is_naive = is_naive,
                             .judge = find_twins};

    it.setup.faults = faults;
    assert_int_equal(explore(&it), 0);
    assert_int_equal(it.end, EXPLORE_COMPLETE);
    return it;
}

static const char *const specs[] = {
    "none",   "none,work=2ms",   "pg-version", "pg-value",  "pg-row",           "pg-nowait",
    "atomic", "pg-serializable", "mutex",      "redis-ttl", "sharded,shards=2", "batched"};
#define SPECS (sizeof specs / sizeof *specs)

static void assert_same(const char *spec, int orders, int preemptions, unsigned faults) {
    const struct exploration naive = explore_spec(spec, orders, preemptions, faults, true);
    const struct exploration known = explore_spec(spec, orders, preemptions, faults, false);

    if (naive.schedules != known.schedules || naive.violated != known.violated ||
        naive.shortest.count != known.shortest.count)
        fail_msg("%s, %d orders, %d preemptions, faults %x", spec, orders, preemptions, faults);
    assert_int_equal(naive.runs, naive.schedules);
    assert_true(known.runs <= known.schedules);
}

static void test_the_table_leaves_nothing_out(void **state) {
    for (size_t i = 0; i < SPECS; i++)
        for (int preemptions = 0; preemptions <= 3; preemptions++)
            for (int orders = 1; orders <= 3; orders++)
                assert_same(specs[i], orders, preemptions, 0);
}

static void test_the_table_leaves_no_fault_out(void **state) {
    for (size_t i = 0; i < SPECS; i++)
        for (int fault = 0; fault < FAULT_COUNT; fault++)
            for (int other = 0; other <= fault; other++)
                assert_same(specs[i], 2, 1, 1U << fault | 1U << other);
}

/* ---- the brute search, which remembers no state */

struct brute {
    struct model_world world;
    struct model_move moves[SCHEDULE_MOVES];
    uint64_t schedules, violated;
    unsigned cost, count; /* of the nearest violation */
};

/* The order that moved last, if it could go on. */
static int who_could_go_on(const struct model_world *world, int last) {
    const struct model_order *order = &world->state.orders[last < 0 ? 0 : last];

    return last >= 0 && order->state == ORDER_RUNS && order->waits == WAITS_NOT &&
                   model_is_ready(world, last)
               ? last
               : -1;
}

static size_t make_again(struct brute *brute, size_t count, struct model_move *moves) {
    play_begin(&brute->world);
    for (size_t i = 0; i < count; i++) {
        (void)model_moves(&brute->world, moves);
        assert_int_equal(play_move(&brute->world, brute->moves[i]), 0);
    }
    return model_moves(&brute->world, moves);
}

static void try_all(struct brute *brute, size_t depth, int last, unsigned cost, unsigned most) {
    struct model_move moves[MODEL_MOVES];
    const size_t count = make_again(brute, depth, moves);
    const int could_go_on = who_could_go_on(&brute->world, last);

    if (count == 0) {
        const bool is_violated = has_twins(&brute->world);

        brute->schedules++;
        brute->violated += is_violated;
        if (is_violated && (cost < brute->cost || (cost == brute->cost && depth < brute->count))) {
            brute->cost = cost;
            brute->count = (unsigned)depth;
        }
    }
    for (size_t i = 0; i < count; i++) {
        const unsigned more = could_go_on >= 0 && moves[i].who != could_go_on;

        brute->moves[depth] = moves[i];
        if (cost + more <= most)
            try_all(brute, depth + 1, moves[i].who, cost + more, most);
    }
}

static void assert_nearest(const char *spec, int orders, int preemptions) {
    static struct brute brute;
    const struct exploration known = explore_spec(spec, orders, preemptions, 0, false);

    brute = (struct brute){.cost = UINT32_MAX, .count = UINT32_MAX};
    brute.world.setup = known.setup;
    try_all(&brute, 0, -1, 0, (unsigned)preemptions);
    play_end(&brute.world);
    assert_int_equal(brute.schedules, known.schedules);
    assert_int_equal(brute.violated, known.violated);
    assert_int_equal(brute.violated > 0 ? brute.count : 0, known.shortest.count);
}

static void test_the_shortest_is_the_shortest_of_all(void **state) {
    for (size_t i = 0; i < SPECS; i++)
        for (int preemptions = 0; preemptions <= 2; preemptions++)
            assert_nearest(specs[i], 2, preemptions);
    assert_nearest("none", 3, 1);
    assert_nearest("none", 3, 3);
    assert_nearest("none,work=2ms", 3, 1);
    assert_nearest("pg-version", 3, 1);
}

static void test_a_bound_of_no_preemption_hides_a_flaw_that_needs_one(void **state) {
    assert_int_equal(explore_spec("none", 2, 0, 0, false).violated, 0);
    assert_true(explore_spec("none", 2, 1, 0, false).violated > 0);
}

/* ---- schedules that run again */

struct lines {
    size_t count, made;
    char text[64][80];
    int actor[64];
};

static void on_say(void *data, const struct model_world *world, struct model_move move, int actor,
                   const char *text) {
    struct lines *lines = data;

    assert_true(lines->count < 64);
    lines->actor[lines->count] = actor;
    (void)snprintf(lines->text[lines->count++], 80, "%s", text);
}

static void on_made(void *data, const struct model_world *world) {
    ((struct lines *)data)->made++;
}

static struct model_world world;

/* The last schedule that make() ran. */
static struct schedule schedule;
static struct lines lines;
static size_t at;

static enum replay_end make(const char *id) {
    struct replay replay = {.say = on_say, .made = on_made, .data = &lines};

    memset(&lines, 0, sizeof lines);
    assert_int_equal(schedule_read(&schedule, id), 0);
    return explore_replay(&world, &schedule, &replay, &at);
}

static void test_an_id_is_the_same_schedule_again(void **state) {
    char id[SCHEDULE_TEXT], again[SCHEDULE_TEXT];

    for (size_t i = 0; i < SPECS; i++) {
        struct exploration it = explore_spec(specs[i], 2, 3, 0, false);

        if (it.violated == 0)
            continue;
        world.setup = it.setup;
        schedule_write(&it.shortest, id);
        assert_int_equal(make(id), REPLAY_ENDED);
        schedule_write(&schedule, again);
        assert_string_equal(again, id);
        assert_int_equal(lines.made, schedule.count);
        assert_true(has_twins(&world));
    }
}

static void test_each_line_is_told_by_its_actor(void **state) {
    static const struct {
        int actor;
        const char *text;
    } expected[] = {{0, "reads the stock: 2 left"},
                    {1, "reads the stock: 2 left"},
                    {REPLAY_CLOCK, "2 ms pass"},
                    {0, "has worked"},
                    {1, "has worked"},
                    {0, "writes 1, and sells unit 2"},
                    {0, "is told: sold, unit 2 is yours"},
                    {1, "writes 1, and sells unit 2"},
                    {1, "is told: sold, unit 2 is yours"},
                    {2, "reads the stock: 1 left"}};

    world.setup = explore_spec("none,work=2ms", 2, 3, 0, false).setup;
    assert_int_equal(make("ABABAB"), REPLAY_ENDED);
    assert_int_equal(at, schedule.count);
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++) {
        assert_int_equal(lines.actor[i], expected[i].actor);
        assert_string_equal(lines.text[i], expected[i].text);
    }
}

static void test_an_id_may_end_early(void **state) {
    char id[SCHEDULE_TEXT];

    world.setup = explore_spec("none", 2, 3, 0, false).setup;
    assert_int_equal(make("B"), REPLAY_ENDED);
    schedule_write(&schedule, id);
    assert_int_equal(id[0], 'B');
    assert_int_equal(at, 6);
    assert_int_equal(schedule.count, 6);
}

static void test_an_id_of_other_options_is_refused(void **state) {
    world.setup = explore_spec("none", 2, 3, 0, false).setup;
    assert_int_equal(make("AAA"), REPLAY_IMPOSSIBLE);
    assert_int_equal(at, 2);
    assert_int_equal(make("C"), REPLAY_IMPOSSIBLE);
    assert_int_equal(at, 0);
    assert_int_equal(make("AABBCCA"), REPLAY_IMPOSSIBLE);
    assert_int_equal(make("p1"), REPLAY_IMPOSSIBLE);
}

/* ---- ids */

static void test_a_schedule_has_a_text(void **state) {
    static const char *const texts[] = {"", "A", "ABCH", "abch", "p0r0k1x0o0l2w1u0", "Ap1ABr1a"};
    char long_one[SCHEDULE_MOVES + 2];
    char text[SCHEDULE_TEXT];

    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        assert_int_equal(schedule_read(&schedule, texts[i]), 0);
        schedule_write(&schedule, text);
        assert_string_equal(text, texts[i]);
    }
    memset(long_one, 'A', sizeof long_one);
    long_one[SCHEDULE_MOVES] = '\0';
    assert_int_equal(schedule_read(&schedule, long_one), 0);
    assert_int_equal(schedule.count, SCHEDULE_MOVES);
}

static void test_a_text_that_is_no_id_is_refused(void **state) {
    static const char *const texts[] = {
        "?", "I", "i", "A B", "p", "px", "p:", "AA-", "g0", "1", "\n", "\xc3\xa4", "z9", "r"};
    char long_one[SCHEDULE_MOVES + 2];

    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        assert_int_equal(schedule_read(&schedule, texts[i]), -1);
    memset(long_one, 'A', sizeof long_one);
    long_one[SCHEDULE_MOVES + 1] = '\0';
    assert_int_equal(schedule_read(&schedule, long_one), -1);
}

/* ---- ends */

static enum outcome never_ends(struct sale *sale) {
    struct stock_row row;

    while (store_read_stock(sale, 0, &row) == OUTCOME_OK)
        ;
    return OUTCOME_BUSY;
}

static void test_an_order_that_does_not_end_is_found(void **state) {
    static const struct strategy endless = {.name = "endless", .sell = never_ends};
    struct exploration it = {.judge = find_twins,
                             .setup = {.strategy = &endless,
                                       .options = {.shards = 1, .wait_ms = 10},
                                       .orders = 1,
                                       .instances = 1,
                                       .stock = 1}};

    assert_int_equal(explore(&it), 0);
    assert_int_equal(it.end, EXPLORE_ENDLESS);
    assert_int_equal(it.shortest.count, EXPLORE_MOVES);
    world.setup = it.setup;
    assert_int_equal(explore_replay(&world, &it.shortest, NULL, &at), REPLAY_ENDLESS);
    assert_int_equal(explore_steps_alone(&it.setup), EXPLORE_MOVES);
}

static bool stop(void *data, const struct exploration *so_far) {
    *(uint64_t *)data = so_far->schedules;
    return true;
}

static void test_a_stopped_search_gives_its_results_so_far(void **state) {
    uint64_t seen = 0;
    struct exploration it = explore_spec("none,work=2ms", 4, 3, 0, false);
    const uint64_t all = it.schedules;

    it.is_naive = true;
    it.is_stopped = stop;
    it.data = &seen;
    assert_int_equal(explore(&it), 0);
    assert_int_equal(it.end, EXPLORE_STOPPED);
    assert_true(it.schedules >= seen && it.schedules <= seen + 1);
    assert_in_range(seen, 1000, all - 1);
    assert_true(it.violated > 0);
}

/* After each way to begin, the schedules that follow add up to all schedules. */
static void test_a_search_may_begin_after_some_moves(void **state) {
    struct exploration it = explore_spec("none", 3, 3, 0, false);
    const uint64_t all = it.schedules;
    struct schedule from = {0};
    struct model_move next[MODEL_MOVES];
    uint64_t sum = 0;
    size_t count;

    it.from = &from;
    world.setup = it.setup;
    assert_int_equal(explore_follow(&world, &from, NULL, 0, next, &count), REPLAY_ENDED);
    assert_int_equal(count, 2);
    from.count = 1;
    for (size_t i = 0; i < count; i++) {
        from.moves[0] = next[i];
        assert_int_equal(explore(&it), 0);
        assert_int_equal(it.shortest.moves[0].who, next[i].who);
        sum += it.schedules;
    }
    assert_int_equal(sum, all);
    from.moves[0].who = 2;
    assert_int_equal(explore_follow(&world, &from, NULL, 0, next, &count), REPLAY_IMPOSSIBLE);
}

static void test_steps_alone_are_counted(void **state) {
    const struct exploration it = explore_spec("none", 1, 0, 0, false);

    assert_int_equal(explore_steps_alone(&it.setup), 2);
}

static int tear_down(void **state) {
    fiber_cleanup();
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_table_leaves_nothing_out),
        cmocka_unit_test(test_the_table_leaves_no_fault_out),
        cmocka_unit_test(test_the_shortest_is_the_shortest_of_all),
        cmocka_unit_test(test_a_bound_of_no_preemption_hides_a_flaw_that_needs_one),
        cmocka_unit_test(test_an_id_is_the_same_schedule_again),
        cmocka_unit_test(test_each_line_is_told_by_its_actor),
        cmocka_unit_test(test_an_id_may_end_early),
        cmocka_unit_test(test_an_id_of_other_options_is_refused),
        cmocka_unit_test(test_a_schedule_has_a_text),
        cmocka_unit_test(test_a_text_that_is_no_id_is_refused),
        cmocka_unit_test(test_an_order_that_does_not_end_is_found),
        cmocka_unit_test(test_a_stopped_search_gives_its_results_so_far),
        cmocka_unit_test(test_a_search_may_begin_after_some_moves),
        cmocka_unit_test(test_steps_alone_are_counted),
    };

    return cmocka_run_group_tests(tests, NULL, tear_down);
}
