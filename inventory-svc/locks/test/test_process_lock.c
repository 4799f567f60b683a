/* Locks among fibers: the winner, the order of winning, and the moment of giving up. */
#include "process_lock.h"
#include "test.h"

#include "clock.h"
#include "fiber.h"
#include "wait.h"

#define MANY    20
#define FOREVER (clock_now_ms() + 60000)

static uv_loop_t loop;

/* A fiber that wants the lock "a", and keeps it until the test lets it go on. */
struct user {
    char name;
    enum process_lock_mode mode;
    int64_t deadline_ms;

    struct process_lock *lock;
    int err;
    unsigned attempts;
    bool has_answer;
    struct fiber_event go;
};

static char order[64]; /* the names in the order of winning */

static int set_up(void **state) {
    order[0] = '\0';
    return uv_loop_init(&loop);
}

static int tear_down(void **state) {
    (void)uv_run(&loop, UV_RUN_DEFAULT);
    assert_true(process_lock_is_free("a"));
    assert_int_equal(uv_loop_close(&loop), 0);
    fiber_cleanup();
    return 0;
}

static void use(void *arg) {
    struct user *user = arg;

    user->err = process_lock_acquire(&loop, "a", user->mode, user->deadline_ms, &user->lock,
                                     &user->attempts);
    user->has_answer = true;
    assert_int_equal(user->err == 0, user->lock != NULL);
    if (user->err != 0)
        return;
    strncat(order, &user->name, 1);
    fiber_event_wait(&user->go);
    process_lock_release(user->lock);
    user->lock = NULL;
}

static void begin(struct user *user, struct user wanted) {
    *user = wanted;
    user->go = (struct fiber_event)FIBER_EVENT_INIT;
    if (user->deadline_ms == 0)
        user->deadline_ms = FOREVER;
    assert_int_equal(fiber_start(use, user), 0);
}

static void end(struct user *user) {
    WAIT_FOR(&loop, user->has_answer);
    fiber_event_set(&user->go);
}

static void expect_late(const struct user *user) {
    WAIT_FOR(&loop, user->has_answer);
    assert_int_equal(user->err, UV_ETIMEDOUT);
}

static void test_who_comes_first_is_served_first(void **state) {
    struct user users[4];

    for (size_t i = 0; i < 4; i++)
        begin(&users[i], (struct user){.name = "abcd"[i]});
    assert_string_equal(order, "a");
    assert_false(process_lock_is_free("a"));
    for (size_t i = 0; i < 4; i++)
        end(&users[i]);
    assert_string_equal(order, "abcd");
}

static void test_who_shares_does_so_until_somebody_wants_it_alone(void **state) {
    static const enum process_lock_mode alone = PROCESS_LOCK_EXCLUSIVE,
                                        shared = PROCESS_LOCK_SHARED;
    struct user users[6];
    const enum process_lock_mode modes[] = {shared, shared, alone, shared, shared, alone};

    for (size_t i = 0; i < 6; i++)
        begin(&users[i], (struct user){.name = "abCdeF"[i], .mode = modes[i]});
    assert_string_equal(order, "ab");
    end(&users[1]);
    assert_false(users[2].has_answer);
    end(&users[0]);
    WAIT_FOR(&loop, users[2].has_answer);
    assert_false(users[3].has_answer);
    end(&users[2]);
    WAIT_FOR(&loop, users[3].has_answer && users[4].has_answer);
    assert_false(users[5].has_answer);
    end(&users[4]);
    end(&users[3]);
    end(&users[5]);
    assert_memory_equal(order, "abC", 3);
    assert_int_equal(order[5], 'F');
}

static void test_it_is_not_reentrant(void **state) {
    struct user me, again;

    begin(&me, (struct user){.name = 'a'});
    begin(&again, (struct user){.name = 'b', .deadline_ms = clock_now_ms() + 5});
    expect_late(&again);
    end(&me);
}

static void test_who_shares_it_waits_for_itself_when_it_wants_it_alone(void **state) {
    struct user reader, writer;

    begin(&reader, (struct user){.name = 'a', .mode = PROCESS_LOCK_SHARED});
    begin(&writer, (struct user){.name = 'b', .deadline_ms = clock_now_ms() + 5});
    expect_late(&writer);
    end(&reader);
}

static void test_who_gives_up_lets_those_behind_it_on(void **state) {
    struct user reader, writer, behind;

    begin(&reader, (struct user){.name = 'a', .mode = PROCESS_LOCK_SHARED});
    begin(&writer, (struct user){.name = 'b', .deadline_ms = clock_now_ms() + 5});
    begin(&behind, (struct user){.name = 'c', .mode = PROCESS_LOCK_SHARED});
    assert_false(behind.has_answer);
    WAIT_FOR(&loop, behind.has_answer);
    assert_int_equal(writer.err, UV_ETIMEDOUT);
    assert_string_equal(order, "ac");
    end(&reader);
    end(&behind);
}

static int try(const char *name, struct process_lock **lock) {
    return process_lock_acquire(&loop, name, PROCESS_LOCK_AT_ONCE, 0, lock, NULL);
}

static void test_trying_takes_it_only_when_nobody_has_it(void **state) {
    struct process_lock *lock, *other;

    assert_int_equal(try("a", &lock), 0);
    assert_int_equal(try("a", &other), UV_EBUSY);
    assert_null(other);
    assert_int_equal(try("b", &other), 0);
    process_lock_release(other);
    process_lock_release(lock);
}

/* ---- Spinning */

static uv_timer_t ticker;
static unsigned ticks;

static void on_tick(uv_timer_t *timer) {
    ticks++;
}

static void test_who_spins_leaves_the_loop_to_others(void **state) {
    struct user holder, spinner;

    ticks = 0;
    assert_int_equal(uv_timer_init(&loop, &ticker), 0);
    assert_int_equal(uv_timer_start(&ticker, on_tick, 1, 1), 0);
    begin(&holder, (struct user){.name = 'a', .mode = PROCESS_LOCK_SPIN});
    begin(&spinner, (struct user){.name = 'b', .mode = PROCESS_LOCK_SPIN});
    WAIT_FOR(&loop, ticks >= 3);
    assert_false(spinner.has_answer);
    end(&holder);
    end(&spinner);
    assert_int_equal(holder.attempts, 1);
    assert_true(spinner.attempts > 3);
    uv_close((uv_handle_t *)&ticker, NULL);
}

/* The newcomer runs before the spinning fibers have their turn. */
static void test_a_newcomer_overtakes_a_spinning_fiber(void **state) {
    struct user holder, spinner, newcomer;

    begin(&holder, (struct user){.name = 'a', .mode = PROCESS_LOCK_SPIN});
    begin(&spinner, (struct user){.name = 'b', .mode = PROCESS_LOCK_SPIN});
    fiber_event_set(&holder.go);
    begin(&newcomer, (struct user){.name = 'c', .mode = PROCESS_LOCK_SPIN});
    assert_true(newcomer.has_answer);
    end(&newcomer);
    end(&spinner);
    assert_string_equal(order, "acb");
}

static void test_who_spins_gives_up_in_time(void **state) {
    struct user holder, spinner;

    begin(&holder, (struct user){.name = 'a', .mode = PROCESS_LOCK_SPIN});
    begin(&spinner,
          (struct user){.name = 'b', .mode = PROCESS_LOCK_SPIN, .deadline_ms = clock_now_ms() + 5});
    expect_late(&spinner);
    assert_true(clock_now_ms() >= spinner.deadline_ms);
    end(&holder);
}

static void test_many_spinning_fibers_all_get_it(void **state) {
    struct user users[MANY];

    for (size_t i = 0; i < MANY; i++)
        begin(&users[i], (struct user){.name = 'x', .mode = PROCESS_LOCK_SPIN});
    for (size_t won = 1; won <= MANY; won++) {
        WAIT_FOR(&loop, strlen(order) == won);
        for (size_t i = 0; i < MANY; i++)
            if (users[i].lock != NULL)
                fiber_event_set(&users[i].go);
    }
    assert_int_equal(strlen(order), MANY);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_who_comes_first_is_served_first),
        TEST(test_who_shares_does_so_until_somebody_wants_it_alone),
        TEST(test_it_is_not_reentrant),
        TEST(test_who_shares_it_waits_for_itself_when_it_wants_it_alone),
        TEST(test_who_gives_up_lets_those_behind_it_on),
        TEST(test_trying_takes_it_only_when_nobody_has_it),
        TEST(test_who_spins_leaves_the_loop_to_others),
        TEST(test_a_newcomer_overtakes_a_spinning_fiber),
        TEST(test_who_spins_gives_up_in_time),
        TEST(test_many_spinning_fibers_all_get_it),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
