/* Judges simulated runs, and finds rows and requests in them for a test to change. */
#include "simulated_judge.h"

#include "prose.h"

#include <inttypes.h>

struct verdict simulated_verdict;

int simulated_set_up(void **state) {
    sim.recorder = recorder_make(ROOM);
    return sim.recorder != NULL ? 0 : -1;
}

int simulated_tear_down(void **state) {
    recorder_free(sim.recorder);
    return 0;
}

struct simulated_shop simulated_shop(uint64_t number) {
    const int come_back = (int)(number / 3 % 3); /* never; by number; to the count */

    return (struct simulated_shop){.is_losing = number % 3 > 0,
                                   .is_faulty = number % 3 > 1,
                                   .is_keyless = come_back > 0,
                                   .returns_to_count = come_back > 1,
                                   .workers = 1 + (int)(number / 9 % 2),
                                   .items = 1 + (int)(number / 18 % 2)};
}

/* The ledger's time at the start of the run is `lead_ns` before that of the simulation. */
static void judge_from(int64_t lead_ns) {
    const struct verdict_case judged = {
        .ledgers = sim.ledgers,
        .items = (size_t)sim.items,
        .recorder = sim.recorder,
        .events = &sim.event_list,
        .is_interrupted = sim.cut != CUT_NONE,
        .is_keyless = sim.is_keyless,
        .ledger_start_us = ledger_time_us("2026-11-21T10:01:02.000000Z") - lead_ns / 1000};

    assert_int_equal(verdict_judge(&judged, &simulated_verdict), 0);
}

void simulated_judge(void) {
    judge_from(0);
}

void print_run(uint64_t seed) {
    print_message("seed %" PRIu64 ", %d shards\n", seed, sim.shards);
    for (size_t i = 0; i < sim.recorder->ended; i++) {
        const struct record *record = &sim.recorder->records[i];

        print_message("  item %" PRIu32 " %s from %" PRId64 " to %" PRId64 ": %s %" PRId64 "\n",
                      record->item, record_key(record) + 30, record->sent_ns, record->received_ns,
                      record_outcome_name(record->outcome), record->unit);
    }
    for (int item = 0; item < sim.items; item++)
        for (size_t i = 0; i < sim.ledgers[item].sale_count; i++) {
            const struct ledger_sale *sale = &sim.sales[item][i];

            print_message("  item %d %s unit %" PRId64 " of shard %" PRId32 ", %" PRId64
                          " left at %" PRId64 "\n",
                          item, sale->order_id + 30, sale->unit, sale->shard, sale->remaining,
                          sale->at_us);
        }
}

/* ---- finding */

struct ledger_sale *any_sale(void) {
    const int item = (int)pick(0, sim.items - 1);
    const size_t count = sim.ledgers[item].sale_count;

    return count > 0 ? &sim.sales[item][pick(0, (int64_t)count - 1)] : NULL;
}

uint32_t item_of(const struct ledger_sale *sale) {
    return sale >= sim.sales[1] ? 1 : 0;
}

struct ledger_row *row_of(const struct ledger_sale *sale) {
    return &sim.rows[item_of(sale)][sale->shard];
}

static struct record *find_yes(const struct ledger_sale *sale) {
    for (size_t i = 0; i < sim.recorder->ended; i++)
        if (sim.recorder->records[i].outcome == RECORD_SOLD &&
            strcmp(record_key(&sim.recorder->records[i]), sale->order_id) == 0)
            return &sim.recorder->records[i];
    return NULL;
}

bool is_told(const struct ledger_sale *sale) {
    return find_yes(sale) != NULL;
}

struct ledger_sale *any_told(struct record **told) {
    struct ledger_sale *sale = any_sale();

    *told = sale != NULL ? find_yes(sale) : NULL;
    return *told != NULL ? sale : NULL;
}

struct record *any_of(enum record_outcome outcome) {
    struct record *record = &sim.recorder->records[pick(0, (int64_t)sim.recorder->ended - 1)];

    return record->outcome == outcome ? record : NULL;
}

bool is_of_count(const struct ledger_sale *sale) {
    const struct ledger_row *row = row_of(sale);

    return sale->remaining > 0 && sale->unit - row->first_unit == sale->remaining &&
           (!row->returns_to_count || count_givers(item_of(sale)) == 0);
}

struct record *only_yes(const struct ledger_sale *sale) {
    struct record *found = NULL;

    for (size_t i = 0; i < sim.recorder->ended; i++) {
        if (strcmp(record_key(&sim.recorder->records[i]), sale->order_id) != 0)
            continue;
        if (found != NULL || sim.recorder->records[i].outcome != RECORD_SOLD)
            return NULL;
        found = &sim.recorder->records[i];
    }
    return found;
}

/* Two sales of one row's count, each with only one request, which was told yes; the lower unit
 * first. */
static struct ledger_sale *any_pair(struct ledger_sale **higher) {
    struct ledger_sale *sale = any_sale();

    *higher = any_sale();
    return sale != NULL && *higher != NULL && item_of(sale) == item_of(*higher) &&
                   sale->shard == (*higher)->shard && is_of_count(sale) && is_of_count(*higher) &&
                   sale->remaining < (*higher)->remaining && only_yes(sale) != NULL &&
                   only_yes(*higher) != NULL
               ? sale
               : NULL;
}

size_t count_givers(uint32_t item) {
    return sim.is_keyless ? count_of(item, RECORD_BUSY) + count_of(item, RECORD_FAILED) +
                                count_of(item, RECORD_UNKNOWN)
                          : 0;
}

int64_t end_of_run(void) {
    int64_t end = 0;

    for (size_t i = 0; i < sim.recorder->ended; i++)
        if (sim.recorder->records[i].received_ns > end)
            end = sim.recorder->records[i].received_ns;
    return end;
}

/* ---- changing */

void set_unit(struct ledger_sale *sale, int64_t unit) {
    struct ledger_order *order = order_of(item_of(sale), sale->order_id);

    sale->unit = unit;
    if (order != NULL)
        order->unit = unit;
    for (size_t i = 0; i < sim.recorder->ended; i++)
        if (strcmp(record_order_id(&sim.recorder->records[i]), sale->order_id) == 0)
            sim.recorder->records[i].unit = unit;
}

void exchange_units(struct ledger_sale *a, struct ledger_sale *b) {
    const struct ledger_sale old = *a;

    set_unit(a, b->unit);
    set_unit(b, old.unit);
    a->remaining = b->remaining;
    b->remaining = old.remaining;
}

void drop_sale(struct ledger_sale *sale) {
    const uint32_t item = item_of(sale);

    *sale = sim.sales[item][--sim.ledgers[item].sale_count];
}

void drop_order(uint32_t item, const char *id) {
    struct ledger_order *order = order_of(item, id);

    if (order != NULL)
        *order = sim.orders[item][--sim.ledgers[item].order_count];
}

void tell(struct record *record, enum record_outcome outcome) {
    record->outcome = outcome;
    record->order_id = NULL;
    record->unit = -1;
    if (sim.is_keyless)
        record_leave_nameless(record);
}

void tell_all(const char *key, enum record_outcome outcome) {
    char copy[UUID_TEXT];

    memcpy(copy, key, UUID_TEXT);
    for (size_t i = 0; i < sim.recorder->ended; i++)
        if (strcmp(record_key(&sim.recorder->records[i]), copy) == 0)
            tell(&sim.recorder->records[i], outcome);
}

struct record *add_request(uint32_t item, enum record_outcome outcome, int64_t sent_ns,
                           int64_t received_ns) {
    const size_t number = sim.recorder->ended;
    struct record *record = &sim.recorder->records[number];

    assert_in_range(++sim.recorder->ended, 1, ROOM);
    sim.recorder->count = sim.recorder->ended;
    *record = (struct record){.number = (uint32_t)number,
                              .item = item,
                              .unit = -1,
                              .outcome = outcome,
                              .planned_ns = sent_ns,
                              .sent_ns = sent_ns,
                              .received_ns = received_ns};
    write_id(record->key.room, REQUESTS + 2000 + (int)number);
    if (sim.is_keyless)
        record_leave_nameless(record);
    return record;
}

void add_returned(uint32_t item, int64_t shard, int64_t unit) {
    assert_in_range(sim.ledgers[item].returned_count, 0, ROOM - 1);
    sim.returned[item][sim.ledgers[item].returned_count++] = (struct ledger_returned){shard, unit};
}

/* ---- the clocks of several machines */

#define MACHINES 3
#define LEAD_NS  1000000000

/* The true offset of each machine is anywhere in the interval that is known of it; the reading, and
 * so the middle, may be off by half of that. Moments stay above 0. */
void simulated_judge_blurred(int64_t most_ns) {
    int64_t off_us[MACHINES], slack_us[MACHINES];

    for (int i = 0; i < MACHINES; i++) {
        slack_us[i] = pick(1, most_ns / 1000);
        off_us[i] = pick(-slack_us[i], slack_us[i]);
    }
    for (size_t i = 0; i < sim.recorder->ended; i++) {
        struct record *record = &sim.recorder->records[i];
        const int machine = record_key(record)[UUID_TEXT - 2] % MACHINES;

        record->planned_ns += LEAD_NS;
        if (record->sent_ns <= 0)
            continue;
        record->sent_slack_us = record->received_slack_us = (int32_t)slack_us[machine];
        record->sent_ns += LEAD_NS + (off_us[machine] - slack_us[machine]) * 1000;
        record->received_ns += LEAD_NS + (off_us[machine] + slack_us[machine]) * 1000;
    }
    for (size_t i = 0; i < sim.event_list.count; i++) {
        struct event *event = &sim.event_list.items[i];

        event->at_ns += LEAD_NS;
        event->until_ns += event->until_ns != EVENT_OPEN ? LEAD_NS : 0;
    }
    judge_from(LEAD_NS);
}

int first_found(void) {
    int first = 0;

    while (first < ANOMALY_COUNT && simulated_verdict.found[first].count == 0)
        first++;
    return first < ANOMALY_COUNT ? first : -1;
}

/* ---- mutants */

#define MUTANTS 60    /* of each kind */
#define SEEDS   20000 /* they have MUTANTS places for each kind */

static unsigned found(void) {
    unsigned anomalies = 0;

    for (int i = 0; i < ANOMALY_COUNT; i++)
        anomalies |= simulated_verdict.found[i].count > 0 ? 1u << i : 0;
    return anomalies;
}

/* The sum of sql/audit.sql: `leak` is 0. */
static bool is_balanced(const struct ledger *ledger) {
    return ledger->available + ledger->returned + ledger->units == ledger->initial;
}

/* An anomaly that plain counts show but the verdict lacks, or the other way round. */
static const char *miscounted(void) {
    bool has_twin = false, has_more = false, has_undersold = false, has_leak = false;

    for (int item = 0; item < sim.items; item++) {
        const struct ledger *ledger = &sim.ledgers[item];

        has_twin = has_twin || ledger->counted > ledger->units;
        has_more = has_more || ledger->counted > ledger->initial;
        has_undersold = has_undersold || (units_left((uint32_t)item) > 0 &&
                                          count_of((uint32_t)item, RECORD_SOLD_OUT) > 0);
        has_leak = has_leak || !is_balanced(ledger);
    }
    if (has_twin != (simulated_verdict.found[ANOMALY_TWIN].count > 0))
        return "TWIN";
    if (has_undersold != (simulated_verdict.found[ANOMALY_UNDERSELL].count > 0))
        return "UNDERSELL";
    if (has_more && simulated_verdict.found[ANOMALY_OVERSELL].count == 0)
        return "OVERSELL";
    return has_leak && simulated_verdict.found[ANOMALY_LEAK].count == 0 ? "LEAK" : NULL;
}

static size_t sentences;

/* Whether the clocks of several machines let a mutant pass that keeps to the rules, and never accuse
 * one that the true order clears of this anomaly. */
static bool is_right_without_order(uint64_t seed) {
    const unsigned before = found();

    simulated_judge_blurred(one_in(2) ? 20000 : 50000000);
    if (first_found() < 0 || before != 0)
        return true;
    print_run(seed);
    print_message("only the clocks accuse it: %s\n",
                  simulated_verdict.found[first_found()].example[0]);
    return false;
}

static bool is_right(const struct mutant *kind, uint64_t seed) {
    const char *contradiction, *miscount;

    sum_up();
    simulated_judge();
    contradiction = prose_contradiction(&simulated_verdict, &sentences);
    miscount = miscounted();
    if (contradiction == NULL && miscount == NULL &&
        (kind->must != STAYS_VALID ? (found() & kind->must) != 0 : found() == 0))
        return is_right_without_order(seed);
    print_run(seed);
    if (miscount != NULL)
        print_message("%s is not what the rows count\n", miscount);
    if (contradiction != NULL)
        print_message("the rows contradict: %s\n", contradiction);
    print_message("%s: must be %#x, is %#x\n", kind->name, kind->must, found());
    for (int i = 0; i < ANOMALY_COUNT; i++)
        if (simulated_verdict.found[i].count > 0)
            print_message("%s: %s\n", anomaly_name((enum anomaly)i),
                          simulated_verdict.found[i].example[0]);
    return false;
}

static bool mutate(const struct mutant *kind) {
    struct ledger_sale *sale, *higher;
    struct record *record;
    uint32_t item;
    int64_t back;

    if (kind->of_run != NULL)
        return kind->of_run(kind->number);
    if (kind->of_sale != NULL)
        return (sale = any_sale()) != NULL && kind->of_sale(sale, kind->number);
    if (kind->of_told != NULL)
        return (sale = any_told(&record)) != NULL && kind->of_told(sale, record, kind->number);
    if (kind->of_pair != NULL)
        return (sale = any_pair(&higher)) != NULL && kind->of_pair(sale, higher, kind->number);
    if (kind->of_record != NULL)
        return (record = any_of((enum record_outcome)kind->number)) != NULL &&
               kind->of_record(record, kind->number);
    item = (uint32_t)pick(0, sim.items - 1);
    if (kind->of_row != NULL)
        return kind->of_row(&sim.rows[item][pick(0, sim.shards - 1)], item, kind->number);
    back = (int64_t)sim.ledgers[item].returned_count;
    return back > 0 && kind->of_back(&sim.returned[item][pick(0, back - 1)], item, kind->number);
}

/* The shops take turns, so that each kind is tried on many of them. */
static int try_kind(const struct mutant *kind) {
    int mutants = 0, wrong = 0;

    for (uint64_t seed = 1; seed <= SEEDS && mutants < MUTANTS; seed++) {
        const struct simulated_shop shop = simulated_shop(seed);

        simulate(seed, &shop);
        if (sim.cut != CUT_NONE || !mutate(kind))
            continue;
        mutants++;
        wrong += !is_right(kind, seed);
    }
    if (mutants < MUTANTS)
        print_message("%s: %d mutants\n", kind->name, mutants);
    assert_int_equal(mutants, MUTANTS);
    return wrong;
}

void judge_mutants(void **state) {
    int wrong = 0;

    sentences = 0;
    for (const struct mutant *kind = *state; kind->name != NULL; kind++)
        wrong += try_kind(kind);
    assert_int_equal(wrong, 0);
    assert_in_range(sentences, MUTANTS, SIZE_MAX);
}
