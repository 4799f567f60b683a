/* Queries with values: parameters of SQL, and the input of a command. */
#include "query_text.h"
#include "test.h"

#define HEAD                                                                                       \
    "shop A\nbase http://a\n== order ==\nPOST /o\nHTTP *\n== outcome ==\nsold status == 200\n"

static struct shop shop;
static struct values values;
static struct buffer text;
static struct why why;

static const struct shop_text *query(const char *orders) {
    char file[4096];

    shop_free(&shop);
    text.length = 0;
    (void)snprintf(file, sizeof file,
                   HEAD "== ledger postgres db ==\n[Orders]\n%s\n[Stock]\nSELECT 1\n", orders);
    if (shop_parse(&shop, "a.shop", file, strlen(file), &why) != 0)
        fail_msg("%s", why.text);
    return &shop.ledger.orders;
}

static int tear_down(void **state) {
    shop_free(&shop);
    values_free(&values);
    buffer_free(&text);
    return 0;
}

static void expect_sql(const char *orders, const char *sql, int count) {
    const char *names[QUERY_NAMES_MAX];

    assert_int_equal(query_text_number(query(orders), &text, names, &why), count);
    assert_memory_equal(text.bytes, sql, strlen(sql));
    for (int i = 0; i < count; i++)
        assert_string_equal(names[i], "run");
}

static void test_each_name_becomes_a_parameter(void **state) {
    expect_sql("SELECT 1", "SELECT 1", 0);
    expect_sql("SELECT {{run}}, {{run}}", "SELECT $1, $2", 2);
    expect_sql("SELECT 'it''s', \"a\" -- isn't {{run}}\n, {{run}}",
               "SELECT 'it''s', \"a\" -- isn't \n, $1", 1);
    expect_sql("SELECT /* don't {{run}} */ {{run}}", "SELECT /* don't  */ $1", 1);
}

static void test_each_name_becomes_a_constant(void **state) {
    static const char *const constants[] = {"'a'", "NULL"};
    static const char sql[] = "a = 'a' AND /*  */ b = NULL";

    assert_int_equal(query_text_quote(query("a = {{run}} AND /* {{run}} */ b = {{run}}"), &text,
                                      constants, &why),
                     0);
    assert_int_equal(text.length, sizeof sql);
    assert_memory_equal(text.bytes, sql, sizeof sql);
    assert_int_equal(query_text_quote(query("'{{run}}'"), &text, constants, &why), -1);
}

static void test_no_name_stands_between_quotes(void **state) {
    static const char *const texts[] = {"SELECT '{{run}}'", "SELECT \"{{run}}\"",
                                        "SELECT 'a''{{run}}'"};
    const char *names[QUERY_NAMES_MAX];

    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        assert_int_equal(query_text_number(query(texts[i]), &text, names, &why), -1);
        assert_string_equal(why.text, "{{run}} stands between quotes; write it without them: it "
                                      "becomes a parameter of the query");
    }
}

static void test_too_many_names(void **state) {
    char many[QUERY_NAMES_MAX * 8 + 16] = "";
    const char *names[QUERY_NAMES_MAX];

    for (int i = 0; i <= QUERY_NAMES_MAX; i++)
        strcat(many, "{{run}} ");
    assert_int_equal(query_text_number(query(many), &text, names, &why), -1);
    assert_string_equal(why.text, "more than 16 {{names}} in a query");
}

static int fill_with(const char *value) {
    assert_int_equal(values_set(&values, "run", value, strlen(value), false), 0);
    return query_text_fill(query("id = '{{run}}'"), &values, &text, &why);
}

static void test_a_command_gets_harmless_values_only(void **state) {
    static const char *const bad[] = {"",     "1 OR 1=1", "a'b", "$(id)", "`id`",
                                      "a;b",  "-x",       "1--", "a\nb",  "\xc3\xa9",
                                      "a\"b", "a\\b",     "*",   "a&b",   "a|b"};

    assert_int_equal(fill_with("gid://Shop/Order:1+a=@x_y.z-1"), 0);
    assert_memory_equal(text.bytes, "id = 'gid://Shop/Order:1+a=@x_y.z-1'", text.length);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        if (fill_with(bad[i]) == 0)
            fail_msg("%s", bad[i]);
    assert_string_equal(why.text,
                        "the value of {{run}} has other characters than letters, digits and "
                        "_ . : @ + = / -, so it may not stand in a query for a command");
    values_free(&values);
    assert_int_equal(query_text_fill(query("{{run}}"), &values, &text, &why), -1);
    assert_string_equal(why.text, "{{run}} has no value here");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_each_name_becomes_a_parameter, tear_down),
        cmocka_unit_test_teardown(test_each_name_becomes_a_constant, tear_down),
        cmocka_unit_test_teardown(test_no_name_stands_between_quotes, tear_down),
        cmocka_unit_test_teardown(test_too_many_names, tear_down),
        cmocka_unit_test_teardown(test_a_command_gets_harmless_values_only, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
