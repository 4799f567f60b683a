/* The history of a shop: its name, its long ids, the times of its steps, doubts about a round. */
#include "history_fixture.h"
#include "steps.h"

/* The ids of a shop are longer than a UUID, and its orders tell more. */
static void test_a_round_of_another_shop_is_read_back(void **state) {
    static const char id[] = "gid://shop/Order/0123456789012345678901234567890123456789?a=b";
    struct ledger_sale *sale = &sales[1];
    struct ledger_write writes[] = {
        {.seq = INT64_MIN, .found = WRITE_NOTHING, .left = WRITE_MAX, .row = "a"},
        {.seq = INT64_MAX,
         .found = WRITE_MAX,
         .left = -WRITE_MAX,
         .tx = INT64_MAX,
         .row = "\xc3\xa4 \"1\", 2",
         .at_us = 1795255262123456,
         .order_id = "a-long-id/7"}};
    const struct ledger_extra extra = {.key = "key-7", .reserved = 0};
    const struct round *read;
    int doubted = 0;

    written.one.is_shop_named = true;
    ledger.is_unnumbered = ledger.has_units = true;
    ledger.can_return = ledger.has_unused = ledger.has_keys = true;
    ledger.has_reserved = true;
    ledger.has_writes = true;
    ledger.writes = writes;
    ledger.write_count = 2;
    sale->order_id = id;
    sale->extra = &extra;
    sale->quantity = 3;
    orders[1].order_id = id;
    assert_int_equal(record_set_order_id(&recorder->records[1], &recorder->texts, id), 0);
    (void)why_set(&written.one.doubts[0], "2 replies matched no rule");
    (void)why_set(&written.one.doubts[1], "the ledger moved");
    written.one.doubt_count = 2;
    read = written_again(1);
    assert_same_sale(&read->ledgers[0].sales[1], sale);
    assert_ptr_equal(read->ledgers[0].orders[1].order_id, read->ledgers[0].sales[1].order_id);
    assert_same_record(&read->recorder->records[1], &recorder->records[1]);
    assert_true(read->is_shop_named);
    assert_true(read->ledgers[0].is_unnumbered && read->ledgers[0].has_units);
    assert_true(read->ledgers[0].can_return && read->ledgers[0].has_keys);
    assert_true(read->ledgers[0].has_unused);
    assert_true(read->ledgers[0].has_reserved && read->ledgers[0].has_writes);
    assert_int_equal(read->ledgers[0].write_count, 2);
    assert_memory_equal(read->ledgers[0].writes, writes, sizeof writes);
    assert_int_equal(read->doubt_count, 2);
    assert_string_equal(read->doubts[1].text, "the ledger moved");
    assert_int_equal(round_judge(&written.history.rounds[0], NULL), 0);
    for (size_t i = 0; i < read->verdict.reasons; i++)
        doubted += strcmp(read->verdict.reason[i], read->doubts[0].text) == 0 ||
                   strcmp(read->verdict.reason[i], read->doubts[1].text) == 0;
    assert_int_equal(doubted, 2);
}

/* In order of time: one event before the round, and one that lasted beyond its end. */
/* A shop of two processes, and an order of one step. */
static void add_shop(void) {
    struct shop_about *about = &written.options.about;
    struct histogram *times = calloc(1, sizeof *times);

    assert_non_null(times);
    assert_int_equal(shop_about_make(about, "Vend\033ure", "3.7.3", "", "shops/a.shop"), 0);
    assert_int_equal(shop_about_add_base(about, "http://127.0.0.1:1"), 0);
    assert_int_equal(shop_about_add_base(about, "http://127.0.0.1:2"), 0);
    assert_int_equal(shop_about_add_base(about, "http://127.0.0.1:1"), 0);
    histogram_record(times, 1500);
    steps_add(&written.one.steps, "POST /pay\n", 61, 2, 1, times);
    free(times);
}

static void test_the_shop_and_its_steps_are_read_back(void **state) {
    const struct shop_about *about = &written.history.options.about;
    struct step_times step;

    add_shop();
    assert_true(steps_get(written_again(1)->steps, 0, &step));
    assert_string_equal(about->name, "Vend?ure");
    assert_string_equal(about->version, "3.7.3");
    assert_string_equal(about->config, "");
    assert_string_equal(about->file, "shops/a.shop");
    assert_int_equal(about->base_count, 2);
    assert_string_equal(about->bases[1], "http://127.0.0.1:2");
    assert_string_equal(step.name, "POST /pay ");
    assert_int_equal(step.line, 61);
    assert_int_equal(step.sent, 2);
    assert_int_equal(step.no_reply, 1);
    assert_float_equal(step.max_ms, 0.002, 1e-9);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        WRITTEN(test_a_round_of_another_shop_is_read_back),
        WRITTEN(test_the_shop_and_its_steps_are_read_back),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
