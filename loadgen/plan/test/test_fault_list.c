/* --fault: faults of servers, failpoints, and texts that are neither. */
#include "fault_list.h"
#include "test.h"

#include <stdio.h>
#include <string.h>

#define MS  INT64_C(1000000)
#define SEC INT64_C(1000000000)

static struct fault_list list;
static struct why why;

static int parse(const char *text) {
    return fault_list_parse(text, 4 * SEC, &list, &why);
}

static void test_faults_of_servers_are_read_and_none(void **state) {
    static const struct {
        const char *text, *server;
        enum fault_verb verb;
        int64_t at_ns, span_ns;
    } read[] = {{"redis:kill@2s", "redis", FAULT_KILL, 2 * SEC, 0},
                {"inventory-1:pause=1.5s@200ms", "inventory-1", FAULT_PAUSE, 200 * MS, 1500 * MS},
                {"postgres:restart@0s", "postgres", FAULT_RESTART, 0, 0}};

    assert_int_equal(parse("redis:kill@2s\ninventory-1:pause=1.5s@200ms,postgres:restart@0s"), 0);
    assert_int_equal(list.count, 3);
    assert_int_equal(list.failpoint_count, 0);
    for (size_t i = 0; i < 3; i++) {
        assert_string_equal(list.items[i].text, read[i].text);
        assert_string_equal(list.items[i].server, read[i].server);
        assert_int_equal(list.items[i].verb, read[i].verb);
        assert_int_equal(list.items[i].at_ns, read[i].at_ns);
        assert_int_equal(list.items[i].span_ns, read[i].span_ns);
    }
    assert_true(fault_list_needs_mending(&list));
    assert_int_equal(parse(""), 0);
    assert_int_equal(list.count + list.failpoint_count, 0);
    assert_false(fault_list_needs_mending(&list));
}

static void test_each_server_of_the_stack_can_fail(void **state) {
    static const char *const names[] = {"replica-2",   "redlock-1", "redlock-5",
                                        "cluster-6",   "etcd-3",    "zookeeper-1",
                                        "zookeeper-3", "pgbouncer", "inventory-9"};
    char text[FAULT_TEXT];

    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        (void)snprintf(text, sizeof text, "%s:kill@1s", names[i]);
        assert_int_equal(parse(text), 0);
        assert_string_equal(list.items[0].server, names[i]);
    }
}

static void test_failpoints_are_left_to_the_server(void **state) {
    static const char *const failpoints[] = {"after-read:pause=4s@100", "before-lunch:error",
                                             "inventory-1/after-read:delay=4s@1",
                                             "inventory-2/after-write:crash"};

    for (size_t i = 0; i < sizeof failpoints / sizeof *failpoints; i++) {
        assert_int_equal(parse(failpoints[i]), 0);
        assert_int_equal(list.count, 0);
        assert_int_equal(list.failpoint_count, 1);
        assert_string_equal(list.failpoints[0], failpoints[i]);
        assert_int_equal(fault_list_needs_mending(&list), i == 3);
    }
    assert_int_equal(parse("after-read:error,redis:cut@1s,after-lock:error"), 0);
    assert_int_equal(list.count, 1);
    assert_int_equal(list.failpoint_count, 2);
}

static void test_each_mistake_is_told_with_what_exists(void **state) {
    static const struct {
        const char *says, *texts[8];
    } bad[] = {
        {"a : is missing", {"redis"}},
        {"a moment such as @2s is missing", {"redis:kill", "redis:kill@2", "redis:kill@-1s"}},
        {"the demand has ended by that moment", {"redis:kill@4s"}},
        {"there is no such verb", {"redis:kick@2s", "redis:@2s"}},
        {"only pause takes a duration", {"redis:kill=1s@2s"}},
        {"pause takes a duration", {"redis:pause@2s", "redis:pause=0s@2s"}},
        {"only redis has this verb", {"postgres:failover@2s", "cluster-1:failover@2s"}},
        {"only redis and cluster-1, ... have this verb", {"replica:cut@2s"}},
        {"only cluster-1, ... have this verb", {"redis:reshard@2s"}},
        {"there is no such server",
         {"rediss:kill@2s", "redlock-6:kill@2s", "cluster-7:kill@2s", "etcd:kill@2s",
          "inventory-0:kill@2s", "inventory-12:kill@2s", "lunch:pause=1s@2s"}},
        {"it is empty", {"redis:kill@1s,,redis:start@2s", ",redis:kill@1s"}},
    };
    char text[2 * FAULT_TEXT];

    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        for (const char *const *one = bad[i].texts; *one != NULL; one++) {
            assert_int_equal(parse(*one), -1);
            if (strstr(why.text, bad[i].says) == NULL ||
                strstr(why.text, "for redis also failover, cut") == NULL)
                fail_msg("%s: %s", *one, why.text);
        }
    memset(text, 'x', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    assert_int_equal(parse(text), -1);
    assert_non_null(strstr(why.text, "it is too long"));
}

static void test_more_than_there_is_room_for_are_refused(void **state) {
    char text[(FAULT_LIST_MAX + 1) * sizeof "redis:kill@1s,"] = "redis:kill@1s";

    for (int i = 1; i < FAULT_LIST_MAX; i++)
        strcat(text, ",redis:kill@1s");
    assert_int_equal(parse(text), 0);
    assert_int_equal(list.count, FAULT_LIST_MAX);
    strcat(text, ",redis:kill@1s");
    assert_int_equal(parse(text), -1);
    assert_non_null(strstr(why.text, "there are too many"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_faults_of_servers_are_read_and_none),
        cmocka_unit_test(test_each_server_of_the_stack_can_fail),
        cmocka_unit_test(test_failpoints_are_left_to_the_server),
        cmocka_unit_test(test_each_mistake_is_told_with_what_exists),
        cmocka_unit_test(test_more_than_there_is_room_for_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
