/* redis+string: against the libraries whose locks look so: each in a process of its own
 * (test/wire/), on the same server, in both directions. */
#include "fixture.h"
#include "redis_admin.h"

#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fcntl.h>
#include <signal.h>

static const struct library {
    const char *name, *program, *script;
    const char *prefix; /* of its keys */
    bool tells_lost;    /* when it gives back what it has lost */
} libraries[] = {
    {"redis-py", "/usr/bin/python3", "test/wire/peer.py", "", true}, /* Debian's, with its redis */
    {"redlock", "node", "test/wire/peer.js", "", true},
    {"redis-semaphore", "node", "test/wire/peer.js", "mutex:", false},
};
static const struct library *library = libraries;

static struct {
    struct fixture fixture;
    redisContext *redis;
    pid_t pid;
    int to, from;
    char heard[256];
    size_t length;
} t;

/* A whole line has come. */
static bool has_answered(void) {
    ssize_t length = read(t.from, t.heard + t.length, sizeof t.heard - 1 - t.length);

    if (length > 0)
        t.length += (size_t)length;
    t.heard[t.length] = '\0';
    return strchr(t.heard, '\n') != NULL;
}

static void assert_answer(const char *answer) {
    WAIT_FOR(&t.fixture.loop, has_answered());
    *strchr(t.heard, '\n') = '\0';
    assert_string_equal(t.heard, answer);
    t.length = 0;
}

__attribute__((format(printf, 1, 2))) static void tell(const char *format, ...) {
    va_list arguments;

    va_start(arguments, format);
    assert_true(vdprintf(t.to, format, arguments) > 0);
    va_end(arguments);
}

static void tell_take(uint32_t ttl_ms, uint32_t wait_ms) {
    tell("take %s %u %u\n", t.fixture.name, ttl_ms, wait_ms);
}

static void start_peer(void) {
    int to[2], from[2];

    assert_int_equal(pipe2(to, O_CLOEXEC), 0);
    assert_int_equal(pipe2(from, O_CLOEXEC), 0);
    t.pid = fork();
    assert_true(t.pid >= 0);
    if (t.pid == 0) {
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        (void)setenv("NODE_PATH", "build/node/node_modules", 1);
        (void)dup2(to[0], STDIN_FILENO);
        (void)dup2(from[1], STDOUT_FILENO);
        (void)execlp(library->program, library->program, library->script, library->name,
                     redis_url(), (char *)NULL);
        _exit(127);
    }
    (void)close(to[0]);
    (void)close(from[1]);
    t.to = to[1];
    t.from = from[0];
    t.length = 0;
    (void)fcntl(t.from, F_SETFL, O_NONBLOCK);
    assert_answer("ready");
}

static int set_up(void **state) {
    char name[sizeof t.fixture.name], url[256];

    (void)state;
    t.redis = redis_admin_connect();
    fixture_init(&t.fixture);
    memcpy(name, t.fixture.name, sizeof name);
    (void)snprintf(t.fixture.name, sizeof name, "%s%.50s", library->prefix, name);
    (void)snprintf(url, sizeof url, "redis+string:%s", redis_url());
    t.fixture.client = open_client(&t.fixture, url);
    t.fixture.lock = open_lock(&t.fixture, t.fixture.client, 5000);
    start_peer();
    return 0;
}

/* Whatever was done, the name is free. */
static int tear_down(void **state) {
    redisReply *reply = redisCommand(t.redis, "EXISTS %s", t.fixture.name);

    (void)state;
    assert_int_equal(reply->integer, 0);
    freeReplyObject(reply);
    freeReplyObject(redisCommand(t.redis, "DEL lk:{%s}:wire", t.fixture.name));
    redisFree(t.redis);
    (void)close(t.to);
    (void)close(t.from);
    (void)waitpid(t.pid, NULL, 0);
    fixture_end(&t.fixture);
    return 0;
}

static void test_what_they_hold_is_ours_when_they_give_it(void **state) {
    struct caller caller;

    (void)state;
    tell_take(30000, 0);
    assert_answer("held");
    assert_int_equal(take(&t.fixture, &caller, t.fixture.lock, LK_TRY), LK_BUSY);
    start(&caller, t.fixture.lock, LK_FOREVER);
    tell("give\n");
    assert_answer("given");
    WAIT_FOR(&t.fixture.loop, caller.calls > 0);
    assert_int_equal(caller.status, LK_OK);
    assert_int_equal(give(&t.fixture, &caller), LK_OK);
}

static void test_what_we_hold_is_theirs_when_we_give_it(void **state) {
    struct caller caller;

    (void)state;
    assert_int_equal(take(&t.fixture, &caller, t.fixture.lock, LK_TRY), LK_OK);
    tell_take(30000, 0);
    assert_answer("busy");
    tell_take(30000, 10000);
    assert_int_equal(lk_lease_check(caller.lease, 100), LK_OK);
    assert_int_equal(give(&t.fixture, &caller), LK_OK);
    assert_answer("held");
    assert_int_equal(take(&t.fixture, &caller, t.fixture.lock, LK_TRY), LK_BUSY);
    tell("give\n");
    assert_answer("given");
}

/* Theirs has ended, and they do not know: neither to extend nor to give it back touches ours. */
static void test_what_they_have_lost_stays_ours(void **state) {
    struct caller caller;

    (void)state;
    tell_take(200, 10000);
    assert_answer("held");
    assert_int_equal(take(&t.fixture, &caller, t.fixture.lock, 10000), LK_OK);
    tell("extend 30000\n");
    assert_answer("lost");
    tell("give\n");
    assert_answer(library->tells_lost ? "lost" : "given");
    tell_take(30000, 0);
    assert_answer("busy");
    assert_int_equal(give(&t.fixture, &caller), LK_OK);
}

/* Ours has ended, and we find out: neither our renewal nor our release touches theirs. */
static void test_what_we_have_lost_stays_theirs(void **state) {
    struct lk_lock_options options = {.size = sizeof options, .ttl_ms = 100, .no_renew = 1};
    struct caller caller;
    lk_lock *lock;

    (void)state;
    assert_int_equal(lk_lock_open(&lock, t.fixture.client, t.fixture.name, &options), LK_OK);
    assert_int_equal(take(&t.fixture, &caller, lock, 10000), LK_OK);
    tell_take(30000, 10000);
    assert_answer("held");
    assert_int_equal(lk_lease_state(caller.lease), LK_LOST_STATE);
    assert_int_equal(give(&t.fixture, &caller), LK_LOST);
    tell("extend 30000\n");
    assert_answer("extended");
    tell("give\n");
    assert_answer("given");
}

/* For as long as they hold it beyond their first TTL, too. */
static void test_what_they_extend_stays_theirs(void **state) {
    struct caller caller;

    (void)state;
    tell_take(1000, 0);
    assert_answer("held");
    tell("extend 30000\n");
    assert_answer("extended");
    assert_int_equal(take(&t.fixture, &caller, t.fixture.lock, LK_TRY), LK_BUSY);
    tell("give\n");
    assert_answer("given");
}

/* Each in turn, while the other waits: nobody is left out for ever, and nobody comes in beside. */
static void test_turns_are_taken(void **state) {
    struct caller caller;

    (void)state;
    tell_take(30000, 10000);
    for (int i = 0; i < 10; i++) {
        assert_answer("held");
        start(&caller, t.fixture.lock, LK_FOREVER);
        tell("give\n");
        assert_answer("given");
        WAIT_FOR(&t.fixture.loop, caller.calls > 0);
        assert_int_equal(caller.status, LK_OK);
        tell_take(30000, 10000);
        assert_int_equal(give(&t.fixture, &caller), LK_OK);
    }
    assert_answer("held");
    tell("give\n");
    assert_answer("given");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_what_they_hold_is_ours_when_they_give_it),
        TEST(test_what_we_hold_is_theirs_when_we_give_it),
        TEST(test_what_they_have_lost_stays_ours),
        TEST(test_what_we_have_lost_stays_theirs),
        TEST(test_what_they_extend_stays_theirs),
        TEST(test_turns_are_taken),
    };
    int failed = 0;

    for (; library < libraries + sizeof libraries / sizeof *libraries; library++)
        failed += cmocka_run_group_tests_name(library->name, tests, NULL, NULL);
    return failed;
}
