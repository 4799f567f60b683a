/* Commands to a cluster: slots move under them, and nodes die. */
#include "clock.h"
#include "cluster_map.h"
#include "own_cluster.h"
#include "redis_cluster.h"
#include "test.h"
#include "wait.h"

#include <stdio.h>
#include <string.h>

static struct own_cluster nodes;
static uv_loop_t loop;
static struct redis_cluster *cluster;

struct asked {
    struct redis_routed routed;
    char reply[64];
    bool is_over;
};

static int start_all(void **state) {
    own_cluster_start(&nodes);
    return uv_loop_init(&loop);
}

static int stop_all(void **state) {
    own_cluster_stop(&nodes);
    return uv_loop_close(&loop);
}

static void set_true(void *data) {
    *(bool *)data = true;
}

static int set_up(void **state) {
    char url[128];

    (void)snprintf(url, sizeof url, "redis+cluster://127.0.0.1:%d,127.0.0.1:%d",
                   nodes.nodes[0].port, nodes.nodes[1].port);
    return redis_cluster_open(&cluster, &loop, url, "test");
}

static int tear_down(void **state) {
    bool is_closed = false;

    redis_cluster_close(cluster, set_true, &is_closed);
    WAIT_FOR(&loop, is_closed);
    return 0;
}

static int node_of(const char *tag) {
    int node = 0;

    while (cluster_slot(tag) >= (node + 1) * CLUSTER_SLOTS / CLUSTER_NODES)
        node++;
    return node;
}

static void read_reply(struct redis_routed *routed, const redisReply *reply) {
    struct asked *asked = routed->call.data;

    (void)snprintf(asked->reply, sizeof asked->reply, "%s", reply->str != NULL ? reply->str : "");
}

static void on_over(struct redis_routed *routed) {
    ((struct asked *)routed->call.data)->is_over = true;
}

static void start_asking(struct asked *asked, const char *tag, unsigned replicas, const char *verb,
                         const char *key, const char *value) {
    *asked = (struct asked){.routed = {.call = {.argc = value != NULL ? 3 : 2,
                                                .argv = {verb, key, value},
                                                .deadline_ms = clock_now_ms() + 2000,
                                                .data = asked},
                                       .slot = cluster_slot(tag),
                                       .replicas = replicas,
                                       .on_reply = read_reply}};
    redis_cluster_start(cluster, &asked->routed, on_over);
}

static enum redis_status ask(struct asked *asked, const char *tag, const char *verb,
                             const char *key, const char *value) {
    start_asking(asked, tag, 0, verb, key, value);
    WAIT_FOR(&loop, asked->is_over);
    return asked->routed.call.status;
}

static void test_each_slot_is_reached(void **state) {
    struct asked asked;
    char tag[16], key[32];

    for (int i = 0; i < 50; i++) {
        (void)snprintf(tag, sizeof tag, "each-%d", i);
        (void)snprintf(key, sizeof key, "{%s}x", tag);
        assert_int_equal(ask(&asked, tag, "SET", key, tag), REDIS_IS_OK);
        assert_int_equal(ask(&asked, tag, "GET", key, NULL), REDIS_IS_OK);
        assert_string_equal(asked.reply, tag);
    }
}

/* The old owner says ASK for a key that has left, TRYAGAIN for two of which one has left, and MOVED in
 * the end. */
static void test_a_slot_that_moves_is_followed(void **state) {
    static const char tag[] = "moving", key[] = "{moving}x";
    const int slot = cluster_slot(tag), from = node_of(tag), to = (from + 1) % CLUSTER_NODES;
    struct asked asked;

    assert_int_equal(ask(&asked, tag, "SET", key, "1"), REDIS_IS_OK);
    own_cluster_begin_moving(&nodes, slot, from, to);
    assert_int_equal(ask(&asked, tag, "APPEND", key, "2"), REDIS_IS_OK);
    own_cluster_move_keys(&nodes, slot, from, to);
    assert_int_equal(ask(&asked, tag, "APPEND", key, "3"), REDIS_IS_OK);
    assert_int_equal(ask(&asked, tag, "SET", "{moving}new", "1"), REDIS_IS_OK);
    own_cluster_end_moving(&nodes, slot, to);
    assert_int_equal(ask(&asked, tag, "GET", key, NULL), REDIS_IS_OK);
    assert_string_equal(asked.reply, "123");
}

static void test_a_command_between_two_nodes_had_no_effect(void **state) {
    static const char tag[] = "between";
    const int slot = cluster_slot(tag), from = node_of(tag), to = (from + 1) % CLUSTER_NODES;
    struct asked asked;

    assert_int_equal(ask(&asked, tag, "SET", "{between}a", "1"), REDIS_IS_OK);
    own_cluster_begin_moving(&nodes, slot, from, to);
    assert_int_equal(ask(&asked, tag, "MGET", "{between}a", "{between}b"), REDIS_IS_NOT_SENT);
    own_cluster_move_keys(&nodes, slot, from, to);
    own_cluster_end_moving(&nodes, slot, to);
    assert_int_equal(ask(&asked, tag, "MGET", "{between}a", "{between}b"), REDIS_IS_OK);
}

static void test_replicas_that_are_not_there_confirm_nothing(void **state) {
    struct asked asked;

    start_asking(&asked, "wait", 1, "SET", "{wait}x", "1");
    WAIT_FOR(&loop, asked.is_over);
    assert_int_equal(asked.routed.call.status, REDIS_IS_OK);
    assert_false(asked.routed.is_confirmed);
}

static void test_a_dead_node_is_told_and_found_again(void **state) {
    static const char tag[] = "dead";
    const int node = node_of(tag);
    struct asked asked;

    assert_int_equal(ask(&asked, tag, "SET", "{dead}x", "1"), REDIS_IS_OK);
    own_redis_kill(&nodes.nodes[node]);
    assert_int_not_equal(ask(&asked, tag, "SET", "{dead}x", "2"), REDIS_IS_OK);
    own_cluster_restart(&nodes, node);
    WAIT_FOR(&loop, ask(&asked, tag, "SET", "{dead}x", "3") == REDIS_IS_OK);
}

/* ---- Are the slots served? */

static struct check {
    bool slots[CLUSTER_SLOTS];
    struct why why;
    int code;
} check;

static void run_check(void *data) {
    (void)data;
    check.code = redis_cluster_check(cluster, check.slots, clock_now_ms() + 1000, &check.why);
}

/* Ask about this slot only; -1: about none. */
static int check_slot(int slot) {
    memset(&check, 0, sizeof check);
    if (slot >= 0)
        check.slots[slot] = true;
    wait_for_fiber(&loop, run_check, NULL);
    return check.code;
}

#define SLOT_OF(node) ((node)*CLUSTER_SLOTS / CLUSTER_NODES + 1)

static void test_a_whole_cluster_serves_all(void **state) {
    for (int i = 0; i < CLUSTER_NODES; i++)
        WAIT_FOR(&loop, check_slot(SLOT_OF(i)) == 0);
    assert_int_equal(check_slot(-1), 0);
}

static void test_a_slot_of_a_dead_node_is_named(void **state) {
    char name[64];

    (void)snprintf(name, sizeof name, "127.0.0.1:%d, the master of slot %d ", nodes.nodes[2].port,
                   SLOT_OF(2));
    own_redis_kill(&nodes.nodes[2]);
    WAIT_FOR(&loop, check_slot(SLOT_OF(2)) == -1);
    assert_non_null(strstr(check.why.text, name));
    assert_non_null(strstr(check.why.text, "does not answer: start it again"));
    WAIT_FOR(&loop, check_slot(SLOT_OF(0)) == -1); /* once the others call it dead */
    assert_non_null(strstr(check.why.text, "refuses commands"));
    own_cluster_restart(&nodes, 2);
    WAIT_FOR(&loop, check_slot(SLOT_OF(0)) == 0 && check_slot(SLOT_OF(2)) == 0);
}

static void test_a_slot_without_a_master_is_named(void **state) {
    char tag[16], slot[12];
    struct asked asked;
    int i = 0;

    do
        (void)snprintf(tag, sizeof tag, "none-%d", i++);
    while (node_of(tag) != 0);
    (void)snprintf(slot, sizeof slot, "%d", SLOT_OF(0));
    WAIT_FOR(&loop, check_slot(SLOT_OF(0)) == 0); /* the map knows the node now */
    assert_int_equal(ask(&asked, tag, "CLUSTER", "DELSLOTS", slot), REDIS_IS_OK);
    assert_int_equal(check_slot(SLOT_OF(0)), -1);
    assert_non_null(strstr(check.why.text, "slot 1 of the Redis Cluster has no master"));
    assert_int_equal(ask(&asked, tag, "CLUSTER", "ADDSLOTS", slot), REDIS_IS_OK);
    WAIT_FOR(&loop, check_slot(SLOT_OF(0)) == 0);
}

static void test_a_close_ends_what_is_under_way(void **state) {
    struct asked asked;

    start_asking(&asked, "close", 1, "SET", "{close}x", "1");
    (void)tear_down(state);
    assert_true(asked.is_over);
    assert_int_not_equal(asked.routed.call.status, REDIS_IS_OK);
    (void)set_up(state);
}

static void test_what_is_no_cluster_is_refused(void **state) {
    static const char *const urls[] = {"redis://127.0.0.1:1", "redis+cluster://",
                                       "redis+cluster://a:b", "redis+cluster://127.0.0.1:1,",
                                       "redis+cluster://127.0.0.1:0"};
    struct redis_cluster *none;

    for (size_t i = 0; i < sizeof urls / sizeof *urls; i++) {
        assert_int_equal(redis_cluster_open(&none, &loop, urls[i], "test"), UV_EINVAL);
        assert_null(none);
    }
}

int main(void) {
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_each_slot_is_reached, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_slot_that_moves_is_followed, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_command_between_two_nodes_had_no_effect, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(test_replicas_that_are_not_there_confirm_nothing, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(test_a_dead_node_is_told_and_found_again, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(test_a_whole_cluster_serves_all, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_slot_of_a_dead_node_is_named, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_slot_without_a_master_is_named, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_close_ends_what_is_under_way, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_what_is_no_cluster_is_refused, set_up, tear_down),
    };

    return cmocka_run_group_tests(tests, start_all, stop_all);
}
