/* Measures the judge alone: prints a line of JSON for each number of orders of another shop, judged
 * by counts, ids and keys. Beside it stands a plain walk: one look at each id, in the same order.
 *
 *     judging [100000 1000000 ...]      numbers of orders
 *
 * The keys are in the order of the requests, like those of loadgen; the ids of the orders are in no
 * order, like those of most shops. One customer in ten is told "sold out". Then the shop has more
 * orders than units. */
#include "verdict.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static struct {
    size_t orders;
    struct recorder *recorder;
    struct ledger ledger;
    struct verdict verdict;
} bench;

static uint64_t mix(uint64_t number) {
    number = (number ^ (number >> 31)) * UINT64_C(0x9e3779b97f4a7c15);
    return number ^ (number >> 29);
}

static void write_id(char id[RECORD_ID], const char *kind, size_t number) {
    (void)snprintf(id, RECORD_ID, "%s_%016" PRIx64, kind,
                   kind[0] == 'o' ? mix(number + 1) : number);
}

static int add_request(size_t i, struct record *record) {
    const bool is_sold = i < bench.orders;
    char id[RECORD_ID];

    *record = (struct record){.planned_ns = (int64_t)i * 1000 + 1,
                              .sent_ns = (int64_t)i * 1000 + 1,
                              .received_ns = (int64_t)i * 1000 + 900000,
                              .unit = -1,
                              .number = (uint32_t)i,
                              .outcome = is_sold ? RECORD_SOLD : RECORD_SOLD_OUT,
                              .status = 200,
                              .instance = -1};
    cost_init(&record->cost);
    write_id(id, "key", i);
    if (record_set_id(&record->key, &bench.recorder->texts, id) != 0)
        return -1;
    write_id(id, "order", i);
    return record_set_order_id(record, &bench.recorder->texts, is_sold ? id : "");
}

static int fill(int64_t initial) {
    char id[RECORD_ID], key[RECORD_ID];
    struct record record;

    bench.recorder = recorder_make(bench.orders + bench.orders / 9);
    bench.ledger = (struct ledger){.initial = initial};
    for (size_t i = 0; i < bench.orders + bench.orders / 9 && bench.recorder != NULL; i++) {
        if (add_request(i, &record) != 0)
            return -1;
        recorder_add(bench.recorder, &record);
    }
    for (size_t i = 0; i < bench.orders; i++) {
        write_id(id, "order", i);
        write_id(key, "key", i);
        if (ledger_add_sale(&bench.ledger, &(struct ledger_told){.id = id,
                                                                 .key = key,
                                                                 .quantity = 1,
                                                                 .unit = LEDGER_UNTOLD,
                                                                 .remaining = LEDGER_UNTOLD,
                                                                 .reserved = 1}) != 0)
            return -1;
    }
    return bench.recorder != NULL ? ledger_finish(&bench.ledger) : -1;
}

static size_t walk(void) {
    size_t sum = 0;

    for (size_t i = 0; i < bench.recorder->ended; i++)
        sum += strlen(record_key(&bench.recorder->records[i]));
    for (size_t i = 0; i < bench.ledger.sale_count; i++)
        sum += strlen(bench.ledger.sales[i].order_id);
    return sum;
}

/* The judge has one thread, so its CPU time is the time that it takes on a quiet machine. */
static int64_t cpu_ns(void) {
    struct timespec now;

    (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static double seconds_since(int64_t begun_ns) {
    return (double)(cpu_ns() - begun_ns) / 1e9;
}

static int measure(bool is_violated) {
    int64_t begun_ns;
    double filled, judging, walking;
    size_t sum;

    begun_ns = cpu_ns();
    if (fill(is_violated ? (int64_t)bench.orders - 10 : (int64_t)bench.orders) != 0)
        return -1;
    filled = seconds_since(begun_ns);
    begun_ns = cpu_ns();
    sum = walk();
    walking = seconds_since(begun_ns);
    begun_ns = cpu_ns();
    if (verdict_judge(&(struct verdict_case){.ledgers = &bench.ledger,
                                             .items = 1,
                                             .recorder = bench.recorder,
                                             .is_shop_named = true,
                                             .pairs_wanted = VERDICT_PAIRS},
                      &bench.verdict) != 0)
        return -1;
    judging = seconds_since(begun_ns);
    (void)printf("{\"orders\": %zu, \"verdict\": \"%s\", \"filling_s\": %.3f, \"walking_s\": %.4f, "
                 "\"judging_s\": %.3f, \"bytes\": %zu}\n",
                 bench.orders, verdict_kind_name(bench.verdict.kind), filled, walking, judging,
                 sum);
    ledger_free(&bench.ledger);
    recorder_free(bench.recorder);
    return 0;
}

int main(int argc, char **argv) {
    for (int i = 1; i < argc; i++) {
        bench.orders = strtoull(argv[i], NULL, 10);
        if (measure(false) != 0 || measure(true) != 0) {
            (void)fprintf(stderr, "judging: %s orders could not be judged\n", argv[i]);
            return 70;
        }
    }
    return 0;
}
