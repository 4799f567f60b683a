/* TWIN and STALE by the writes of the count: lost updates are found, and no innocent shop is
 * accused. */
#include "fault.h"
#include "verdict_fixture.h"

#define WRITES 16

static struct ledger told;

/* A sale of a shop whose sales tell no numbers: orders A, B, C, ... of `quantities` units. */
struct tale {
    const char *name;
    const char *writes; /* "TX:FOUND>LEFT", each with "/ROW" or "=ORDER" perhaps; - for nothing */
    int64_t initial, left;
    const char *quantities; /* a digit for each order; "/" and what is held for it, perhaps */
    int64_t twins, stales;
};

static const struct tale tales[] = {
    /* ---- innocent shops */
    {"atomic", "1:3>2 2:2>1 3:1>0", 3, 0, "111", 0, 0},
    {"atomic by several units", "1:9>7 2:7>4", 9, 4, "23", 0, 0},
    {"another column of the row is saved, too", "1:3>2 1:2>2 2:2>2 3:2>1 4:1>1", 3, 1, "11", 0, 0},
    {"a unit comes back, and is sold again", "1:2>1 2:1>0 3:0>1 4:1>0", 2, 0, "11", 0, 0},
    {"a hold that ends leaves nothing behind", "1:2>1 2:1>2 3:2>1", 2, 1, "1", 0, 0},
    {"a hold that has not ended yet", "1:2>1 2:1>0", 2, 0, "1", 0, 0},
    {"the row comes with the first sale", "1:->2 2:2>1 3:1>0", 3, 0, "111", 0, 0},
    {"a row for each unit", "1:1>0/a 2:1>0/b", 2, 0, "11", 0, 0},
    {"a log in which no transaction is known", "0:3>2 0:2>2 0:2>1", 3, 1, "11", 0, 0},
    {"a log that is not in the order of writing", "0:2>1 0:3>2 0:1>0", 3, 0, "111", 0, 0},
    {"it sells below zero, and counts that", "1:1>0 2:0>-1", 1, -1, "11", 0, 0},
    {"nothing is sold", "1:3>3 2:3>4 3:4>3", 3, 3, "", 0, 0},
    {"no write", "", 3, 3, "", 0, 0},

    /* ---- lost updates */
    {"two orders read 3", "1:3>2 2:2>2", 3, 2, "11", 1, 0},
    {"three orders read 3", "1:3>2 2:2>2 3:2>2", 3, 2, "111", 2, 0},
    {"two orders of 2 units read 9", "1:9>7 2:7>7", 9, 7, "22", 1, 0},
    {"the last unit that may be held is not sold twice", "1:2>1 2:1>1 3:1>0", 2, 0, "111", 1, 0},
    {"an old number is written over two newer ones", "1:5>4 2:4>3 3:3>2 4:2>4", 5, 4, "1111", 0, 1},
    {"an order takes less than it sold", "1:9>8 2:8>7 3:7>6 4:6>5", 9, 5, "2222", 0, 3},
    {"a saved column among twins: the sums count them", "1:3>2 2:2>2 9:2>2", 3, 2, "11", 1, 0},
    {"one row for each unit, sold twice", "1:1>0/a 2:0>0/a 3:1>0/b", 2, 0, "111", 0, 0},
    {"the same, and the shop tells what is held", "1:1>0/a 2:0>0/a 3:1>0/b", 2, 0, "111/111", 1, 0},
    {"a log of numbers that were read", "0:3>2 0:3>2", 3, 2, "11", 1, 0},
    {"a log of numbers that were read, the last unit", "0:1>0 0:1>0", 1, 0, "11", 1, 0},
    {"a log that names the orders", "0:3>2=A 0:2>2=B 0:2>2=Z 0:2>1=C", 3, 1, "111", 1, 0},
    {"an order that took its unit by another write", "0:3>2=A 0:2>2=A 0:2>2=B", 3, 2, "11", 1, 0},

    /* ---- guilty in another way */
    {"an order beyond the stock finds 0 and takes nothing", "1:1>0 2:0>0", 1, 0, "11", 0, 0},
    {"the same at another number, and it holds nothing", "1:3>2 2:2>2", 3, 2, "11/10", 0, 0},
    {"orders without a write", "1:3>2", 3, 2, "11", 0, 0},
    {"no order ever writes the count", "1:3>3 2:3>3", 3, 3, "11", 0, 0},
    {"a unit comes back, and an order has no write", "1:3>2 2:2>1 3:1>2", 3, 2, "11", 0, 0},
    {"one transaction saves twice", "1:3>2 1:2>2", 3, 2, "11", 0, 0},
};

static void add_writes(const char *text) {
    char tx[8], found[8], left[8], row[8];
    const char *named;
    int length;

    told.has_writes = true;
    told.write_count = 0;
    told.writes = calloc(WRITES, sizeof *told.writes);
    assert_non_null(told.writes);
    for (; *text != '\0'; text += length + (text[length] == ' ')) {
        struct ledger_write *write = &told.writes[told.write_count];

        assert_true(told.write_count < WRITES);

        row[0] = '\0';
        length = (int)strcspn(text, " ");
        if (sscanf(text, "%7[0-9]:%7[-0-9]>%7[-0-9]/%7[a-z]", tx, found, left, row) < 3)
            fail_msg("%s", text);
        named = memchr(text, '=', (size_t)length);
        *write = (struct ledger_write){.seq = (int64_t)++told.write_count,
                                       .tx = atoll(tx),
                                       .found = found[1] == '\0' && found[0] == '-' ? WRITE_NOTHING
                                                                                    : atoll(found),
                                       .left = atoll(left)};
        strcpy(write->row, row);
        if (named != NULL)
            (void)snprintf(write->order_id, sizeof write->order_id, "%.1s", named + 1);
        write->at_us = ledger_time_us("2026-11-21T10:01:02.000000Z") + (int64_t)told.write_count;
    }
    writes_sort(told.writes, told.write_count);
}

static void judge_tale(const struct tale *tale) {
    static const char *const names[] = {"A", "B", "C", "D", "E", "F"};
    struct ledger_told rows[sizeof names / sizeof *names];
    const size_t count = strcspn(tale->quantities, "/");
    const bool is_held = tale->quantities[count] == '/';
    struct why why;

    for (size_t i = 0; i < count; i++)
        rows[i] =
            (struct ledger_told){.id = names[i],
                                 .quantity = tale->quantities[i] - '0',
                                 .unit = LEDGER_UNTOLD,
                                 .remaining = LEDGER_UNTOLD,
                                 .reserved = is_held ? tale->quantities[count + 1 + i] - '0' : -1};
    ledger_free(&told);
    if (ledger_tell(&told, tale->initial, tale->left, rows, count, false, &why) != 0)
        fail_msg("%s", why.text);
    add_writes(tale->writes);
    judged.ledgers = &told;
    judge();
}

static void test_the_tales(void **state) {
    for (size_t i = 0; i < sizeof tales / sizeof *tales; i++) {
        judge_tale(&tales[i]);
        if (verdict.found[ANOMALY_TWIN].count != tales[i].twins ||
            verdict.found[ANOMALY_STALE].count != tales[i].stales)
            fail_msg("%s: TWIN %" PRId64 ", STALE %" PRId64, tales[i].name,
                     verdict.found[ANOMALY_TWIN].count, verdict.found[ANOMALY_STALE].count);
    }
}

static void expect(const char *writes, const char *quantities, enum anomaly anomaly,
                   const char *const *lines) {
    const struct tale tale = {.writes = writes, .initial = 5, .left = 4, .quantities = quantities};
    const struct counterexample *example;

    judge_tale(&tale);
    example = counterexample_of(anomaly);
    assert_string_equal(verdict.found[anomaly].example[0], lines[0]);
    for (size_t i = 0; i < example->lines; i++)
        assert_string_equal(example->line[i], lines[i + 1]);
    assert_int_equal(example->lines, 4);
}

static void test_a_twin_is_told_with_moments_and_transactions(void **state) {
    static const char *const lines[] = {
        "transaction 12 at 10:01:02.000002 found 4 left and left 4: it had read 5, and it took the "
        "same unit as transaction 11 at 10:01:02.000001",
        "A = transaction 11 at 10:01:02.000001: found 5 left, and left 4.",
        "B = transaction 12 at 10:01:02.000002: found 4 left, and left 4.",
        "B took nothing: it had read 5, and A and B took the same unit: a contradiction.",
        "2 units were sold, and all writes of the count together took 1: at least 1 of the 1 "
        "writes that took too little were sales."};

    expect("11:5>4 12:4>4", "11", ANOMALY_TWIN, lines);
}

static void test_a_stale_write_is_told_with_moments_and_transactions(void **state) {
    static const char *const lines[] = {
        "order C at 10:01:02.000003 found 3 left and left 4: it had read 5, and wrote over order B "
        "at 10:01:02.000002",
        "A = order B at 10:01:02.000002: found 4 left in row x, and left 3.",
        "B = order C at 10:01:02.000003: found 3 left in row x, and left 4.",
        "B wrote over what A had left: it had read 5: a contradiction.",
        "3 units were sold, and all writes of the count together took 2: at least 1 of the 1 "
        "writes that took too little were sales."};

    expect("0:5>4/x=A 0:4>3/x=B 0:3>4/x=C", "111", ANOMALY_STALE, lines);
}

static void test_what_is_not_known_is_not_told(void **state) {
    static const char *const lines[] = {
        "write 3 at 10:01:02.000003 found 3 left and left 4: it had read an older number, and "
        "wrote over write 2 at 10:01:02.000002",
        "A = write 2 at 10:01:02.000002: found 4 left, and left 3.",
        "B = write 3 at 10:01:02.000003: found 3 left, and left 4.",
        "B wrote over what A had left: it had read an older number: a contradiction.",
        "4 units were sold, and all writes of the count together took 2: at least 1 of the 1 "
        "writes that took too little were sales."};

    expect("0:5>4 0:4>3 0:3>4", "112", ANOMALY_STALE, lines);
}

static void test_writes_answer_what_the_sales_do_not(void **state) {
    const struct tale tale = {.writes = "1:5>4", .initial = 5, .left = 4, .quantities = "1"};

    judge_tale(&tale);
    assert_null(verdict.not_asked[ANOMALY_TWIN]);
    assert_null(verdict.not_asked[ANOMALY_STALE]);
    told.has_writes = false;
    judge();
    assert_non_null(verdict.not_asked[ANOMALY_TWIN]);
    assert_non_null(verdict.not_asked[ANOMALY_STALE]);
}

static void judge_with_faults(void *arg) {
    (void)!verdict_judge(&judged, &verdict);
}

static void test_without_memory_there_is_no_verdict(void **state) {
    judge_tale(&tales[0]);
    fault_each_allocation(judge_with_faults, NULL);
}

static int tear_down(void **state) {
    ledger_free(&told);
    return verdict_tear_down(state);
}

int main(void) {
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, verdict_set_up, tear_down)
        TEST(test_the_tales),
        TEST(test_a_twin_is_told_with_moments_and_transactions),
        TEST(test_a_stale_write_is_told_with_moments_and_transactions),
        TEST(test_what_is_not_known_is_not_told),
        TEST(test_writes_answer_what_the_sales_do_not),
        TEST(test_without_memory_there_is_no_verdict),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
