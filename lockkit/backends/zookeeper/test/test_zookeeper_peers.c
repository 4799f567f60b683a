/* Against the libraries with these layouts, each in a process of its own (test/wire/), on the same
 * server, in both directions. */
#include "peer.h"
#include "zookeeper_env.h"

#include <signal.h>

/* The jar names the jars that it needs. */
#define CLASSPATH "/usr/share/java/curator-recipes.jar:/usr/share/java/slf4j-nop.jar"

/* One of their locks, and our view of it. */
static struct library {
    const char *program[5], *kind, *layout, *label;
    enum lk_mode mode;
} kazoo = {{"/usr/bin/python3", "test/wire/kazoo_peer.py"},
           "Lock",
           "kazoo",
           "a kazoo",
           LK_EXCLUSIVE},
  writer = {{"/usr/bin/python3", "test/wire/kazoo_peer.py"},
            "WriteLock",
            "kazoo",
            "a kazoo",
            LK_SHARED},
  reader = {{"/usr/bin/python3", "test/wire/kazoo_peer.py"},
            "ReadLock",
            "kazoo",
            "a kazoo",
            LK_EXCLUSIVE},
  curator = {{"java", "-cp", CLASSPATH, "test/wire/CuratorPeer.java"},
             "",
             "curator",
             NULL,
             LK_EXCLUSIVE},
  curator_beside_readers = {
      {"java", "-cp", CLASSPATH, "test/wire/CuratorPeer.java"}, "", "curator", NULL, LK_SHARED};

static struct {
    const struct library *library;
    struct env env;
    struct peer peer;
} t;

static void tell_take(uint32_t wait_ms) {
    peer_tell(&t.peer, "take /test/%s %u\n", t.env.fixture.name, wait_ms);
}

static void tell_give(void) {
    peer_tell(&t.peer, "give\n");
}

/* the running peer is from the earlier tests */
static void end_peer(void) {
    if (t.peer.pid > 0)
        peer_end(&t.peer);
}

/* A peer serves all tests in a row that use it: some peers take seconds to start. */
static void start_peer(const struct library *library) {
    const char *arguments[8] = {NULL};
    int count = 0;

    t.peer.loop = &t.env.fixture.loop;
    if (t.library == library)
        return;
    end_peer();
    t.library = library;
    for (; library->program[count] != NULL; count++)
        arguments[count] = library->program[count];
    arguments[count++] = zookeeper.url + strlen("zookeeper://");
    arguments[count] = library->kind;
    peer_start(&t.peer, &t.env.fixture.loop, arguments);
}

static int set_up(void **state) {
    const struct library *library = *state;
    char query[32];

    fixture_init(&t.env.fixture);
    (void)snprintf(query, sizeof query, "?layout=%s", library->layout);
    t.env.fixture.client = open_zookeeper(&t.env, zookeeper.url, query);
    t.env.fixture.lock = open_lock_as(&t.env.fixture, t.env.fixture.client,
                                      (struct lk_lock_options){.mode = library->mode});
    start_peer(library);
    return 0;
}

/* After each test nobody holds or waits. */
static int tear_down(void **state) {
    await_crowd(&t.env.fixture, 0, 0);
    fixture_end(&t.env.fixture);
    return 0;
}

static void test_what_they_hold_is_ours_when_they_give_it(void **state) {
    struct inspected seen;
    struct caller caller;

    tell_take(0);
    peer_assert_answer(&t.peer, "held");
    assert_int_equal(take(&t.env.fixture, &caller, t.env.fixture.lock, LK_TRY), LK_BUSY);
    seen = inspect_lock(&t.env.fixture, t.env.fixture.lock);
    assert_int_equal(seen.status, LK_OK);
    assert_int_equal(seen.holders, 1);
    assert_true(strlen(seen.owner) >= 32);
    assert_true(seen.fence > 0);
    if (t.library->label != NULL)
        assert_string_equal(seen.label, t.library->label);
    start(&caller, t.env.fixture.lock, LK_FOREVER);
    await_crowd(&t.env.fixture, 1, 1);
    tell_give();
    peer_assert_answer(&t.peer, "given");
    await_and_give(&t.env.fixture, &caller);
}

static void test_what_we_hold_is_theirs_when_we_give_it(void **state) {
    struct caller caller;

    obtain(&t.env.fixture, &caller, t.env.fixture.lock, LK_FOREVER);
    tell_take(0);
    peer_assert_answer(&t.peer, "busy");
    tell_take(15000);
    await_crowd(&t.env.fixture, 1, 1);
    assert_int_equal(lk_lease_check(caller.lease, 100), LK_OK);
    assert_int_equal(give(&t.env.fixture, &caller), LK_OK);
    peer_assert_answer(&t.peer, "held");
    assert_int_equal(take(&t.env.fixture, &caller, t.env.fixture.lock, LK_TRY), LK_BUSY);
    tell_give();
    peer_assert_answer(&t.peer, "given");
}

/* First come, first served, with one of them between two of us. */
static void test_line_is_one_for_all(void **state) {
    struct caller first, second;

    obtain(&t.env.fixture, &first, t.env.fixture.lock, LK_FOREVER);
    tell_take(15000);
    await_crowd(&t.env.fixture, 1, 1);
    start(&second, t.env.fixture.lock, LK_FOREVER);
    await_crowd(&t.env.fixture, 1, 2);
    assert_int_equal(give(&t.env.fixture, &first), LK_OK);
    peer_assert_answer(&t.peer, "held");
    assert_int_equal(second.calls, 0);
    tell_give();
    peer_assert_answer(&t.peer, "given");
    await_and_give(&t.env.fixture, &second);
}

/* They die: their lock goes with their session, like ours. */
static void test_lock_of_one_that_dies_is_ours(void **state) {
    struct caller caller;

    tell_take(0);
    peer_assert_answer(&t.peer, "held");
    start(&caller, t.env.fixture.lock, LK_FOREVER);
    await_crowd(&t.env.fixture, 1, 1);
    assert_int_equal(kill(t.peer.pid, SIGKILL), 0);
    await_and_give(&t.env.fixture, &caller);
}

static int down(void **state) {
    end_peer();
    return zookeeper_down(state);
}

#define PEER_TEST(test, library)                                                                   \
    cmocka_unit_test_prestate_setup_teardown(test, set_up, tear_down, &(library))
#define BOTH_WAYS(library)                                                                         \
    PEER_TEST(test_what_they_hold_is_ours_when_they_give_it, library),                             \
        PEER_TEST(test_what_we_hold_is_theirs_when_we_give_it, library)
#define IN_LINE(library) BOTH_WAYS(library), PEER_TEST(test_line_is_one_for_all, library)

int main(void) {
    static const struct CMUnitTest tests[] = {
        IN_LINE(writer),
        IN_LINE(curator),
        /* Not in line: a ReadLock of kazoo also waits for writers behind it (kazoo#649). */
        BOTH_WAYS(reader),
        BOTH_WAYS(curator_beside_readers),
        IN_LINE(kazoo),
        PEER_TEST(test_lock_of_one_that_dies_is_ours, kazoo),
    };

    return cmocka_run_group_tests(tests, zookeeper_up, down);
}
