/* Rows and books from the output of a command: each form, and each mistake with its place. */
#include "books.h"
#include "fault.h"
#include "test.h"

static struct rows rows;
static struct books books;
static struct why why;

static int set_up(void **state) {
    rows = (struct rows){.query = "[Orders]"};
    return 0;
}

static int tear_down(void **state) {
    rows_free(&rows);
    books_free(&books);
    return 0;
}

static int take(const char *text) {
    rows_free(&rows);
    books_free(&books);
    return rows_read(&rows, text, strlen(text), &why) == 0 ? books_take_orders(&books, &rows, &why)
                                                           : -1;
}

static int take_stock(const char *text) {
    rows_free(&rows);
    books_free(&books);
    rows.query = "[Stock]";
    return rows_read(&rows, text, strlen(text), &why) == 0 ? books_take_stock(&books, &rows, &why)
                                                           : -1;
}

static void expect_three(const char *text) {
    if (take(text) != 0)
        fail_msg("%s\n%s", why.text, text);
    assert_int_equal(books.count, 3);
    assert_int_equal(books.sold, 6);
    assert_int_equal(books_find(&books, "b")->quantity, 2);
    assert_int_equal(books_find(&books, "10")->quantity, 3);
    assert_null(books_find(&books, "c"));
}

static void test_each_form_gives_the_same_rows(void **state) {
    expect_three(
        "{\"order_id\": \"a\", \"quantity\": 1}\n\n{\"quantity\": 2.0, \"order_id\": \"b\"}\r\n"
        "{\"order_id\": 10, \"quantity\": \"3\", \"other\": [1]}");
    expect_three(
        " [{\"order_id\": \"a\", \"quantity\": 1},\n{\"order_id\": \"b\", \"quantity\": 2},\n"
        "{\"order_id\": 10, \"quantity\": 3}]\n");
    expect_three("order_id,quantity\na,1\nb,2\n10,3");
    expect_three(
        "\xef\xbb\xbfquantity,\"order_id\",name\r\n1,\"a\",\"x, \"\"y\"\"\nz\"\r\n2,b,\r\n\"3\",10,\r\n");
    expect_three("order_id\tquantity\na\t1\nb\t2.00\n10\t3\n");
}

static void test_quotes_and_escapes(void **state) {
    assert_int_equal(take("order_id,quantity,key\n\"a \"\"b\"\", c\nd\",1,\"\"\n"), 0);
    assert_string_equal(books.orders[0].id, "a \"b\", c\nd");
    assert_string_equal(books.orders[0].key, "");
    assert_int_equal(take("order_id\tquantity\tkey\n\"a\\tb\\\\\\n\t1\tNULLS\n"), 0);
    assert_string_equal(books.orders[0].id, "\"a\tb\\\n");
    assert_string_equal(books.orders[0].key, "NULLS");
}

static void test_all_columns(void **state) {
    assert_int_equal(take("order_id,quantity,unit,key,reserved,at,instance\na,1,-7,k,0,noon,i\n"),
                     0);
    assert_int_equal(books.orders[0].unit, -7);
    assert_int_equal(books.orders[0].reserved, 0);
    assert_int_equal(books.orders[0].at_us, 0);
    assert_string_equal(books.orders[0].instance, "i");
    assert_true(books.has[COLUMN_UNIT] && books.has[COLUMN_RESERVED] && !books.has[COLUMN_LEFT]);
    assert_int_equal(take_stock("left,initial\n-1,50\n"), 0);
    assert_int_equal(books.left, -1);
    assert_int_equal(books.initial, 50);
    assert_int_equal(take_stock("{\"left\": 3}"), 0);
    assert_false(books.has[COLUMN_INITIAL]);
}

static void test_no_rows(void **state) {
    static const char *const texts[] = {"", "\n", "[]", "order_id,quantity\n"};

    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        assert_int_equal(take(texts[i]), 0);
        assert_int_equal(books.count, 0);
    }
}

static const struct {
    const char *text, *reason;
} mistakes[] = {
    {"id,quantity\na,1\n", "[Orders]: there is no column order_id; name it with AS order_id"},
    {"a,1\n", "[Orders]: there is no column order_id; name it with AS order_id"},
    {"{\"order_id\": 1}", "[Orders]: there is no column quantity; name it with AS quantity"},
    {"order_id,quantity\na,1\nb,\n",
     "[Orders], row 2: the column quantity is NULL; a coalesce() gives it a value"},
    {"order_id\tquantity\nNULL\t1\n",
     "[Orders], row 1: the column order_id is NULL; a coalesce() gives it a value"},
    {"order_id\tquantity\tkey\na\t1\t\\N\n",
     "[Orders], row 1: the column key is NULL; a coalesce() gives it a value"},
    {"{\"order_id\": 1, \"quantity\": 1, \"unit\": 1}\n{\"order_id\": 2, \"quantity\": 1}",
     "[Orders], row 2: the column unit is NULL; a coalesce() gives it a value"},
    {"[{\"order_id\": null, \"quantity\": 1}]",
     "[Orders], row 1: the column order_id is NULL; a coalesce() gives it a value"},
    {"{\"order_id\": [1], \"quantity\": 1}",
     "[Orders], row 1: the column order_id is neither a text nor a number"},
    {"{\"order_id\": 1, \"quantity\": true}",
     "[Orders], row 1: the column quantity is neither a text nor a number"},
    {"order_id,quantity\na,one\n",
     "[Orders], row 1: the column quantity is \"one\", and not a whole number"},
    {"order_id,quantity\na,1.5\n",
     "[Orders], row 1: the column quantity is \"1.5\", and not a whole number"},
    {"order_id,quantity\na,1.\n",
     "[Orders], row 1: the column quantity is \"1.\", and not a whole number"},
    {"order_id,quantity\na, 1\n",
     "[Orders], row 1: the column quantity is \" 1\", and not a whole number"},
    {"order_id,quantity\na,\"\"\n",
     "[Orders], row 1: the column quantity is \"\", and not a whole number"},
    {"order_id,quantity\na,9223372036854775808\n",
     "[Orders], row 1: the column quantity is \"9223372036854775808\", and not a whole number"},
    {"order_id,quantity\na,0\n", "[Orders], row 1: the column quantity is 0, and not 1 or more"},
    {"order_id,quantity\na,9223372036854775807\nb,1\n",
     "[Orders], row 2: the column quantity is 1, and not 1 or more"},
    {"order_id,quantity\n\"\",1\n",
     "[Orders], row 1: the column order_id has 0 bytes, and not 1 to 128"},
    {"order_id,quantity\nb,1\na,1\nb,1\n",
     "[Orders], row 3: the column order_id has \"b\" a second time; an order is one row: use "
     "sum(quantity) and GROUP BY"},
    {"order_id,quantity\na,1,2\n", "[Orders], row 1: it has 3 fields, and the first line has 2"},
    {"order_id,quantity\na\n", "[Orders], row 1: it has 1 fields, and the first line has 2"},
    {"order_id,quantity\n\"a,1\n", "[Orders], row 1: a \" is not closed"},
    {"order_id,quantity\n\"a\"b,1\n", "[Orders], row 1: text stands behind a closing \""},
    {"{\"order_id\": 1, \"quantity\": 1}\n{",
     "[Orders], row 2: this is not JSON: string or '}' expected near end of file; print one object "
     "a line, as jq -c does"},
    {"[1]", "[Orders], row 1: it is not a JSON object"},
};

static void test_each_mistake_names_its_place(void **state) {
    for (size_t i = 0; i < sizeof mistakes / sizeof *mistakes; i++) {
        if (take(mistakes[i].text) == 0)
            fail_msg("no error: %s", mistakes[i].text);
        assert_string_equal(why.text, mistakes[i].reason);
    }
}

static void test_mistakes_of_the_stock(void **state) {
    assert_int_equal(take_stock(""), -1);
    assert_string_equal(why.text, "[Stock]: it must have one row, and has 0");
    assert_int_equal(take_stock("left\n1\n2\n"), -1);
    assert_string_equal(why.text, "[Stock]: it must have one row, and has 2");
    assert_int_equal(take_stock("stock\n1\n"), -1);
    assert_string_equal(why.text, "[Stock]: there is no column left; name it with AS left");
    assert_int_equal(take_stock("left,initial\n1,\n"), -1);
    assert_string_equal(
        why.text, "[Stock], row 1: the column initial is NULL; a coalesce() gives it a value");
}

static int take_writes(const char *text) {
    rows_free(&rows);
    books_free(&books);
    rows.query = "[Writes]";
    return rows_read(&rows, text, strlen(text), &why) == 0 ? books_take_writes(&books, &rows, &why)
                                                           : -1;
}

static void test_writes_of_the_count(void **state) {
    struct ledger ledger = {0};

    assert_int_equal(take_writes("seq,found,left,row,tx,at,order_id\n"
                                 "2,49,49,a,12,2026-11-21 10:01:02+00,B\n3,50,49,,,noon,\n"
                                 "1,50,49,a,11,,A\n"),
                     0);
    assert_int_equal(books.write_count, 3);
    assert_string_equal(books.writes[0].row, "");
    assert_int_equal(books.writes[0].at_us, 0);
    assert_int_equal(books.writes[1].seq, 1);
    assert_int_equal(books.writes[1].found, 50);
    assert_int_equal(books.writes[1].tx, 11);
    assert_string_equal(books.writes[1].order_id, "A");
    assert_int_equal(books.writes[2].left, 49);
    assert_int_equal(books.writes[2].at_us, ledger_time_us("2026-11-21T10:01:02.000000Z"));
    books_give_writes(&books, &ledger);
    assert_true(ledger.has_writes);
    assert_int_equal(ledger.write_count, 3);
    ledger_free(&ledger);
    books_free(&books);
    books_give_writes(&books, &ledger);
    assert_int_equal(take_writes(""), 0);
    assert_true(books.has_writes);
}

static void test_mistakes_of_the_writes(void **state) {
    assert_int_equal(take_writes("seq,found\n1,2\n"), -1);
    assert_string_equal(why.text, "[Writes]: there is no column left; name it with AS left");
    assert_int_equal(take_writes("seq,found,left\n1,2,\n"), -1);
    assert_string_equal(why.text,
                        "[Writes], row 1: the column left is NULL; a coalesce() gives it a value");
    assert_int_equal(take_writes("seq,found,left\n1,2,1000000000001\n"), -1);
    assert_string_equal(why.text, "[Writes], row 1: the column left is 1000000000001, and no count "
                                  "of units");
    assert_int_equal(take_writes("seq,found,left\n7,2,1\n7,1,0\n"), -1);
    assert_string_equal(why.text, "[Writes]: the column seq has 7 a second time");
    assert_int_equal(
        take_writes("seq,found,left,row\n1,2,1,aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
                    "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\n"),
        -1);
    assert_string_equal(why.text, "[Writes], row 1: the column row has more than 63 bytes");
}

static void test_bytes_that_no_row_has(void **state) {
    static const char nul[] = "order_id\0,quantity\n";

    assert_int_equal(rows_read(&rows, nul, sizeof nul - 1, &why), -1);
    assert_string_equal(why.text, "[Orders]: the output has a NUL");
}

static void scenario(void *text) {
    (void)take(text);
}

static void test_each_allocation_may_fail(void **state) {
    char csv[] = "order_id,quantity,key,at,instance\n\"a\",1,k,t,i\n",
         json[] = "{\"order_id\": 1, \"quantity\": \"1\"}";

    fault_each_allocation(scenario, csv);
    fault_each_allocation(scenario, json);
}

int main(void) {
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
        TEST(test_each_form_gives_the_same_rows),
        TEST(test_quotes_and_escapes),
        TEST(test_all_columns),
        TEST(test_no_rows),
        TEST(test_each_mistake_names_its_place),
        TEST(test_mistakes_of_the_stock),
        TEST(test_writes_of_the_count),
        TEST(test_mistakes_of_the_writes),
        TEST(test_bytes_that_no_row_has),
        TEST(test_each_allocation_may_fail),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
