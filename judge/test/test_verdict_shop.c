/* Thousands of simulated runs of shops of other people: orders of several units, opaque ids, steps
 * before the commit, lost replies, columns that the ledger has or has not. A correct shop is never
 * VIOLATED. Each planted fault is found, if it can be asked. */
#include "test.h"
#include "verdict.h"

#include <inttypes.h>
#include <stdlib.h>

#define MOST_CUSTOMERS 40
#define SHOP_RUNS      4000

/* How a shop names its orders to a customer. */
enum naming { NAMES_NONE, NAMES_SOLD, NAMES_EARLY }; /* in a yes; before the commit */

static struct {
    uint64_t seed;
    size_t customers, rows;
    enum naming naming;
    bool has_keys, has_units, has_remaining, has_reserved, is_mixed, can_return;
    int64_t initial, left, held;
    int64_t units; /* of each order, if it is not mixed */
    struct recorder *recorder;
    struct ledger_told told[MOST_CUSTOMERS + 2];
    const struct record *of[MOST_CUSTOMERS + 2]; /* the request of each row */
    char ids[MOST_CUSTOMERS + 2][RECORD_ID], keys[MOST_CUSTOMERS + 2][RECORD_ID];
    struct ledger ledger;
    struct verdict verdict;
} shop;

static bool gives_again; /* the shop may give the id of a refused order again */

static int64_t choose(int64_t from, int64_t to) {
    shop.seed = shop.seed * 6364136223846793005u + 1442695040888963407u;
    return from + (int64_t)((shop.seed >> 33) % (uint64_t)(to - from + 1));
}

static bool happens(int64_t chances) {
    return choose(1, chances) == 1;
}

static void make_id(char id[RECORD_ID], size_t number) {
    const int64_t length = happens(4) ? choose(40, RECORD_ID - 1) : choose(8, 30);
    int used = snprintf(id, RECORD_ID, "%c%zu:", (char)choose('A', 'z' - 1), number);

    if (id[0] == '\\')
        id[0] = '~';
    while (used < length)
        id[used++] = (char)choose('a', 'z');
    id[used] = '\0';
}

static void add_row(const struct record *record, size_t i, int64_t quantity) {
    shop.of[shop.rows] = record;
    shop.told[shop.rows++] =
        (struct ledger_told){.id = shop.ids[i],
                             .key = shop.has_keys ? shop.keys[i] : NULL,
                             .quantity = quantity,
                             .unit = shop.has_units ? 5000 - shop.left : LEDGER_UNTOLD,
                             .remaining = shop.has_remaining ? shop.left : LEDGER_UNTOLD,
                             .reserved = shop.has_reserved ? quantity : LEDGER_UNTOLD};
}

/* The customer has a turn at the stock. */
static void take_turn(struct record *record, size_t i, int64_t quantity) {
    const bool is_lost = happens(12), is_sold = shop.left >= quantity;

    if (happens(15)) {
        record->outcome = happens(2) ? RECORD_BUSY : RECORD_REFUSED;
        if (shop.can_return && shop.left > 0 && shop.units == 1 && !shop.is_mixed)
            shop.left--, shop.held++; /* for the customer */
    } else {
        record->outcome = is_sold ? RECORD_SOLD : RECORD_SOLD_OUT;
        shop.left -= is_sold ? quantity : 0;
        if (is_sold)
            add_row(record, i, quantity);
    }
    record->outcome = is_lost ? RECORD_UNKNOWN : record->outcome;
    if (shop.naming == NAMES_EARLY || (shop.naming == NAMES_SOLD && record->outcome == RECORD_SOLD))
        assert_int_equal(record_set_order_id(record, &shop.recorder->texts, shop.ids[i]), 0);
}

/* The row of a request, or `rows`. */
static size_t row_of(const struct record *record) {
    size_t row = 0;

    while (row < shop.rows && shop.of[row] != record)
        row++;
    return row;
}

/* Turns are in order of time. Each is within the time of its request. */
static void sell(void) {
    int64_t now = 1000;

    shop.units = choose(1, 3);

    for (size_t i = 0; i < shop.customers; i++) {
        const int64_t before = choose(0, 300), after = choose(1, 300);
        struct record *record = recorder_begin(shop.recorder, i, now, NULL);

        make_id(shop.ids[i], i);
        if (gives_again && i > 0 && happens(4) && row_of(record - 1) == shop.rows)
            memcpy(shop.ids[i], shop.ids[i - 1], RECORD_ID); /* of an order that was given up */
        make_id(shop.keys[i], 100 + i);
        assert_int_equal(record_set_id(&record->key, &shop.recorder->texts, shop.keys[i]), 0);
        now += choose(1, 60);
        record->sent_ns = record->planned_ns = now - before;
        record->received_ns = now + after;
        record->status = 200;
        take_turn(record, i, shop.is_mixed ? choose(1, 3) : shop.units);
        recorder_end(shop.recorder, record);
    }
}

static void simulate_shop(uint64_t seed) {
    memset(&shop, 0, sizeof shop);
    shop.seed = seed;
    shop.customers = (size_t)choose(2, MOST_CUSTOMERS);
    shop.naming = (enum naming)choose(NAMES_NONE, NAMES_EARLY);
    shop.has_keys = happens(2);
    shop.has_units = happens(3);
    shop.has_remaining = happens(3);
    shop.has_reserved = happens(2);
    shop.is_mixed = happens(3);
    shop.can_return = happens(5);
    shop.initial = shop.left = choose(1, 40);
    shop.recorder = recorder_make(shop.customers);
    assert_non_null(shop.recorder);
    sell();
}

static void end_shop(void) {
    ledger_free(&shop.ledger);
    recorder_free(shop.recorder);
}

/* The shop lists its rows in any order. */
static void judge_shop(void) {
    const struct verdict_case judged = {
        .ledgers = &shop.ledger, .items = 1, .recorder = shop.recorder, .is_shop_named = true};
    struct ledger_told rows[MOST_CUSTOMERS + 2];
    struct why why;

    memcpy(rows, shop.told, sizeof rows);
    for (size_t i = 0; i + 1 < shop.rows; i++) {
        const size_t other = (size_t)choose((int64_t)i, (int64_t)shop.rows - 1);
        const struct ledger_told row = rows[i];

        rows[i] = rows[other];
        rows[other] = row;
    }
    ledger_free(&shop.ledger);
    assert_int_equal(
        ledger_tell(&shop.ledger, shop.initial, shop.left, rows, shop.rows, shop.can_return, &why),
        0);
    assert_int_equal(verdict_judge(&judged, &shop.verdict), 0);
}

/* The judge takes it that a refused customer wanted as many units as each order has, one if there
 * is no order, unless orders differ (docs/verdict.md). */
static bool is_wish_as_assumed(void) {
    bool is_other = false;

    for (size_t i = 0; i < shop.rows; i++)
        is_other = is_other || shop.told[i].quantity != shop.told[0].quantity;
    return is_other || (!shop.is_mixed && (shop.rows > 0 || shop.units == 1));
}

static void tell_run(uint64_t seed) {
    print_message("seed %" PRIu64 ": %" PRId64 " units, %" PRId64 " left, naming %d%s%s%s%s%s\n",
                  seed, shop.initial, shop.left, shop.naming, shop.has_keys ? ", keys" : "",
                  shop.has_units ? ", units" : "", shop.has_remaining ? ", remaining" : "",
                  shop.is_mixed ? ", mixed" : "", shop.can_return ? ", can return" : "");
    for (size_t i = 0; i < shop.customers; i++)
        print_message("  %s %s: %" PRId64 " to %" PRId64 ", %s\n",
                      record_key(&shop.recorder->records[i]),
                      record_order_id(&shop.recorder->records[i]),
                      shop.recorder->records[i].sent_ns, shop.recorder->records[i].received_ns,
                      record_outcome_name(shop.recorder->records[i].outcome));
    for (size_t i = 0; i < shop.rows; i++)
        print_message("  row %s of %s: %" PRId64 " units\n", shop.told[i].id,
                      record_key(shop.of[i]), shop.told[i].quantity);
}

static void test_no_correct_shop_is_violated(void **state) {
    size_t asked[ANOMALY_COUNT] = {0};

    gives_again = true;
    for (uint64_t seed = 1; seed <= 4 * SHOP_RUNS; seed++) {
        simulate_shop(seed);
        judge_shop();
        for (int i = 0; i < ANOMALY_COUNT && is_wish_as_assumed(); i++) {
            asked[i] += shop.verdict.not_asked[i] == NULL;
            if (shop.verdict.found[i].count == 0)
                continue;
            tell_run(seed);
            fail_msg("%s: %s", anomaly_name((enum anomaly)i), shop.verdict.found[i].example[0]);
        }
        end_shop();
    }
    for (int i = 0; i < ANOMALY_COUNT; i++)
        assert_in_range(asked[i], SHOP_RUNS / 2, 4 * SHOP_RUNS);
}

/* ---- planted faults: each returns whether it could be planted */

static struct record *any_of(enum record_outcome outcome) {
    const size_t first = (size_t)choose(0, (int64_t)shop.customers - 1);

    for (size_t i = 0; i < shop.customers; i++) {
        struct record *record = &shop.recorder->records[(first + i) % shop.customers];

        if (record->outcome == outcome)
            return record;
    }
    return NULL;
}

static void drop_row(size_t row) {
    shop.rows--;
    memmove(&shop.told[row], &shop.told[row + 1], (shop.rows - row) * sizeof shop.told[0]);
    memmove(&shop.of[row], &shop.of[row + 1], (shop.rows - row) * sizeof shop.of[0]);
}

/* The shop sold once more than it had, and its count stays at what is left. */
static bool plant_oversell(void) {
    struct record *record = any_of(RECORD_SOLD_OUT);

    if (record == NULL || shop.held > 0)
        return false;
    record->outcome = RECORD_SOLD;
    add_row(record, record->number, shop.left + 1);
    if (shop.naming != NAMES_NONE)
        assert_int_equal(
            record_set_order_id(record, &shop.recorder->texts, shop.ids[record->number]), 0);
    return true;
}

/* If units can come back, each customer without an order may hold three. */
static bool plant_leak(void) {
    const int64_t most_held = shop.can_return ? 3 * (int64_t)shop.customers : 0;

    shop.left += happens(2) ? shop.held + 1 : -1 - most_held;
    return true;
}

static bool plant_ghost(void) {
    const struct record *record = any_of(RECORD_SOLD);

    if (record == NULL || (shop.naming == NAMES_NONE && !shop.has_keys))
        return false;
    drop_row(row_of(record));
    return shop.rows > 0; /* without a sale nothing says that there are keys */
}

/* No reply names an order. */
static bool plant_empty_promises(void) {
    if (shop.naming != NAMES_NONE || shop.has_keys || any_of(RECORD_SOLD) == NULL)
        return false;
    shop.left += shop.initial - shop.left;
    shop.rows = 0;
    return true;
}

static bool plant_orphan(void) {
    struct record *record = any_of(RECORD_SOLD);

    if (record == NULL || (shop.naming != NAMES_EARLY && !shop.has_keys))
        return false;
    record->outcome = happens(2) ? RECORD_BUSY : RECORD_REFUSED;
    if (shop.naming == NAMES_SOLD)
        record->order_id = NULL;
    return true;
}

/* Nobody was told the second order of the key. */
static bool plant_duplicate(void) {
    const struct record *record = any_of(RECORD_SOLD);

    if (record == NULL || !shop.has_keys)
        return false;
    make_id(shop.ids[MOST_CUSTOMERS], 777);
    add_row(record, MOST_CUSTOMERS, 1);
    shop.told[shop.rows - 1].key = record_key(record);
    return true;
}

static bool plant_unbacked(void) {
    struct ledger_told *row = &shop.told[choose(0, MOST_CUSTOMERS) % (int64_t)(shop.rows + 1)];

    if (!shop.has_reserved || row->id == NULL)
        return false;
    row->reserved = row->quantity - 1;
    return true;
}

static bool plant_twin(void) {
    const size_t row = (size_t)choose(0, MOST_CUSTOMERS);

    if (row + 1 >= shop.rows || (!shop.has_units && (!shop.has_remaining || shop.can_return)))
        return false;
    shop.told[row].unit = shop.told[row + 1].unit;
    shop.told[row].remaining = shop.told[row + 1].remaining;
    return true;
}

/* As many units as an order has are left, and were never sold. */
static bool plant_undersell(void) {
    if (shop.is_mixed || shop.can_return || shop.rows == 0 || any_of(RECORD_SOLD_OUT) == NULL)
        return false;
    shop.initial += shop.told[0].quantity;
    shop.left += shop.told[0].quantity;
    return !shop.has_remaining;
}

/* A customer is told sold out before the last buyer is sent. */
static bool plant_early(void) {
    struct record *record = any_of(RECORD_SOLD_OUT);
    const struct record *last = shop.rows > 0 ? shop.of[shop.rows - 1] : NULL;

    if (record == NULL || last == NULL || shop.is_mixed || shop.can_return ||
        (shop.naming != NAMES_EARLY && !shop.has_keys && last->outcome != RECORD_SOLD) ||
        last->sent_ns < 3)
        return false;
    record->sent_ns = 1;
    record->received_ns = last->sent_ns - 1;
    return true;
}

/* No row tells its moment or its instance. */
static void assert_no_gap_in_a_sentence(void) {
    for (int i = 0; i < ANOMALY_COUNT; i++)
        for (size_t j = 0; j < shop.verdict.found[i].examples; j++) {
            assert_null(strstr(shop.verdict.found[i].example[j], " by "));
            assert_null(strstr(shop.verdict.found[i].example[j], "()"));
        }
}

static void plant(bool (*fault)(void), enum anomaly anomaly) {
    size_t planted = 0;

    gives_again = false;
    for (uint64_t seed = 1; seed <= SHOP_RUNS; seed++) {
        simulate_shop(seed);
        if (fault()) {
            planted++;
            judge_shop();
            if (shop.verdict.found[anomaly].count == 0) {
                tell_run(seed);
                fail_msg("%s was not found", anomaly_name(anomaly));
            }
            assert_int_equal(shop.verdict.kind, VERDICT_VIOLATED);
            assert_true(shop.verdict.counterexamples > 0);
            assert_no_gap_in_a_sentence();
        }
        end_shop();
    }
    assert_in_range(planted, SHOP_RUNS / 20, SHOP_RUNS);
}

static void test_each_planted_fault_is_found(void **state) {
    plant(plant_oversell, ANOMALY_OVERSELL);
    plant(plant_leak, ANOMALY_LEAK);
    plant(plant_ghost, ANOMALY_GHOST);
    plant(plant_empty_promises, ANOMALY_GHOST);
    plant(plant_orphan, ANOMALY_ORPHAN);
    plant(plant_duplicate, ANOMALY_DUPLICATE);
    plant(plant_unbacked, ANOMALY_UNBACKED);
    plant(plant_twin, ANOMALY_TWIN);
    plant(plant_undersell, ANOMALY_UNDERSELL);
    plant(plant_early, ANOMALY_EARLY_SOLD_OUT);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_no_correct_shop_is_violated),
        cmocka_unit_test(test_each_planted_fault_is_found),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
