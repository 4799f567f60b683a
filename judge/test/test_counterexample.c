/* The smallest counterexample of each anomaly, word by word. */
#include "scene.h"

static const struct telling tellings[] = {
    {"a twin names what each read and wrote", "sold:10 sold:10%10:01:02.123999 left=9",
     ANOMALY_TWIN, ALL,
     "A = order " ORDER "0 via inventory-1: sent 0.000100 s, read 10, wrote 9 at "
     "10:01:02.123456, answered 0.003000 s\n"
     "B = order " ORDER "1 via inventory-2: sent 0.001100 s, read 10, wrote 9 at "
     "10:01:02.123999, answered 0.004000 s\n"
     "B read 10 before A wrote 9, so both sold unit 10.\n"
     "There was one unit 10, and two orders have it: a contradiction."},
    {"a count that was higher before was not set back",
     "stock=11 sold:11%10:00:01.000000 sold:10 sold:10 left=9", ANOMALY_TWIN, 2,
     "B read 10 before A wrote 9, so both sold unit 10."},
    {"a twin that began after the first was told read a stale count",
     "sold:10@0.1-2 sold:10@2.000001-4 left=9", ANOMALY_TWIN, 2,
     "B was sent after A had been answered. A had left 9, and B read 10, so both sold unit 10."},
    {"a twin that began after the first was told is B, even if the ledger's clock says otherwise",
     "sold:10@0.1-2%10:01:03.000000 sold:10@2.000001-4 left=9", ANOMALY_TWIN, 0,
     "A = order " ORDER "0 via inventory-1: sent 0.000100 s, read 10, wrote 9 at 10:01:03.000000, "
     "answered 0.002000 s"},
    {"a sale without a name was sent at an unknown time", "keyless ~unknown sold:10 row:10=511",
     ANOMALY_TWIN, 1,
     "B = order 01900000-0000-7000-8000-000000000511 via inventory-2: sent without a "
     "key at an unknown time, read 10, wrote 9 at 10:01:02.123456, not told: no "
     "reply arrived, or the reply says unknown"},
    {"an oversell names the unit that never was", "sold:11", ANOMALY_OVERSELL, ALL,
     "A = order " ORDER "0 via inventory-1: sent 0.000100 s, read 11, wrote 10 at 10:01:02.123456, "
     "answered 0.003000 s\n"
     "A sold unit 11, but its stock row had units 1 to 10: a contradiction."},
    {"a sale of a row that is not there is told with the stock", "sold:11#7", ANOMALY_OVERSELL, 1,
     "A sold unit 11, but the stock had units 1 to 10: a contradiction."},
    {"an undersell names the last refusal", "sold:10 sold_out sold_out", ANOMALY_UNDERSELL, ALL,
     "A = request " ORDER "2: sent 0.002100 s, told: sold out at 0.005000 s\n"
     "At the end 9 units are left in the stock.\n"
     "They were never sold, so they were in the stock when A was told sold out: a contradiction."},
    {"an early refusal is told with the next buyer",
     "sold:10..2 sold_out sold_out@10.1-15 sold:1@16-18", ANOMALY_EARLY_SOLD_OUT, ALL,
     "A = request 01900000-0000-7000-8000-000000000010: sent 0.010100 s, told: sold "
     "out at 0.015000 s\n"
     "B = order 01900000-0000-7000-8000-000000000011 via inventory-2: sent 0.016000 "
     "s, read 1, wrote 0 at 10:01:02.123456, answered 0.018000 s\n"
     "B was sent after A had been answered, and got unit 1.\n"
     "The count of a stock only falls, so that unit was in the stock when A was told sold out: "
     "a contradiction."},
    {"a stale sale is told with the one that passed it", "sold:10 sold:8 sold:9@5-6", ANOMALY_STALE,
     ALL,
     "A = order " ORDER "1 via inventory-2: sent 0.001100 s, read 8, wrote 7 at 10:01:02.123456, "
     "answered 0.004000 s\n"
     "B = order " ORDER "2 via inventory-1: sent 0.005000 s, read 9, wrote 8 at 10:01:02.123456, "
     "answered 0.006000 s\n"
     "B was sent after A had been answered. A had left 7, and B read 9.\n"
     "The count of a stock only falls: a contradiction."},
    {"a ghost says what the ledger lacks", "promise:10", ANOMALY_GHOST, ALL,
     "A = request " ORDER "0: sent 0.000100 s, told: yours, unit 10, at 0.003000 s\n"
     "The ledger has no sale of that order: a contradiction."},
    {"a ghost of another unit names both", "sold:10>9", ANOMALY_GHOST, ALL,
     "A = request " ORDER "0: sent 0.000100 s, told: yours, unit 9, at 0.003000 s\n"
     "The ledger says that A has unit 10: a contradiction."},
    {"a shared order names the other customer", "sold:10 promise:10!0", ANOMALY_GHOST, ALL,
     "A = request " ORDER "0: sent 0.001100 s, told: yours, unit 10, at 0.004000 s\n"
     "Another customer, with the key " ORDER "0, has the same order: a contradiction."},
    /* The first customer is told the order of the second, which got no answer. */
    {"a shared order of unknown outcome names its customer", "promise:10!1 unknown:10",
     ANOMALY_GHOST, 1,
     "Another customer, with the key " ORDER "1, has the same order: a contradiction."},
    {"an order that is not its key names the key", "promise:10!3 row:10=3", ANOMALY_GHOST, 1,
     "A was the answer to the key " ORDER "0, but an order's id is its key: a contradiction."},
    {"an orphan gives the answer to its customer", "busy:10", ANOMALY_ORPHAN, ALL,
     "A = order " ORDER
     "0 via inventory-1: sent 0.000100 s, read 10, wrote 9 at 10:01:02.123456, told: "
     "too busy, nothing was sold\n"
     "The ledger has a sale, and its customer was told no: a contradiction."},
    {"a denial after a yes is told with both", "sold:10 refused=0@4-4", ANOMALY_ORPHAN, ALL,
     "A = order " ORDER "0 via inventory-1: sent 0.000100 s, read 10, wrote 9 at 10:01:02.123456, "
     "answered 0.003000 s\n"
     "B = request " ORDER "0: sent 0.004000 s, told: a bad request at 0.004000 s\n"
     "A's customer was told yes, asked again as B with the same key, and was told no: "
     "a contradiction."},
    {"a sale that each request came too late for is an orphan",
     "keyless ~unknown@5-90 sold:9@1-4 row:10=511 left=8", ANOMALY_ORPHAN, 1,
     "Each request without an answer was sent after that unit was gone, or has "
     "another order: a contradiction."},
    {"a duplicate names both orders", "sold:9>10!1^10 row:10=1", ANOMALY_DUPLICATE, ALL,
     "A = order " ORDER "0 via inventory-1: sent 0.000100 s, read 9, wrote 8 at 10:01:02.123456, "
     "answered with order " ORDER "1\n"
     "B = order " ORDER "1 via inventory-2: sent 0.000100 s, read 10, wrote 9 at 10:01:02.123456, "
     "answered 0.003000 s\n"
     "Both were sold for the key " ORDER "0, but one key buys one unit: a contradiction."},
    {"a duplicate names the two replies that differ", "sold:10 promise:10=0!0 promise:9=0!0",
     ANOMALY_DUPLICATE, ALL,
     "A = request " ORDER "0: sent 0.000100 s, told: yours, unit 10, at 0.003000 s\n"
     "B = request " ORDER "0: sent 0.002100 s, told: yours, unit 9, at 0.005000 s\n"
     "Both replies are to the key " ORDER "0, but one key buys one unit: a contradiction."},
    {"a leak names the neighbours of the missing unit", "sold:10 sold:8 left=7", ANOMALY_LEAK, ALL,
     "A = order " ORDER "1 via inventory-2: sent 0.001100 s, read 8, wrote 7 at 10:01:02.123456, "
     "answered 0.004000 s\n"
     "B = order " ORDER "0 via inventory-1: sent 0.000100 s, read 10, wrote 9 at 10:01:02.123456, "
     "answered 0.003000 s\n"
     "A saw unit 9 gone; but no order has it, and no request gave it back: a contradiction.\n"
     "7 left + 2 units sold is 9, and the stock was 10: 1 unit is neither sold nor left."},
    /* The last writer had read before the others did. */
    {"a leak names the unit that is sold and in the stock",
     "sold:10 sold:9 sold:10%10:01:02.999999 left=9", ANOMALY_LEAK, ALL,
     "A = order " ORDER "1 via inventory-2: sent 0.001100 s, read 9, wrote 8 at 10:01:02.123456, "
     "answered 0.004000 s\n"
     "B = order " ORDER "2 via inventory-1: sent 0.002100 s, read 10, wrote 9 at 10:01:02.999999, "
     "answered 0.005000 s\n"
     "B wrote 9 after A had written 8.\n"
     "9 are left, from unit 1 up, so unit 9 is in the stock; but A sold it: a contradiction.\n"
     "9 left + 2 units sold is 11, and the stock was 10: 1 unit is sold and still in the stock."},
    {"a leak names the unit that is gone at the end", "sold:10 left=8", ANOMALY_LEAK, ALL,
     "A = order " ORDER "0 via inventory-1: sent 0.000100 s, read 10, wrote 9 at 10:01:02.123456, "
     "answered 0.003000 s\n"
     "8 are left, from unit 1 up, so unit 9 is gone; but no order has it, and no request gave it "
     "back: a contradiction.\n"
     "8 left + 1 unit sold is 9, and the stock was 10: 1 unit is neither sold nor left."},
    {"a leak of a contradictory row names the unit that it took", "sold:10/4", ANOMALY_LEAK, ALL,
     "A = order " ORDER
     "0 via inventory-1: sent 0.000100 s, took unit 10 at 10:01:02.123456, answered "
     "0.003000 s\n"
     "A left 4 there, from unit 1 up, so it took unit 5; but the ledger says unit 10: "
     "a contradiction.\n"
     "9 left + 1 unit sold is 10, which equals the stock (1 leaked: 1 sold with a wrong "
     "count)."},
    {"the sums of a leak name a unit too many and one too few", "sold:10 sold:8 left=8",
     ANOMALY_LEAK, LAST,
     "8 left + 2 units sold is 10, which equals the stock (2 leaked: 1 gone, 1 sold and "
     "in the stock)."},
    {"the sums of a leak count units that came back", "sold:10 returned=3", ANOMALY_LEAK, LAST,
     "9 left + 3 returned + 1 unit sold is 13, and the stock was 10: 3 units are too many."},
    {"the sums of a leak say no more than too many", "sold:10 left=12", ANOMALY_LEAK, LAST,
     "12 left + 1 unit sold is 13, and the stock was 10: 3 units are too many."},
    {"the sums of a leak say no more than too few", "sold:10 left=-1", ANOMALY_LEAK, LAST,
     "-1 left + 1 unit sold is 0, and the stock was 10: 10 units are too few."},
    {"the sums of a leak say no more of a unit that never was", "sold:11 left=10", ANOMALY_LEAK,
     LAST, "10 left + 1 unit sold is 11, and the stock was 10: 1 unit is too many."},
    /* One request has an unknown outcome, and two units are gone. */
    {"a leak of a unit that came back says why it cannot", "sold:10 sold:8 back:9 left=7",
     ANOMALY_LEAK, 0,
     "Unit 9 came back; but an order with a key is never given back: a contradiction."},
    {"a leak of a unit that nobody gave back says so", "keyless sold:10 sold:8 back:9 left=7",
     ANOMALY_LEAK, 0,
     "Unit 9 came back; but too few requests can have given a unit back: such a request was sent "
     "in time, and was told busy, an error or nothing: a contradiction."},
    {"a unit that never was came back", "unknown sold:10 sold:8 left=7 back:51", ANOMALY_LEAK, 0,
     "Unit 51 came back for sale to a stock row that never had it: a contradiction."},
    {"a leak counts the unknown outcomes", "unknown sold:7 sold:10 left=6", ANOMALY_LEAK, 2,
     "A saw units gone, from unit 8 up, that no order has and no request gave back; too "
     "few requests of unknown outcome were sent in time to have taken them: a "
     "contradiction."},
    {"a counterexample without a sale says so", "stock=300 busy*400 stuck_ns=100000000",
     ANOMALY_STUCK, 1, "400 customers asked, and nothing was ever sold."},
    {"a leak of a shard says which and what it has", "rows=2 left1=7 left=12", ANOMALY_LEAK, ALL,
     "Shard 1 began with 5 units, 6 to 10: 0 different ones sold, 7 left.\n"
     "12 left + 0 units sold is 12, and the stock was 10: 2 units are too many."},
    {"the last sale and the answers to the others are named",
     "stock=300 stuck_ns=100000000 sold:300 busy*397 unknown busy", ANOMALY_STUCK, ALL,
     "A = order " ORDER "0 via inventory-1: sent 0.000100 s, read 300, wrote 299 at "
     "10:01:02.123456, answered 0.003000 s\n"
     "B = request 01900000-0000-7000-8000-000000000399: sent 0.399100 s, told: too busy, "
     "nothing was sold at 0.402000 s\n"
     "A was the last sale, and 397 customers asked after it. If A took a lock, the last holder "
     "that the ledger knows is inventory-1.\n"
     "From 0.302 s to the end of the demand at 0.402 s no customer got a unit: 100 busy, 1 "
     "unknown.\n"
     "No server was known to be down then, and at the end 299 units are left "
     "in the stock: a contradiction."},
    {.name = NULL},
};

static void test_a_twin_has_what_a_picture_needs(void **state) {
    const struct counterexample *twin;

    sell(10);
    sell(10);
    at_time(1, "10:01:02.123999");
    ledger.available = 9;
    twin = counterexample_of(ANOMALY_TWIN);
    assert_int_equal(twin->ops, 2);
    assert_string_equal(twin->order_id[1], ids[1]);
    assert_string_equal(twin->op[1].instance, "inventory-2");
    assert_int_equal(twin->from_ns, MS / 10);
    assert_int_equal(twin->to_ns, 4 * MS);
    assert_int_equal(twin->op[1].ledger_us - twin->op[0].ledger_us, 543);
}

/* The count was 9; then another sale wrote 10 again. So the second twin may have read after the
 * first one had written. */
static void test_a_twin_of_a_count_that_was_set_back_says_so(void **state) {
    ledger.initial = ledger.available = 11;
    sell(11);
    sell(10);
    sell(11);
    sell(10);
    for (int i = 0; i < 4; i++)
        at_time(i, (const char *[]){"10:00:01.000000", "10:00:02.000000", "10:00:03.000000",
                                    "10:00:03.500000"}[i]);
    ledger.available = 9;
    judge();
    assert_int_equal(verdict.found[ANOMALY_TWIN].count, 2);
    assert_string_equal(verdict.counterexample[0].line[2],
                        "B read 10 before A wrote 9, or after another sale had written 10 "
                        "again, so both sold unit 10.");
    assert_string_equal(verdict.counterexample[1].line[2],
                        "B read 11 before A wrote 10, so both sold unit 11.");
    request(RECORD_UNKNOWN); /* its sale may have set the count back, and was given back */
    judged.is_keyless = true;
    judge();
    assert_non_null(strstr(verdict.counterexample[1].line[2], "or after another sale"));
}

static void test_the_tightest_twins_come_first(void **state) {
    sell(10);
    sell(10);
    sell(9);
    sell(9);
    at_time(1, "10:01:02.999999");
    ledger.available = 8;
    judge();
    assert_int_equal(verdict.counterexamples, 2);
    assert_string_equal(verdict.counterexample[0].order_id[0], ids[2]);
    assert_string_equal(verdict.counterexample[1].order_id[0], ids[0]);
}

/* Twins of one instance come first only if they are tighter by more than a millisecond. */
static void test_twins_of_two_instances_come_before_those_of_one(void **state) {
    sell(10);
    sell(10);
    sell(9);
    sell(9);
    sales[1].instance = sales[0].instance;
    at_time(3, "10:01:02.124456");
    ledger.available = 8;
    judge();
    assert_string_equal(verdict.counterexample[0].order_id[0], ids[2]);
    at_time(3, "10:01:02.124457");
    judge();
    assert_string_equal(verdict.counterexample[0].order_id[0], ids[0]);
}

static void test_different_anomalies_come_before_more_twins(void **state) {
    for (int i = 0; i < 9; i++)
        sell(10)->sent_ns = 1;
    request(RECORD_SOLD)->unit = 3;
    ledger.available = 9;
    judge();
    assert_int_equal(verdict.counterexamples, VERDICT_COUNTEREXAMPLES);
    assert_int_equal(verdict.counterexample[0].anomaly, ANOMALY_TWIN);
    assert_int_equal(verdict.counterexample[1].anomaly, ANOMALY_GHOST);
    for (size_t i = 2; i < VERDICT_COUNTEREXAMPLES; i++)
        assert_int_equal(verdict.counterexample[i].anomaly, ANOMALY_TWIN);
}

static void test_a_sale_of_unknown_outcome_is_open_at_its_end(void **state) {
    const struct counterexample *twin;
    struct record *record;

    sell(10);
    record = sell(10);
    record->outcome = RECORD_UNKNOWN;
    record->order_id = NULL;
    ledger.available = 9;
    twin = counterexample_of(ANOMALY_TWIN);
    assert_non_null(strstr(twin->line[1], ", not told: no reply arrived"));
    assert_int_equal(twin->op[1].answered_ns, 0);
    assert_int_equal(twin->to_ns, 3 * MS);
}

/* One request was told no, but the other request of the key may have bought. */
static void test_a_key_with_an_unknown_outcome_is_open_at_its_end(void **state) {
    struct record *second;

    sell(10);
    sell(10)->outcome = RECORD_BUSY;
    second = request(RECORD_UNKNOWN);
    (void)record_set_id(&second->key, NULL, ids[1]);
    ledger.available = 9;
    assert_non_null(
        strstr(counterexample_of(ANOMALY_TWIN)->line[1], ", not told: no reply arrived"));
    assert_int_equal(counterexample_of(ANOMALY_TWIN)->op[1].answered_ns, 0);
}

static void test_a_shard_is_named_where_there_are_several(void **state) {
    static struct ledger_row rows[2] = {{0, 1, 5, 5, false, false}, {1, 6, 5, 5, false, false}};

    ledger.rows = rows;
    ledger.row_count = 2;
    sell(10);
    sell(10);
    sales[0].shard = sales[1].shard = 1;
    sales[0].remaining = sales[1].remaining = 4;
    ledger.available = 9;
    assert_int_equal(counterexample_of(ANOMALY_TWIN)->shard, 1);
    assert_non_null(strstr(verdict.counterexample[0].line[0], "read 5 in shard 1, wrote 4 at"));
    assert_string_equal(verdict.counterexample[0].line[2],
                        "B read 5 before A wrote 4, so both sold unit 10.");
}

static void test_a_valid_round_has_none(void **state) {
    sell(10);
    assert_kind(VERDICT_VALID);
    assert_int_equal(verdict.counterexamples, 0);
}

/* Only the sums show it, so no order is named. */
static void test_a_leak_of_a_shard_is_of_it(void **state) {
    static struct ledger_row rows[] = {{0, 1, 5, 5, false, false}, {1, 6, 5, 7, false, false}};

    ledger.rows = rows;
    ledger.row_count = 2;
    ledger.available = 12;
    assert_int_equal(counterexample_of(ANOMALY_LEAK)->shard, 1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        JUDGED(test_a_twin_has_what_a_picture_needs),
        JUDGED(test_a_twin_of_a_count_that_was_set_back_says_so),
        JUDGED(test_the_tightest_twins_come_first),
        JUDGED(test_twins_of_two_instances_come_before_those_of_one),
        JUDGED(test_different_anomalies_come_before_more_twins),
        JUDGED(test_a_sale_of_unknown_outcome_is_open_at_its_end),
        JUDGED(test_a_key_with_an_unknown_outcome_is_open_at_its_end),
        JUDGED(test_a_shard_is_named_where_there_are_several),
        JUDGED(test_a_valid_round_has_none),
        JUDGED(test_a_leak_of_a_shard_is_of_it),
    };

    return scene_run_group(NULL, tellings, tests, sizeof tests / sizeof *tests);
}
