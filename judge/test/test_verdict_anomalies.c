/* Each anomaly in hand-made runs, on both sides of its boundary: answers to clients, repeated keys,
 * units that come back, additional findings of the exact check, and rounds of several products. */
#include "scene.h"

/* The stock is 10, and two customers buy after a refusal that arrived at 20 ms. */
#define REFUSED    "sold:10..3 sold_out@8.1-20 "
#define JUST_LATER "sold:2@20.000001-23.000001 sold:1@19.000001-22.000001"

static const struct scene scenes[] = {
    /* ---- the ledger alone */
    {"one unit in two orders is a twin", "sold:10 sold:10 sold:9 sold:10@2-6 left=8",
     "TWIN 2, distinct 2: unit 10 sold twice"},
    {"a twin is told with instance and time", "sold:10 sold:10 left=9",
     "TWIN 1: inventory-2 at 10:01:02.123"},
    {"more sales than stock are an oversell", "stock=2 sold:2 sold:1 sold:0 left=0",
     "OVERSELL 1, LEAK 1"},
    {"of sales beyond the stock the more count", "stock=2 sold:2 sold:3 sold:4",
     "OVERSELL 2, LEAK 2: the stock is 1 to 2"},
    {"a unit that never was is an oversell", "sold:11", "OVERSELL 1, LEAK 1"},
    {"one order with two ledger rows is a duplicate", "sold:10 sale:9=0", "DUPLICATE 1"},
    {"a twin that was given back is a leak", "sold:10 left=9 returned=1", "LEAK 1"},
    {"a missing unit is a leak", "sold:10 left=8", "LEAK 1"},
    {"a unit too many is a leak", "sold:10 returned=2", "LEAK 2"},
    {"a sale after the stock was read is no leak", /* one snapshot */
     "sold:10 unknown:9 counted=1 units=1 left=9", "inconclusive"},

    /* ---- refusals */
    {"units left after a refusal are an undersell", /* each could have bought */
     "sold:10 sold_out", "UNDERSELL 1: 1 requests were told sold out, and 9 units are left"},
    {"an undersell counts no more than units", "sold:10 sold_out*21", "UNDERSELL 9"},
    {"a unit returned after the last refusal is no undersell",
     "keyless sold:10..2 left=0 back:1 busy sold_out", "valid, left 1"},
    {"a refusal before a later buyer was sent is early", REFUSED JUST_LATER,
     "EARLY-SOLD-OUT 1, refused_early 1"},
    {"a refusal after the last buyer was sent is not early",
     REFUSED JUST_LATER " sold_out@11.1-20.000001", "EARLY-SOLD-OUT 1"},
    {"a refusal while the buyer was on its way is not early", REFUSED "sold:2@20-23 sold:1@19-22",
     "valid"},
    {"a buyer of a unit that came back after the refusal is not early",
     "keyless busy sold:10..3 sold_out@9.1-20 sold:2/0@20.000001-23 sold:1@19-22", "valid"},
    {"a unit that nobody can have given back did not come back",
     REFUSED "sold:2/0@20.000001-23 sold:1@19-22", "EARLY-SOLD-OUT 1, LEAK 1"},
    {"busy replies are no licence to refuse others", REFUSED JUST_LATER " busy*20",
     "EARLY-SOLD-OUT 1"},
    {"an unknown outcome that bought later shows an early refusal",
     REFUSED "unknown:2@20.000001-23 sold:1@19-22", "EARLY-SOLD-OUT 1"},

    /* ---- promises */
    {"a promise without a ledger row is a ghost", "promise:10", "GHOST 1"},
    {"a promise of another unit is a ghost", "sold:10>9", "GHOST 1"},
    {"a promise that was not recorded is a ghost", "sold:10 orders=0", "GHOST 1"},
    {"an order for another unit is a ghost", "sold:10^9", "GHOST 1"},
    {"an order without a sale is a ghost", "unknown order:10=0", "GHOST 1"},
    {"an order of unknown outcome for another unit is a ghost", "unknown:10^9", "GHOST 1"},
    {"one order for two customers is a ghost", "sold:10 promise:10!0", "GHOST 1"},
    {"the order of an unknown outcome told to another is a ghost", "unknown:10 promise:10!0",
     "GHOST 1"},
    {"a sale is an orphan if its customer was told no",
     "busy:10 refused:9 failed:8 unreached:7 unsent:6", "ORPHAN 5"},
    {"a sale that nobody asked for is an orphan", "sold:10 row:9=100", "ORPHAN 1"},

    /* ---- repeated keys, and keys that are answered with the orders of others */
    {"a repeat that gets the first answer is valid", "sold:10 sold&0 sold:9",
     "valid, sold 2, overlapping 2"},
    {"a repeat that is told no makes no orphan", "sold:10 busy&0", "valid"},
    {"no to each request of a key makes one orphan", "busy:10 failed&0", "ORPHAN 1"},
    {"a sale lasts to the first yes of its key: it may be the second",
     "sold:10@1-9 sold&0@2-3 sold:9@4-5", "valid"},
    {"a sale lasts to the first yes of its key: it was the first",
     "sold:9@1-9 sold&0@2-3 sold:10@4-5", "STALE 1"},
    /* Either the first request of the key sold, or the second one, after the count had passed
     * its unit. */
    {"a request of unknown outcome may be the seller", "unknown=2@1-2 sold:9@3-4 sold:10@5-6",
     "valid"},
    {"a request that was told sold out is not the seller", "sold_out=2@1-2 sold:9@3-4 sold:10@5-6",
     "STALE 1, UNDERSELL 1, EARLY-SOLD-OUT 1"},
    {"a request that was told busy is not the seller", "busy=2@1-2 sold:9@3-4 sold:10@5-6",
     "STALE 1"},
    {"a request that was told refused is not the seller", "refused=2@1-2 sold:9@3-4 sold:10@5-6",
     "STALE 1"},
    {"a request that was told failed is not the seller", "failed=2@1-2 sold:9@3-4 sold:10@5-6",
     "STALE 1"},
    {"sold out may have been on its way before the yes", "stock=1 sold:1@1-3 sold_out&0@3-5",
     "valid"},
    {"sold out after a yes is an orphan", "stock=1 sold:1@1-3 sold_out&0@3.000001-5", "ORPHAN 1"},
    {"refused may have been on its way before the yes", "stock=1 sold:1@1-3 refused&0@3-5",
     "valid"},
    {"refused after a yes is an orphan", "stock=1 sold:1@1-3 refused&0@3.000001-5", "ORPHAN 1"},
    {"busy after a yes says that the order could not be looked up",
     "stock=1 sold:1@1-3 busy&0@3.000001-5", "valid"},
    {"a key that was refused before it bought was refused early", /* the second may have sold */
     "sold_out@1-2 sold:10..4@1-9 sold:2=0@5-6 sold:3@1-9 sold:1@1-9", "EARLY-SOLD-OUT 1"},
    /* The key took a unit and gave it back; another customer got it, and the key got another
     * one. */
    {"a unit given back by a key that bought another is not early",
     "keyless stock=2 busy=1@1-9 sold:2@1-3 sold_out@2-4 sold:1@5-6", "valid"},
    {"a key that was refused gave no unit back",
     "keyless stock=2 refused=1@1-9 sold:2@1-3 sold_out@2-4 sold:1@5-6", "EARLY-SOLD-OUT 1"},
    {"the order of another customer is no duplicate", "sold:10!1 sold:9", "GHOST 1"},
    {"the order and unit of another customer are no duplicate", "sold:10>9!1 sold:9", "GHOST 1"},
    {"an order that is not its key is a ghost", "promise:10!3 row:10=3", "GHOST 1"},
    {"both orders of a duplicate were asked for", /* the reply names the second */
     "sold:10 promise:9!5&0 row:9=5", "DUPLICATE 1"},
    {"one key with two orders is a duplicate", "sold:9>10!1^10 row:10=1", "DUPLICATE 1"},
    {"two answers to one key are a duplicate", "sold:10 promise:9!0&0", "DUPLICATE 1"},
    {"two orders of one key are a duplicate", "sold:10 promise:10!5&0", "DUPLICATE 1"},
    {"one order that two are promised without keys is a ghost", "sold:10 promise:10=0!0",
     "GHOST 1"},
    {"one order that is promised twice to one is none", "sold:10 promise:10!0&0", "valid"},
    {"a lost reply without a key may be of any order", "sold:10@1-2 ~unknown@3-9 row:9=7",
     "valid, unknown_sold 1"},
    {"a lost reply without a key and an order is unsettled", "sold:10@1-2 ~unknown@3-9 sale:9=7",
     "inconclusive, unsettled 1"},
    {"a lost reply without a key is of one order", "~unknown@1-9 sold:8@1-9 row:10=6 row:9=7",
     "ORPHAN 1"},
    {"two lost replies without a key are of two orders",
     "~unknown@1-9 sold:8@1-9 row:10=6 row:9=7 ~unknown@1-9", "valid"},
    {"one that was told busy has no order", "~unknown@1-9 sold:8@1-9 row:10=6 row:9=7 ~busy@1-9",
     "ORPHAN 1"},
    /* The request that was sent first may have sold before the other one was sent. */
    {"of two lost replies each may be of either order",
     "~unknown@1-99 sold:9@2-3 ~unknown@4-99 row:10=7", "valid"},
    {"of two lost replies each may be of an order",
     "~unknown@1-99 sold:9@2-3 ~unknown@4-99 row:10=7 row:8=8", "valid"},

    /* ---- counts of a row */
    {"a sale that read an old count is stale", "sold:10@1-2 sold:8@1-4 sold:9@5-6",
     "STALE 1: got unit 8 and was answered"},
    {"sales that overlap are not stale", "sold:10@1-2 sold:8@1-5 sold:9@5-6", "valid"},
    {"a sale of unknown outcome may end at any time", "sold:10@1-2 unknown:8@1-4 sold:9@5-6",
     "valid"},
    {"a twin that began after the first was told is stale as well",
     "sold:10@1-2 sold:9@3-4 sold:10@5-6 left=8", "TWIN 1, STALE 1"},
    {"a twin that began before is a twin alone", "sold:10@1-2 sold:9@3-4 sold:10@2-6 left=8",
     "TWIN 1"},
    {"each shard has a count of its own", "rows=2 sold:10#1@1-2 sold:9#1@3-4 sold:5@5-6", "valid"},
    {"a shard that sold the unit of another is an oversell", "rows=2 sold:10..5#1",
     "OVERSELL 1: had units 6 to 10"},
    {"a shard without a stock sells nothing", "sold:10#7 left=9", "LEAK 2: of shard 7"},
    {"one unit too many here does not hide one missing there", "rows=2 sold:10#1 left0=4 left1=5",
     "LEAK 2"},

    /* ---- units that are missing, or still there although they are sold */
    {"a unit passed over behind right sums is a leak", "sold:10 sold:8",
     "LEAK 2: unit 8 is in the stock; unit 9 was passed over"},
    {"a unit missing from a ledger that moved is no leak", "sold:10 sold:8 counted=3",
     "inconclusive"},
    {"a unit passed over behind wrong sums counts once", "sold:10 sold:8 left=7",
     "LEAK 1: 7 left + 2 units sold is 9"},
    {"a unit that was promised is missing once", "sold:10 promise:9 sold:8 left=7",
     "GHOST 1, LEAK 1"},
    {"a timeout does not hide a unit that is sold and in the stock",
     "unknown@1-9 sold:10@1-2 sold:8@3-4", "LEAK 1: unit 8 is in the stock"},
    {"a timeout that was sent after unit 9 was gone hides nothing",
     "unknown@10-11 sold:10@1-2 sold:8@3-4", "LEAK 2"},

    /* ---- units that come back: each needs a request of its own that was sent in time and may have
     * given it back */
    {"a unit that came back is not passed over", "keyless busy sold:10 sold:8 back:9 left=7",
     "valid"},
    {"an order of a key is never given back", "busy sold:10 sold:8 back:9 left=7", "LEAK 1"},
    {"an order of loaded stock may give a second unit back",
     "sold:10@1-2 sold:8@1-4 sold:9/0@5-6 list=7 loaded", "valid"},
    {"each order gives one back", "sold:10 sold:7 back:9 back:8 list=6 loaded", "valid"},
    {"two orders give no three back", "sold:10 sold:6 back:9 back:8 back:7 list=5 loaded",
     "LEAK 1"},
    {"a customer that was told sold out gave nothing back",
     "sold_out@1-9 back:9 back:10 list=8 loaded", "LEAK 2, UNDERSELL 1"},
    {"a unit and a count of loaded stock may not contradict each other",
     "sold:10@1-2 sold:8@1-4 sold:9/3@5-6 list=7 loaded", "LEAK 1, STALE 1"},
    {"a unit came back too late to be passed over",
     "keyless busy@7-10 sold:10 sold:8 back:9 left=7", "LEAK 1: unit 9 came back, and no"},
    {"a unit that came back and was sold again is not passed over",
     "keyless busy sold:10 sold:8@1-2 sold:9/0@5-6", "valid"},
    {"a refused request gave nothing back", "keyless refused sold:10 sold:8@1-2 sold:9/0@5-6",
     "LEAK 1, STALE 1"},
    {"a unit and a count that contradict each other are a leak",
     "keyless busy sold:10@1-2 sold:8@1-4 sold:9/3@5-6",
     "LEAK 1, STALE 1: has unit 9 of shard 0 and left 3 there"},
    {"a timeout of a key gives nothing back", "unknown sold:10 sold:8 left=7 back:9", "LEAK 1"},
    {"a timeout without a key may give back", "keyless unknown sold:10 sold:8 left=7 back:9",
     "valid"},
    {"one timeout explains one unit",
     "keyless unknown rows=2 sold:9#1 sold:4@5-6 back:5#0 back:10#1 left0=3 left1=3 left=6",
     "LEAK 1"},
    {"two timeouts explain two units",
     "keyless unknown rows=2 sold:9#1 sold:4@5-6 back:5#0 back:10#1 left0=3 left1=3 left=6 "
     "unknown@1-2",
     "valid"},
    {"a unit for sale again that an order has is a leak",
     "keyless busy sold:10 sold:8 back:8 left=7", "LEAK 2: ; unit 8 came back for sale"},
    {"a unit that came back to a shard that is not there is a leak",
     "unknown sold:10 sold:8 left=7 back:9#7", "LEAK 1"},
    {"a sale that each request came too late for is an orphan",
     "keyless ~unknown@5-90 sold:9@1-4 row:10=511 left=8", "ORPHAN 1"},
    {"a sale that a request came in time for is none",
     "keyless ~unknown@3-90 sold:9@1-4 row:10=511 left=8", "valid"},
    {"a unit that came back twice is a leak", "keyless busy ~unknown sold:8 left=7 back:9 back:9",
     "LEAK 1"},
    {"two units that came back are none", "keyless busy ~unknown sold:8 left=7 back:9 back:10",
     "valid"},
    {"no timeout excuses a row that does not add up", /* the list is empty */
     "unknown sold:10 sold:8 left=7 returned=1", "LEAK 1"},
    {"a busy excuses one late sale if it was sent in time",
     "keyless stock=1 sold_out@2-4 sold:1@6-7 left=0 busy@1-9", "valid"},
    {"a busy that was sent too late excuses no sale",
     "keyless stock=1 sold_out@2-4 sold:1@6-7 left=0 busy@5-9", "EARLY-SOLD-OUT 1"},
    {"a busy excuses the last unit of one row",
     "keyless stock=2 rows=2 busy@1-9 sold_out@2-4 sold:1@6-7 sold:2#1@6-7", "EARLY-SOLD-OUT 1"},
    {"two busy excuse the last units of two rows",
     "keyless stock=2 rows=2 busy@1-9 sold_out@2-4 sold:1@6-7 sold:2#1@6-7 busy@1-9", "valid"},
    /* Two got no answer: the request that was sent first gave a unit back, and the other one
     * bought. */
    {"requests without an answer are told apart by when they were sent",
     "keyless ~unknown@7-90 ~unknown@1-90 sold:10@1-2 sold:8@3-5 row:7=509 left=6 back:9", "valid"},

    /* ---- units that come back to the count */
    {"a unit that returned to the count leaves any number", /* 10 came back to the place of 8 */
     "keyless busy sold:9 sold:8 sold:10/7@7-8 count=7", "valid"},
    {"a unit that returned by number leaves nothing",
     "keyless busy sold:9 sold:8 sold:10/7@7-8 list=7", "LEAK 1, STALE 1"},
    {"with keys no unit returned to the count", "busy sold:9 sold:8 sold:10/7@7-8 count=7",
     "LEAK 1, STALE 1"},
    {"a unit that returned to the count is sold once more",
     "keyless busy sold:9 sold:8 sold:10/7@7-8 sold:10@9-10 count=7", "TWIN 1"},
    {"a unit that returned to the count was not withheld",
     "keyless sold:10..2 busy sold_out count=0 back:1", "valid, has_ended 1"},
    {"a unit that never was sold was withheld", "keyless sold:10..2 busy sold_out count=1",
     "UNDERSELL 1"},
    {"units that never were sold are an undersell", "keyless sold:10 busy sold_out count=9",
     "UNDERSELL 1"},
    /* 9 comes back, then 8 to its own place, and 8 is sold once more: it left 7 both times, the
     * second time after 7 was sold. */
    {"a unit that returned to its own place is not stale",
     "keyless busy busy sold:10@1-2 sold:7@4-5 sold:8@7-8 back:9 count=6", "valid"},
    {"one alone gave back one unit",
     "keyless busy refused sold:10@1-2 sold:7@4-5 sold:8@7-8 back:9 count=6", "STALE 1"},
    {"one alone gave back one unit by number",
     "keyless busy refused sold:10@1-2 sold:7@4-5 sold:8@7-8 back:9 list=6", "STALE 1"},
    {"a lock that is kept is stuck although units return to the count",
     "keyless stock=400 sold:400 busy*399 stuck_ns=100000000 count=399", "STUCK 101"},
    {"a busy excuses one of many late sales",
     "keyless stock=3 sold_out@2-4 busy@1-9 sold:3@5-6 sold:2@7-8 sold:1@9-10 count=0",
     "EARLY-SOLD-OUT 1"},
    {"three busy excuse three late sales",
     "keyless stock=3 sold_out@2-4 busy@1-9 sold:3@5-6 sold:2@7-8 sold:1@9-10 count=0 busy@1-9 "
     "busy@1-9",
     "valid"},
    {"a sale leaves a count that there can have been",
     "keyless sold:10@1-2 sold:9@3-4 sold:8@5-6 busy@1-9 count=7", "valid"},
    {"a sale does not leave less than nothing",
     "keyless sold:10@1-2 sold:9@3-4 sold:8/-1@5-6 busy@1-9 count=7", "LEAK 1"},
    {"a sale does not leave less than never was sold",
     "keyless sold:10@1-2 sold:9@3-4 sold:8/6@5-6 busy@1-9 count=7", "LEAK 1"},
    {"a sale does not leave all", "keyless sold:10@1-2 sold:9@3-4 sold:8/10@5-6 busy@1-9 count=7",
     "LEAK 1"},
    {"a sale does not leave a million",
     "keyless sold:10@1-2 sold:9@3-4 sold:8/1000000@5-6 busy@1-9 count=7", "LEAK 1"},
    /* 2 came back after 1 was sold, and was sold again: at most one unit can have lain below it. */
    {"a unit is sold from as high as units were left",
     "keyless stock=2 busy@1-9 sold:1/0@2-3 sold:2/0@5-6 count=0", "valid"},
    {"a unit is not sold from higher than units were left",
     "keyless stock=2 busy@1-9 sold:1/0@2-3 sold:2/1@5-6 count=0", "STALE 2, LEAK 1"},
    {.name = NULL},
};

/* A customer is told the order of another one, long before that is sold. */
static void test_an_order_belongs_to_the_request_with_its_key(void **state) {
    struct record *owner, *other;

    other = at(sell(10), 1, 2);
    owner = at(sell(9), 5, 6);
    at(sell(8), 7, 8);
    other->order_id = record_key(owner);
    sales[0].order_id = ids[7]; /* the order of nobody */
    ledger_sort(&ledger);
    judge();
    assert_int_equal(verdict.found[ANOMALY_GHOST].count, 1);
    assert_int_equal(verdict.found[ANOMALY_ORPHAN].count, 1);
    assert_int_equal(verdict.found[ANOMALY_STALE].count, 0);
}

/* ---- several products */

static struct ledger two[2];

static void judge_two_products(void) {
    static struct ledger_sale others[2];

    two[0] = ledger;
    two[0].sale_count = two[0].order_count = 1;
    two[0].counted = two[0].units = 1;
    two[0].available = 9;
    two[1] = two[0];
    others[0] = sales[1];
    two[1].sales = others;
    two[1].orders = &orders[1];
    judged.ledgers = two;
    judged.items = 2;
}

static void test_one_unit_of_each_of_two_products_is_no_twin(void **state) {
    sell(10);
    sell(10)->item = 1;
    judge_two_products();
    assert_kind(VERDICT_VALID);
    assert_int_equal(verdict.sold, 2);
    assert_int_equal(verdict.distinct, 2);
    assert_int_equal(verdict.left, 18);
    assert_int_equal(verdict.pairs, 0);
}

static void test_a_sale_in_the_ledger_of_another_product_is_told(void **state) {
    sell(10);
    sell(10);
    judge_two_products();
    judge();
    assert_int_equal(verdict.found[ANOMALY_GHOST].count, 1);
    assert_int_equal(verdict.found[ANOMALY_ORPHAN].count, 1);
    assert_int_equal(verdict.kind, VERDICT_VIOLATED);
}

static void test_a_refusal_counts_for_its_own_product(void **state) {
    sell(10);
    sell(10)->item = 1;
    request(RECORD_SOLD_OUT)->item = 1;
    judge_two_products();
    two[1].available = 0;
    two[1].initial = 1;
    two[1].sales[0].unit = two[1].orders[0].unit = recorder->records[1].unit = 1;
    two[1].sales[0].remaining = 0;
    assert_kind(VERDICT_VALID);
}

static void test_launches_held_back_miss_the_schedule(void **state) {
    for (int64_t unit = 10; unit > 0; unit--)
        sell(unit);
    recorder->late_launches = 1;
    assert_kind(VERDICT_INCONCLUSIVE);
    assert_non_null(strstr(verdict.reason[0], "--max-in-flight"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        JUDGED(test_an_order_belongs_to_the_request_with_its_key),
        JUDGED(test_one_unit_of_each_of_two_products_is_no_twin),
        JUDGED(test_a_sale_in_the_ledger_of_another_product_is_told),
        JUDGED(test_a_refusal_counts_for_its_own_product),
        JUDGED(test_launches_held_back_miss_the_schedule),
    };

    return scene_run_group(scenes, NULL, tests, sizeof tests / sizeof *tests);
}
