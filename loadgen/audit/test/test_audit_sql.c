/* sql/audit.sql: how it is cut into queries. */
#include "audit_sql.h"
#include "test.h"

#include "fault.h"

#include <string.h>

static struct audit_queries queries;
static struct why why;

static int parse(const char *text) {
    int rc = audit_queries_parse(text, &queries, &why);

    if (rc != 0)
        audit_queries_free(&queries);
    return rc;
}

static void test_queries_are_cut_at_their_names(void **state) {
    assert_int_equal(parse("\\if :x\nSELECT 1 \\gset\n-- query: a on inventory\nSELECT :'product'"
                           "::uuid\nFROM x;\n\n\\echo 'b'\n-- query: b on orders\nSELECT :'since',"
                           " :'product';\n\\endif\n"),
                     0);
    assert_int_equal(queries.count, 2);
    assert_string_equal(queries.queries[0].statement.sql, "SELECT $1::uuid\nFROM x");
    assert_int_equal(queries.queries[0].statement.params, 1);
    assert_false(queries.queries[0].is_orders);
    assert_string_equal(audit_query_find(&queries, "b")->statement.sql, "SELECT $2, $1");
    assert_int_equal(queries.queries[1].statement.params, 2);
    assert_true(queries.queries[1].is_orders);
    assert_null(audit_query_find(&queries, "c"));
    audit_queries_free(&queries);
}

static void test_what_cannot_be_prepared_is_refused(void **state) {
    static const char *const bad[] = {
        "-- query: a\nSELECT :'product';\n",
        "-- query: a on mars\nSELECT :'product';\n",
        "-- query: a on orders\nSELECT :'product'\n",
        "-- query: a on orders\nSELECT :'product'; SELECT 2;\n",
        "-- query: a on orders\nSELECT 1;\n",
        "-- query: a on orders\n",
    };

    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        assert_int_equal(parse(bad[i]), -1);
        assert_non_null(strstr(why.text, "audit.sql"));
    }
}

static void test_the_embedded_queries_are_all_there(void **state) {
    static const char *const names[] = {"stock",   "rows",         "returned", "twins",
                                        "outside", "duplicates",   "sales",    "sales_count",
                                        "orders",  "orders_count", "events"};

    assert_int_equal(parse(audit_text), 0);
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        assert_non_null(audit_query_find(&queries, names[i]));
    audit_queries_free(&queries);
}

static void parse_and_free(void *arg) {
    (void)arg;
    (void)!audit_queries_parse(audit_text, &queries, &why);
    audit_queries_free(&queries);
}

static void test_no_memory_for_queries_is_told(void **state) {
    fault_each_allocation(parse_and_free, NULL);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_queries_are_cut_at_their_names),
        cmocka_unit_test(test_what_cannot_be_prepared_is_refused),
        cmocka_unit_test(test_the_embedded_queries_are_all_there),
        cmocka_unit_test(test_no_memory_for_queries_is_told),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
