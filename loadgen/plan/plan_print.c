/* The schedule as --dry-run shows it: by time, by product, and how it begins. */
#include "plan.h"

#include <inttypes.h>
#include <stdlib.h>

#define ROWS_MAX  40
#define FIRST_MAX 10
#define ITEMS_MAX 5

static bool is_repeat(const struct plan *plan, size_t i) {
    return plan->arrivals[i].repeats != i;
}

static void print_json(const struct plan *plan, FILE *to) {
    for (size_t i = 0; i < plan->count; i++) {
        const struct arrival *arrival = &plan->arrivals[i];

        fprintf(to, "{\"number\": %zu, \"due_ns\": %" PRId64 ", \"item\": %" PRIu32, i,
                arrival->due_ns, arrival->item);
        if (is_repeat(plan, i))
            fprintf(to, ", \"repeats\": %" PRIu32 "}\n", arrival->repeats);
        else
            fprintf(to, ", \"repeats\": null}\n");
    }
}

/* The shortest round length that makes no more than ROWS_MAX rows of the stages. */
static int64_t row_ns(int64_t span_ns) {
    static const int64_t lengths_ms[] = {100,   200,   500,    1000,   2000,   5000,    10000,
                                         30000, 60000, 120000, 300000, 600000, 1800000, 3600000};
    size_t i = 0;

    while (i + 1 < sizeof lengths_ms / sizeof *lengths_ms &&
           span_ns > ROWS_MAX * lengths_ms[i] * 1000000)
        i++;
    return lengths_ms[i] * 1000000;
}

static int64_t last_ns(const struct plan *plan) {
    int64_t last = plan->count > 0 ? plan->arrivals[plan->count - 1].due_ns : 0;

    return last >= plan->span_ns ? last + 1 : plan->span_ns;
}

/* Repeats of the last arrivals come after the stages: that time has rows without a rate. */
static void print_rows(const struct plan *plan, const struct plan_shape *shape, FILE *to) {
    const int64_t step_ns = row_ns(plan->span_ns), end_ns = last_ns(plan);
    size_t at = 0;

    fprintf(to, "%10s %10s %12s %10s %10s\n", "from s", "to s", "rate /s", "requests", "repeats");
    for (int64_t from_ns = 0; from_ns < end_ns; from_ns += step_ns) {
        int64_t to_ns = from_ns + step_ns < end_ns ? from_ns + step_ns : end_ns;
        double expected = plan_expected_until(shape, to_ns) - plan_expected_until(shape, from_ns);
        size_t requests = 0, repeats = 0;

        for (; at < plan->count && plan->arrivals[at].due_ns < to_ns; at++) {
            requests++;
            repeats += is_repeat(plan, at);
        }
        fprintf(to, "%10.1f %10.1f %12.1f %10zu %10zu\n", (double)from_ns / 1e9,
                (double)to_ns / 1e9, expected / ((double)(to_ns - from_ns) / 1e9), requests,
                repeats);
    }
}

static size_t count_repeats(const struct plan *plan) {
    size_t count = 0;

    for (size_t i = 0; i < plan->count; i++)
        count += is_repeat(plan, i);
    return count;
}

static void print_totals(const struct plan *plan, const struct plan_shape *shape, FILE *to) {
    fprintf(to, "\n%zu requests in %.3f s, %s arrivals, seed %" PRIu64 "\n", plan->count,
            (double)plan->span_ns / 1e9, shape->arrival == PLAN_POISSON ? "poisson" : "constant",
            shape->seed);
    if (shape->dup_rate > 0)
        fprintf(to, "%zu of them repeat the key of another, up to 100 ms after it\n",
                count_repeats(plan));
}

struct item_count {
    uint32_t item;
    size_t count;
};

static int compare_counts(const void *a, const void *b) {
    const struct item_count *one = a, *other = b;

    if (one->count != other->count)
        return one->count > other->count ? -1 : 1;
    return one->item < other->item ? -1 : one->item > other->item;
}

static int print_items(const struct plan *plan, const struct plan_shape *shape, FILE *to) {
    struct item_count *counts;

    if (shape->items <= 1)
        return 0;
    counts = calloc(shape->items, sizeof *counts);
    if (counts == NULL)
        return -1;
    for (uint32_t i = 0; i < shape->items; i++)
        counts[i].item = i;
    for (size_t i = 0; i < plan->count; i++)
        counts[plan->arrivals[i].item].count++;
    qsort(counts, shape->items, sizeof *counts, compare_counts);
    fprintf(to, "of %" PRIu32 " products, the most wanted:", shape->items);
    for (uint32_t i = 0; i < shape->items && i < ITEMS_MAX; i++)
        fprintf(to, "%s %" PRIu32 " (%.1f %%)", i > 0 ? "," : "", counts[i].item,
                100 * (double)counts[i].count / (double)plan->count);
    fprintf(to, "\n");
    free(counts);
    return 0;
}

static void print_first(const struct plan *plan, FILE *to) {
    fprintf(to, "\nthe first %d:\n%10s %14s %10s %10s\n", FIRST_MAX, "number", "due ms", "product",
            "repeats");
    for (size_t i = 0; i < plan->count && i < FIRST_MAX; i++) {
        const struct arrival *arrival = &plan->arrivals[i];

        fprintf(to, "%10zu %14.6f %10" PRIu32, i, (double)arrival->due_ns / 1e6, arrival->item);
        if (is_repeat(plan, i))
            fprintf(to, " %10" PRIu32, arrival->repeats);
        fprintf(to, "\n");
    }
}

int plan_print(const struct plan *plan, const struct plan_shape *shape, bool is_json, FILE *to) {
    int rc = 0;

    if (is_json) {
        print_json(plan, to);
    } else {
        print_rows(plan, shape, to);
        print_totals(plan, shape, to);
        rc = print_items(plan, shape, to);
        print_first(plan, to);
    }
    return rc == 0 && fflush(to) == 0 && !ferror(to) ? 0 : -1;
}
