/* Armed failpoints and faults, and their events. */
#include "firing.h"
#include "test.h"

#define END_NS 1000

static struct firings firings;

static int64_t in_time(const char *what) {
    for (size_t i = 0; i < firings.count; i++)
        if (strcmp(firings.items[i].what, what) == 0)
            return firings.items[i].in_time;
    fail_msg("%s is not armed", what);
    return 0;
}

static void count(struct event event) {
    const int64_t end_ns = END_NS;

    firings_count(&firings, &(struct event_list){1, &event}, &end_ns, 1);
}

static void test_failpoints_of_one_point_are_told_apart(void **state) {
    memset(&firings, 0, sizeof firings);
    firings_arm_spec(&firings, "none,fail=after-read:delay=2s@2,fail=after-read:delay=2100ms@5,"
                               "fail=inventory-1/after-read:crash");
    count((struct event){
        .kind = EVENT_FAILPOINT, .who = "a", .name = "after-read", .detail = "delay 2100 ms"});
    count((struct event){
        .kind = EVENT_FAILPOINT, .who = "inventory-1", .name = "after-read", .detail = "crash"});
    assert_int_equal(in_time("after-read:delay=2s@2"), 0);
    assert_int_equal(in_time("after-read:delay=2100ms@5"), 1);
    assert_int_equal(in_time("inventory-1/after-read:crash"), 1);
}

static void test_a_firing_after_the_end_is_not_in_time(void **state) {
    memset(&firings, 0, sizeof firings);
    firings_arm(&firings, EVENT_SERVER, "redis:pause", strlen("redis:pause"));
    firings_arm(&firings, EVENT_SERVER, "redis:kill", strlen("redis:kill"));
    count((struct event){
        .kind = EVENT_SERVER, .who = "redis", .name = "pause", .detail = "5 ms", .at_ns = END_NS});
    count((struct event){.kind = EVENT_SERVER, .who = "redis", .name = "kill", .at_ns = 1});
    assert_int_equal(in_time("redis:pause"), 0);
    assert_int_equal(in_time("redis:kill"), 1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_failpoints_of_one_point_are_told_apart),
        cmocka_unit_test(test_a_firing_after_the_end_is_not_in_time),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
