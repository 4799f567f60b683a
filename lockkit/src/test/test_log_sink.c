/* The library's log goes to the program's callback, and nowhere else. */
#include "fixture.h"
#include "said.h"

static struct {
    enum lk_log_level level;
    char message[64], pairs[256];
    int count;
} told;

static void on_log(enum lk_log_level level, const char *message, const char *pairs, void *data) {
    assert_ptr_equal(data, &told);
    told.level = level;
    (void)snprintf(told.message, sizeof told.message, "%s", message);
    (void)snprintf(told.pairs, sizeof told.pairs, "%s", pairs);
    told.count++;
}

/* Nobody listens on port 1. */
static void fail_to_acquire(struct fixture *fixture) {
    struct caller caller;

    fixture->client = open_client(fixture, "redis://127.0.0.1:1");
    fixture->lock = open_lock(fixture, fixture->client, 2000);
    assert_int_equal(take(fixture, &caller, fixture->lock, LK_TRY), LK_UNAVAILABLE);
}

static int set_up(void **state) {
    (void)fixture_open(state, sizeof(struct fixture), NULL);
    said_start();
    return 0;
}

static int tear_down(void **state) {
    lk_set_log(NULL, NULL);
    said_stop();
    return fixture_close(state);
}

static void test_the_library_itself_writes_nothing(void **state) {
    fail_to_acquire(*state);
    assert_int_equal(said("="), 0);
}

static void test_the_callback_is_told_what_a_person_should_know(void **state) {
    lk_set_log(on_log, &told);
    fail_to_acquire(*state);
    assert_int_equal(told.count, 1);
    assert_int_equal(told.level, LK_LOG_WARN);
    assert_string_equal(told.message, "redis is down");
    assert_non_null(strstr(told.pairs, "why=\"Connection refused\""));
    assert_int_equal(said("="), 0);
}

static void test_tls_that_this_build_lacks_is_told(void **state) {
    struct fixture *fixture = *state;
    enum lk_status status;

    told.count = 0;
    lk_set_log(on_log, &told);
    status = lk_client_open(&fixture->client, &fixture->loop, "rediss://127.0.0.1:1", NULL);
    if (status == LK_OK)
        return; /* this build has TLS */
    assert_int_equal(status, LK_UNSUPPORTED);
    assert_int_equal(told.level, LK_LOG_ERROR);
    assert_non_null(strstr(told.pairs, "this build has no TLS"));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_the_library_itself_writes_nothing),
        TEST(test_the_callback_is_told_what_a_person_should_know),
        TEST(test_tls_that_this_build_lacks_is_told),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
