/* The ledger, read for settling: page by page, with rows that came late. */
#include "instance.h"

#include "json_read.h"
#include "reservation_sql.h"
#include "text_copy.h"

#define SLOW "0190b2a8-7f00-7000-8000-000000000001"

static void sell_some(const char *product_id, size_t count) {
    for (size_t i = 0; i < count; i++)
        assert_int_equal(sell_one(product_id), OUTCOME_SOLD);
}

/* A fiber that reads a page of the ledger, and keeps the first two ids. */
struct page {
    struct reservation_place place;
    char order_ids[2][UUID_TEXT];
    size_t count;
    struct why why;
    enum outcome outcome;
    int64_t overlap_ms, older_than_ms;
};

static void read_ids(struct page *page, const struct buffer *text) {
    json_t *ids = json_read(text->bytes, text->length, NULL);

    page->count = json_array_size(ids);
    for (size_t i = 0; i < page->count; i++)
        text_copy(page->order_ids[i], UUID_TEXT, json_string_value(json_array_get(ids, i)));
    if (page->count > 0)
        assert_string_equal(page->place.order_id, page->order_ids[page->count - 1]);
    json_decref(ids);
}

static void run_list(void *arg) {
    struct page *page = arg;
    struct buffer text = {0};

    page->outcome = reservation_sql_list(instance.store.pool, &page->place, page->overlap_ms,
                                         page->older_than_ms, 2, &text, &page->why);
    if (page->outcome == OUTCOME_OK)
        read_ids(page, &text);
    buffer_free(&text);
}

static void next_page(struct page *page) {
    in_fiber(run_list, page);
    assert_int_equal(page->outcome, OUTCOME_OK);
}

static void test_the_ledger_is_read_page_by_page_without_loss(void **state) {
    struct page page = {.place = {.order_id = "00000000-0000-0000-0000-000000000000"}};
    struct page young = {.place = page.place, .older_than_ms = 3600000};
    size_t read = 0, all;
    const char *id = make_product("atomic", 6);

    sell_some(id, 5);
    /* All have the same moment, so the order id decides. */
    run_sql("UPDATE reservation SET reserved_at = '2026-01-01 00:00:00.123456+00'");
    all = (size_t)ask("SELECT count(*) FROM reservation");
    do {
        next_page(&page);
        read += page.count;
        if (page.count == 2)
            assert_true(strcmp(page.order_ids[0], page.order_ids[1]) < 0);
    } while (page.count > 0);
    assert_int_equal(read, all);
    sell_some(id, 1);
    run_sql("UPDATE reservation SET reserved_at = clock_timestamp()");
    next_page(&young);
    assert_int_equal(young.count, 0);
    assert_int_equal(young.place.reserved_us, 0);
}

/* Rows are read again while a transaction runs that began before them, even one of another test in
 * another database of the server. */
static void read_to_the_end(struct page *page) {
    const int64_t deadline_ms = clock_now_ms() + 20000;

    do {
        next_page(page);
        assert_true(clock_now_ms() < deadline_ms);
    } while (page->count > 0);
}

/* Its commit took longer than the others', so it comes behind rows that were read meanwhile. */
static void test_what_comes_behind_the_place_is_read_and_then_no_more(void **state) {
    struct page page = {.place = {.order_id = "00000000-0000-0000-0000-000000000000"},
                        .overlap_ms = 60000};
    const char *id;

    run_sql("DELETE FROM reservation");
    id = make_product("atomic", 5);
    sell_some(id, 1);
    run_sql("BEGIN; INSERT INTO reservation SELECT '" SLOW "', product_id, 0, 2, 1, 'slow', "
            "0, reserved_at - interval '30 seconds' FROM reservation");
    next_page(&page);
    assert_int_equal(page.count, 1);
    run_sql("COMMIT");
    next_page(&page);
    assert_true(page.count > 0);
    assert_string_equal(page.order_ids[0], SLOW);
    read_to_the_end(&page);
    sell_some(id, 1);
    next_page(&page);
    assert_true(page.count > 0);
    read_to_the_end(&page);
}

/* The pages after the first are read without an overlap. */
static void test_pages_of_an_overlap_leave_nothing_out(void **state) {
    struct page page = {.place = {.order_id = "00000000-0000-0000-0000-000000000000"},
                        .overlap_ms = 60000};
    const char *id;
    size_t read = 0;

    run_sql("DELETE FROM reservation");
    id = make_product("atomic", 9);
    sell_some(id, 9);
    do {
        next_page(&page);
        page.overlap_ms = 0;
        read += page.count;
    } while (page.count > 0);
    assert_int_equal(read, 9);
    page.overlap_ms = 60000;
    read_to_the_end(&page);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_the_ledger_is_read_page_by_page_without_loss),
        TEST(test_what_comes_behind_the_place_is_read_and_then_no_more),
        TEST(test_pages_of_an_overlap_leave_nothing_out),
    };

    return cmocka_run_group_tests(tests, make_schema, drop_schema);
}
