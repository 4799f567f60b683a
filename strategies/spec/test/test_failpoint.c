/* Failpoints: their text, their count, and their actions. */
#include "clock.h"
#include "failpoint.h"
#include "fiber.h"
#include "test.h"

#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static struct failpoint failpoint;
static struct why why;

static void arm(const char *text) {
    assert_int_equal(failpoint_parse(text, &failpoint, &why), 0);
}

static void test_text_is_read(void **state) {
    arm("after-read:pause=4s@100");
    assert_int_equal(failpoint.point, FAIL_AFTER_READ);
    assert_int_equal(failpoint.action, FAIL_PAUSE);
    assert_int_equal(failpoint.ms, 4000);
    assert_int_equal(failpoint.nth, 100);
    arm("before-unlock:drop-reply");
    assert_int_equal(failpoint.point, FAIL_BEFORE_UNLOCK);
    assert_int_equal(failpoint.action, FAIL_DROP_REPLY);
    assert_int_equal(failpoint.nth, 0);
    assert_string_equal(failpoint.instance, "");
    arm("inventory-1/before-commit:crash@7");
    assert_string_equal(failpoint.instance, "inventory-1");
    assert_int_equal(failpoint.point, FAIL_BEFORE_COMMIT);
    assert_int_equal(failpoint.nth, 7);
    arm("");
    assert_int_equal(failpoint.action, FAIL_NOTHING);
}

static void test_bad_text_is_refused_and_arms_nothing(void **state) {
    static const char *const bad[] = {
        "after-read",           "after-read:",
        "after-read:sleep=1s",  "somewhere:crash",
        "after-read:pause",     "after-read:pause=",
        "after-read:pause=0s",  "after-read:delay=2h",
        "after-read:crash=1s",  "after-read:error@0",
        "after-read:error@",    "after-read:error@x",
        "after-read:error@-1s", ":crash",
        "after-read::crash",    "/after-read:crash",
        "a/b/after-read:crash", "inventory-1/:crash",
    };
    char text[200];

    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        assert_int_equal(failpoint_parse(bad[i], &failpoint, &why), -1);
        assert_int_equal(failpoint.action, FAIL_NOTHING);
        assert_non_null(strstr(why.text, "points: after-lock"));
    }
    memset(text, 'x', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    assert_int_equal(failpoint_parse(text, &failpoint, &why), -1);
}

static enum fail_action sale_at(enum fail_point point) {
    bool has_passed = false;

    return failpoint_pass(&failpoint, "inventory-1", point, &has_passed);
}

static void test_only_the_nth_sale_fails(void **state) {
    arm("after-write:error@3");
    assert_int_equal(sale_at(FAIL_AFTER_WRITE), FAIL_NOTHING);
    assert_int_equal(sale_at(FAIL_AFTER_READ), FAIL_NOTHING);
    assert_int_equal(sale_at(FAIL_AFTER_WRITE), FAIL_NOTHING);
    assert_int_equal(sale_at(FAIL_AFTER_WRITE), FAIL_ERROR);
    assert_int_equal(sale_at(FAIL_AFTER_WRITE), FAIL_NOTHING);
}

static void test_without_a_number_each_sale_fails_once(void **state) {
    bool has_passed = false;

    arm("after-lock:error");
    assert_int_equal(failpoint_pass(&failpoint, "any", FAIL_AFTER_LOCK, &has_passed), FAIL_ERROR);
    assert_int_equal(failpoint_pass(&failpoint, "any", FAIL_AFTER_LOCK, &has_passed), FAIL_NOTHING);
    assert_int_equal(sale_at(FAIL_AFTER_LOCK), FAIL_ERROR);
}

static void test_with_an_instance_the_others_do_not_count(void **state) {
    bool has_passed = false;

    arm("inventory-1/after-lock:error@2");
    assert_int_equal(sale_at(FAIL_AFTER_LOCK), FAIL_NOTHING);
    assert_int_equal(failpoint_pass(&failpoint, "inventory-2", FAIL_AFTER_LOCK, &has_passed),
                     FAIL_NOTHING);
    assert_false(has_passed);
    assert_int_equal(sale_at(FAIL_AFTER_LOCK), FAIL_ERROR);
}

static void test_pause_blocks_the_process(void **state) {
    int64_t begun_ms = clock_now_ms();

    arm("after-lock:pause=20ms");
    failpoint_act(&failpoint, FAIL_PAUSE, NULL);
    assert_true(clock_now_ms() - begun_ms >= 20);
}

static void delay(void *arg) {
    bool *is_done = arg;

    failpoint_act(&failpoint, FAIL_DELAY, uv_default_loop());
    *is_done = true;
}

static void test_delay_suspends_only_the_fiber(void **state) {
    bool is_done = false;

    arm("after-lock:delay=10ms");
    assert_int_equal(fiber_start(delay, &is_done), 0);
    assert_false(is_done);
    assert_int_equal(uv_run(uv_default_loop(), UV_RUN_DEFAULT), 0);
    assert_true(is_done);
    assert_int_equal(uv_loop_close(uv_default_loop()), 0);
    fiber_cleanup();
}

static void test_crash_is_sigkill(void **state) {
    int status;
    pid_t child = fork();

    assert_true(child >= 0);
    if (child == 0) {
        failpoint_act(&failpoint, FAIL_CRASH, NULL);
        _exit(0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status));
    assert_int_equal(WTERMSIG(status), SIGKILL);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_text_is_read),
        cmocka_unit_test(test_bad_text_is_refused_and_arms_nothing),
        cmocka_unit_test(test_only_the_nth_sale_fails),
        cmocka_unit_test(test_without_a_number_each_sale_fails_once),
        cmocka_unit_test(test_with_an_instance_the_others_do_not_count),
        cmocka_unit_test(test_pause_blocks_the_process),
        cmocka_unit_test(test_delay_suspends_only_the_fiber),
        cmocka_unit_test(test_crash_is_sigkill),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
