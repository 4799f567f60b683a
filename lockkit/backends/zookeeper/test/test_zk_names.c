/* URLs, names and lines, without a server. */
#include "test.h"
#include "zk_line.h"

#include <stdio.h>
#include <string.h>

static void test_url_says_servers_base_and_options(void **state) {
    struct zk_url url;

    assert_int_equal(zk_url_parse(&url, "zookeeper://a:1,[::1]:2,c/x/y?session=500&fair=0"), 0);
    assert_int_equal(url.server_count, 3);
    assert_string_equal(url.servers[0].host, "a");
    assert_string_equal(url.servers[1].host, "::1");
    assert_int_equal(url.servers[1].port, 2);
    assert_int_equal(url.servers[2].port, 2181);
    assert_string_equal(url.base, "/x/y");
    assert_int_equal(url.session_ms, 500);
    assert_false(url.is_fair);
    assert_int_equal(zk_url_parse(&url, "zookeeper://a"), 0);
    assert_string_equal(url.base, "/lockkit");
    assert_int_equal(url.session_ms, 10000);
    assert_true(url.is_fair);
    assert_int_equal(url.layout, ZK_CURATOR);
    assert_int_equal(zk_url_parse(&url, "zookeeper://a/?layout=kazoo"), 0);
    assert_string_equal(url.base, "");
    assert_int_equal(url.layout, ZK_KAZOO);
}

static void test_bad_urls_are_refused(void **state) {
    static const char *const urls[] = {
        "zookeeper://",
        "zookeeper://a,",
        "zookeeper://,a",
        "zookeeper://a:0",
        "zookeeper://a:65536",
        "zookeeper://a:1x",
        "zookeeper://[::1",
        "zookeeper://u:p@a",
        "zookeeper://a/x/",
        "zookeeper://a//x",
        "zookeeper://a/../x",
        "zookeeper://a/x?",
        "zookeeper://a?fair=2",
        "zookeeper://a?session=1",
        "zookeeper://a?session=",
        "zookeeper://a?wait=1",
        "zookeeper://a?layout=x",
        "zookeeper://a?fair=0&",
        "redis://a",
        "zookeeper://a/x y",
        "zookeeper://a/.",
    };
    struct zk_url url;

    for (size_t i = 0; i < sizeof urls / sizeof *urls; i++)
        if (zk_url_parse(&url, urls[i]) == 0)
            fail_msg("%s", urls[i]);
}

static void test_every_name_is_a_folder_of_its_own(void **state) {
    static const char *const names[][2] = {
        {"stock:42", "/b/stock:42"}, {"a/b", "/b/a%2Fb"},       {".", "/b/%2E"},
        {"..", "/b/%2E%2E"},         {"...", "/b/..."},         {"a%2Fb", "/b/a%252Fb"},
        {"a b\x01", "/b/a%20b%01"},  {"\xff\x80", "/b/%FF%80"},
    };
    char folder[ZK_FOLDER_SIZE], longest[NAME_MAX_BYTES + 1];

    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        zk_folder(folder, "/b", names[i][0]);
        assert_string_equal(folder, names[i][1]);
    }
    memset(longest, '/', NAME_MAX_BYTES);
    longest[NAME_MAX_BYTES] = '\0';
    zk_folder(folder, "/b", longest);
    assert_int_equal(strlen(folder), 3 + 3 * NAME_MAX_BYTES);
}

static struct zk_line line_of(const char *const *nodes, int32_t count) {
    struct zk_line line;

    assert_int_equal(zk_line_read(&line, (char *const *)(uintptr_t)nodes, count), 0);
    return line;
}

#define LINE(nodes) line_of(nodes, sizeof(nodes) / sizeof *(nodes))

static void assert_entry(const struct zk_entry *entry, const char *owner, bool is_shared,
                         uint32_t permits, uint32_t limit) {
    assert_int_equal(entry->owner_length, strlen(owner));
    assert_memory_equal(entry->owner, owner, strlen(owner));
    assert_int_equal(entry->is_shared, is_shared);
    assert_int_equal(entry->permits, permits);
    assert_int_equal(entry->limit, limit);
}

static void test_line_knows_every_kind_of_node_and_takes_others_as_alone(void **state) {
    static const char *const nodes[] = {
        "_c_r-read-lock-0000000002",
        "_c_2e-9f-lock-0000000001",
        "k__lock__0000000004",
        "k2__rlock__0000000005",
        "leases",
        "x-0000000009",
        "write-0000000008",
        "_c_s-read-2.10-lock-000000003",
        "_c_s-read-2.10-lock-0000000003",
        "_c_w-__WRIT__0000000006",
        "_c_v-__READ__0000000007",
        "lock-0000000000",
        "lock",
        "",
    };
    struct zk_line line = LINE(nodes);

    assert_int_equal(line.count, 10);
    assert_entry(&line.entries[0], "", false, 1, 0);
    assert_entry(&line.entries[1], "2e-9f", false, 1, 0);
    assert_entry(&line.entries[2], "r", true, 1, 0);
    assert_entry(&line.entries[3], "s", true, 2, 10);
    assert_entry(&line.entries[4], "k", false, 1, 0);
    assert_entry(&line.entries[5], "k2", true, 1, 0);
    assert_entry(&line.entries[6], "w", false, 1, 0);
    assert_entry(&line.entries[7], "v", true, 1, 0);
    assert_entry(&line.entries[8], "write-0000000008", false, 1, 0);
    assert_entry(&line.entries[9], "x-0000000009", false, 1, 0);
    assert_false(zk_line_stand(&line, &line.entries[9]).is_granted);
    zk_line_free(&line);
}

static void test_what_is_made_is_understood(void **state) {
    const char *owner = "0123456789012345678901234567890123456789";
    struct lk_command command = {.owner = owner, .permits = 1};
    char node[ZK_NODE_SIZE + 10], *nodes[] = {node};
    struct zk_line line;

    for (int kind = 0; kind < 5; kind++) {
        command.mode = kind % 2 ? LK_SHARED : LK_EXCLUSIVE;
        command.permits = kind == 3 ? 4294967 : 1;
        command.limit = kind == 3 ? UINT32_MAX : 0;
        zk_line_node(node, kind == 0 || kind == 1 ? ZK_KAZOO : ZK_CURATOR, &command);
        strcat(node, "-2147483648");
        assert_int_equal(zk_line_read(&line, nodes, 1), 0);
        assert_int_equal(line.count, 1);
        assert_entry(line.entries, owner, command.mode == LK_SHARED, command.permits,
                     command.limit);
        assert_int_equal(line.entries[0].sequence, INT32_MIN);
        zk_line_free(&line);
    }
}

static void test_line_is_in_order_across_a_wrap_of_the_counter(void **state) {
    static const char *const nodes[] = {"_c_c-lock--2147483648", "_c_a-lock-2147483646",
                                        "_c_b-lock-2147483647"};
    struct zk_line line = LINE(nodes);

    assert_string_equal(line.entries[0].node, nodes[1]);
    assert_string_equal(line.entries[1].node, nodes[2]);
    assert_string_equal(line.entries[2].node, nodes[0]);
    zk_line_free(&line);
}

static void test_first_node_of_a_folder_is_known_by_its_number(void **state) {
    assert_true(zk_line_is_first("_c_a-lock-0000000000"));
    assert_true(zk_line_is_first("a__lock__0000000000"));
    assert_false(zk_line_is_first("_c_a-lock-0000000010"));
    assert_false(zk_line_is_first("_c_a-lock--2147483648"));
    assert_false(zk_line_is_first("0"));
}

static void test_each_watches_the_one_whose_going_matters(void **state) {
    static const char *const nodes[] = {"_c_a-read-lock-0000000001", "_c_b-read-lock-0000000002",
                                        "_c_c-lock-0000000003", "_c_d-read-lock-0000000004",
                                        "_c_e-lock-0000000005"};
    static const int watched[] = {-1, -1, 1, 2, 3};
    struct zk_line line = LINE(nodes);

    for (int i = 0; i < 5; i++) {
        struct zk_stand stand = zk_line_stand(&line, &line.entries[i]);

        assert_int_equal(stand.is_granted, watched[i] < 0);
        assert_ptr_equal(stand.watched, watched[i] < 0 ? NULL : &line.entries[watched[i]]);
    }
    assert_false(zk_line_admits(&line, &(struct lk_command){.mode = LK_SHARED, .permits = 1}));
    zk_line_free(&line);
}

static void test_permits_are_counted_in_the_order_of_the_line(void **state) {
    static const char *const nodes[] = {
        "_c_a-read-2.4-lock-0000000001", "_c_b-read-2.4-lock-0000000002",
        "_c_c-read-3.4-lock-0000000003", "_c_d-read-1.4-lock-0000000004"};
    struct lk_command one = {.mode = LK_SHARED, .permits = 1, .limit = 4};
    struct zk_line line = LINE(nodes);

    for (int i = 0; i < 4; i++)
        assert_int_equal(zk_line_stand(&line, &line.entries[i]).is_granted, i < 2);
    assert_null(zk_line_stand(&line, &line.entries[2]).watched);
    zk_line_free(&line);
    line = line_of(nodes, 1);
    assert_true(zk_line_admits(&line, &one));
    one.mode = LK_EXCLUSIVE;
    assert_false(zk_line_admits(&line, &one));
    zk_line_free(&line);
}

int main(void) {
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_url_says_servers_base_and_options),
        cmocka_unit_test(test_bad_urls_are_refused),
        cmocka_unit_test(test_every_name_is_a_folder_of_its_own),
        cmocka_unit_test(test_line_knows_every_kind_of_node_and_takes_others_as_alone),
        cmocka_unit_test(test_what_is_made_is_understood),
        cmocka_unit_test(test_line_is_in_order_across_a_wrap_of_the_counter),
        cmocka_unit_test(test_first_node_of_a_folder_is_known_by_its_number),
        cmocka_unit_test(test_each_watches_the_one_whose_going_matters),
        cmocka_unit_test(test_permits_are_counted_in_the_order_of_the_line),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
