/* Computes the ceiling of a lock, and the queue that an offer above it leaves.
 *
 * The model is a deterministic fluid queue. Orders that find the busiest lane taken add to its
 * backlog; the backlog falls while fewer orders arrive than the lane serves. Orders that find
 * nothing left hold the lock for a shorter time. The model is good for an offer well above or
 * below the ceiling; near the ceiling, chance makes queues that it does not show. Each printed
 * prediction is compared with the measurement. */
#include "capacity.h"

#include "duration.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>

#define STEPS     1000 /* of each stage */
#define SLOW      0.9  /* part of the ceiling: below it, the handover is slow */
#define OUTLASTS  1.1  /* sales that last so many times the schedule waited in a queue */
#define OVERLAPS  1.05 /* part of the rate that holds allow: above it, two held it at once */
#define LONG      10   /* holds: a longer wait is a wait in a queue, and ... */
#define LONG_MS   20   /* ... a customer notices it */
#define EVEN      1.01 /* lanes x part of the busiest: up to here the lanes share evenly */
#define NS_PER_MS 1e6
#define NS_PER_S  1e9
#define BUSY      0.7 /* part of the ceiling: from here on, chance alone makes queues */
#define MAX_LANES 1000000U

static double ms(int64_t ns) {
    return (double)ns / NS_PER_MS;
}

/* ---- the input */

static enum record_lock capacity_lock_of(const struct recorder *total) {
    enum record_lock most = RECORD_LOCK_UNTOLD;

    for (int i = 0; i < RECORD_LOCK_COUNT; i++)
        if (total->locks[i] > (most < 0 ? 0 : total->locks[most]))
            most = (enum record_lock)i;
    return most;
}

static unsigned at_least_one(size_t count) {
    return count == 0 ? 1 : count < MAX_LANES ? (unsigned)count : MAX_LANES;
}

static void count_lanes(const struct result *result, const struct options *options,
                        enum record_lock lock, struct capacity *capacity) {
    const struct recorder *total = result->total;
    unsigned items = at_least_one(result->rounds[0]->items);
    size_t each = at_least_one(total->shards);

    if (record_locks[lock].is_own)
        each *= at_least_one(total->instance_count);
    capacity->lanes = at_least_one(items * each);
    capacity->busiest = plan_busiest(items, options->shape.zipf) / (double)each;
}

/* Rates are until the last sale: later orders are refused without the work of a sale. */
static void note_measured(const struct recorder *total, struct capacity *capacity) {
    double selling_s = (double)total->sold_ns / NS_PER_S;

    capacity->hold_ms = histogram_mean(&total->hold) / NS_PER_MS;
    if (total->unsold_holds > 0)
        capacity->unsold_hold_ms = ms(total->unsold_hold_ns) / (double)total->unsold_holds;
    capacity->commit_p50_ms = ms(histogram_percentile(&total->commit, 50));
    capacity->commit_p99_ms = ms(histogram_percentile(&total->commit, 99));
    capacity->wait_p50_ms = ms(histogram_percentile(&total->wait, 50));
    capacity->wait_p99_ms = ms(histogram_percentile(&total->wait, 99));
    if (selling_s <= 0)
        return;
    capacity->turns = (double)total->hold.count / selling_s;
    capacity->sold = (double)(total->by_outcome[RECORD_SOLD] - total->sold_again) / selling_s;
}

/* ---- the prediction */

/* The queue of the busiest lane, in customers. The first to come buy while there is stock. */
struct line {
    double waiting, served;
    double buyers;             /* among all customers */
    double buying_s, asking_s; /* how long a buyer, and another customer, holds the lock */
};

static double buyers_in(const struct line *line) {
    return fmin(line->waiting, fmax(0, line->buyers - line->served));
}

/* The wait of a customer that comes now. */
static double wait_in(const struct line *line) {
    double buyers = buyers_in(line);

    return buyers * line->buying_s + (line->waiting - buyers) * line->asking_s;
}

static void serve_one_kind(struct line *line, double most, double each_s, double *left_s) {
    double count = each_s > 0 ? fmin(most, *left_s / each_s) : most;

    line->waiting -= count;
    line->served += count;
    *left_s -= count * each_s;
}

static void capacity_serve(struct line *line, double seconds) {
    serve_one_kind(line, buyers_in(line), line->buying_s, &seconds);
    if (buyers_in(line) <= 0)
        serve_one_kind(line, line->waiting, line->asking_s, &seconds);
}

/* The longest queue, its moment, and the longest wait. */
static void predict_backlog(const struct options *options, struct line *line,
                            struct capacity *capacity) {
    const struct plan_shape *shape = &options->shape;
    double expected = plan_expected(shape), now_s = 0;
    double scale = expected > 0 ? (double)shape->count / expected : 0; /* --requests */

    for (size_t i = 0; i < shape->stage_count; i++) {
        const struct plan_stage *stage = &shape->stages[i];
        double step_s = (double)stage->span_ns / NS_PER_S / STEPS;

        for (int step = 0; step < STEPS; step++) {
            double part = (step + 0.5) / STEPS; /* the rate in the middle stands for the step */
            double rate = scale * (stage->from + (stage->to - stage->from) * part);

            line->waiting += rate * capacity->busiest * step_s;
            capacity_serve(line, step_s);
            now_s += step_s;
            if (line->waiting > capacity->backlog) {
                capacity->backlog = line->waiting;
                capacity->backlog_s = now_s;
            }
            capacity->longest_wait = fmax(capacity->longest_wait, wait_in(line));
        }
    }
}

static bool is_even(const struct capacity *capacity) {
    return capacity->busiest * capacity->lanes < EVEN;
}

static void predict(const struct result *result, const struct options *options,
                    struct capacity *capacity) {
    const struct recorder *total = result->total;
    const double allowed = 1000 * capacity->lanes / capacity->hold_ms;
    const double rounds = at_least_one(result->count);
    struct line line;

    assert(capacity->hold_ms > 0 && capacity->busiest > 0 && capacity->busiest <= 1);
    capacity->is_overlapping = capacity->turns > OVERLAPS * allowed;
    capacity->ceiling = fmax(allowed, capacity->turns);
    line = (struct line){.buyers = (double)total->hold.count / rounds * capacity->busiest,
                         .buying_s = capacity->lanes / capacity->ceiling,
                         .asking_s = capacity->unsold_hold_ms / 1000};
    capacity->utilization = capacity->offered * capacity->busiest * line.buying_s;
    capacity->reached = capacity->turns / capacity->ceiling;
    if (capacity->turns > 0)
        capacity->handover_ms =
            fmax(0, 1000 / (capacity->turns * capacity->busiest) - capacity->hold_ms);
    predict_backlog(options, &line, capacity);
    if (is_even(capacity))
        capacity->backlog *= capacity->lanes;
}

/* ---- the prediction beside the measurement */

static bool is_wait_long(const struct capacity *capacity) {
    return capacity->wait_p99_ms > fmax(LONG * capacity->hold_ms, LONG_MS);
}

/* Whether there was a queue that the holds alone do not explain. Uneven lanes do not count: some of
 * them are free. */
static bool is_handover_slow(const struct recorder *total, const struct result *result,
                             const struct capacity *capacity) {
    double selling_s = (double)total->sold_ns / NS_PER_S / (double)at_least_one(result->count);
    bool is_queued = capacity->utilization >= 1 || selling_s > OUTLASTS * capacity->duration_s ||
                     is_wait_long(capacity);

    return is_queued && is_even(capacity) && capacity->wait_p50_ms > capacity->hold_ms &&
           capacity->reached < SLOW;
}

/* ---- the sentence */

static void tell_queue(char *text, size_t size, const struct capacity *capacity) {
    char wait[DURATION_TEXT], after[DURATION_TEXT];

    if (capacity->backlog >= 1)
        (void)snprintf(text, size, "about %.0f would queue%s after %s, and the last would wait %s",
                       capacity->backlog, is_even(capacity) ? "" : " at the busiest",
                       duration_ms(after, 1000 * capacity->backlog_s),
                       duration_ms(wait, 1000 * capacity->longest_wait));
    else if (is_wait_long(capacity))
        (void)snprintf(text, size, "that alone makes no long wait, but some waited long");
    else if (capacity->utilization < BUSY)
        (void)snprintf(text, size, "no lasting queue");
    else
        (void)snprintf(text, size, "no lasting queue, but %.0f %% busy, so bursts wait",
                       100 * capacity->utilization);
}

static void tell_lock(struct capacity *capacity, const char *name, enum record_lock lock) {
    const char *noun = record_locks[lock].noun;
    char lanes[64], limit[96], queue[120], slow[120] = "";
    char hold[DURATION_TEXT], wait[DURATION_TEXT], handover[DURATION_TEXT];

    (void)snprintf(lanes, sizeof lanes, "its %s", noun);
    if (capacity->lanes > 1)
        (void)snprintf(lanes, sizeof lanes, "each of its %u %ss", capacity->lanes, noun);
    if (capacity->is_overlapping)
        (void)snprintf(
            limit, sizeof limit,
            ", but these holds overlapped: a lease expired, or each machine has its own lock");
    else
        (void)snprintf(limit, sizeof limit, ", so at most %.0f sales/s", capacity->ceiling);
    tell_queue(queue, sizeof queue, capacity);
    if (capacity->is_handover_slow)
        (void)snprintf(slow, sizeof slow,
                       "; that is %.0f %% of the ceiling, as if each handover to the next holder "
                       "took %s more",
                       100 * capacity->reached, duration_ms(handover, capacity->handover_ms));
    (void)snprintf(capacity->sentence, sizeof capacity->sentence,
                   "%s holds %s %s on average%s; you offered %.0f/s: %s; measured %.0f/s while it "
                   "sold, p99 wait %s%s",
                   name, lanes, duration_ms(hold, capacity->hold_ms), limit, capacity->offered,
                   queue, capacity->turns, duration_ms(wait, capacity->wait_p99_ms), slow);
}

static void tell_row(struct capacity *capacity, const char *name, bool is_in_redis) {
    char usual[DURATION_TEXT], worst[DURATION_TEXT];

    (void)snprintf(
        capacity->sentence, sizeof capacity->sentence,
        "%s takes no lock%s took %s (p50), %s (p99)%s; sold %.0f/s while there was stock", name,
        is_in_redis ? ": orders compete in Redis; a sale there"
                    : " beside the row's own: orders compete for the stock row; the statement that "
                      "sold",
        duration_ms(usual, capacity->commit_p50_ms), duration_ms(worst, capacity->commit_p99_ms),
        is_in_redis ? "" : ", including its wait for a connection and for the row", capacity->sold);
}

void capacity_make(const struct result *result, const struct options *options,
                   struct capacity *capacity) {
    const struct recorder *total = result->total;
    enum record_lock lock;

    *capacity = (struct capacity){.bound = CAPACITY_UNTOLD};
    if (result->count == 0 || total->costed == 0)
        return;
    lock = capacity_lock_of(total);
    capacity->duration_s = (double)plan_span_ns(&options->shape) / NS_PER_S;
    if (capacity->duration_s > 0)
        capacity->offered = (double)options->shape.count / capacity->duration_s;
    note_measured(total, capacity);
    if (lock != RECORD_LOCK_UNTOLD && total->hold.sum > 0) {
        capacity->bound = CAPACITY_LOCK;
        count_lanes(result, options, lock, capacity);
        predict(result, options, capacity);
        capacity->is_handover_slow = is_handover_slow(total, result, capacity);
        tell_lock(capacity, result->item->given, lock);
    } else if (lock == RECORD_LOCK_UNTOLD && total->commit.count > 0) {
        capacity->bound = CAPACITY_ROW;
        tell_row(capacity, result->item->given, total->redis > 0);
    }
}
