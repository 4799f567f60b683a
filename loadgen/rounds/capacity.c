/* Works out the ceiling of a lock, and the queue that an offer above it leaves.
 *
 * A deterministic fluid queue: what arrives in a moment and finds the lanes taken adds to the
 * backlog, which falls while fewer arrive than the ceiling lets through. Good enough for an offer
 * well above or below the ceiling; near it, chance makes queues that this does not show. */
#include "capacity.h"

#include "duration.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>

#define STEPS     1000 /* of each stage */
#define SLOW      0.9  /* of the ceiling: below it, the handover costs more than is left to say */
#define OUTLASTS  1.1  /* answers that take so much longer than the schedule waited in a queue */
#define NS_PER_MS 1e6
#define NS_PER_S  1e9
#define BUSY      0.7 /* of the ceiling: from here on, chance alone makes queues */
#define MAX_LANES 1000000U

static double ms(int64_t ns) {
    return (double)ns / NS_PER_MS;
}

/* ---- what it follows from */

static enum record_lock lock_of(const struct recorder *total) {
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

    if (lock == RECORD_LOCK_LOCAL)
        each *= at_least_one(total->instance_count);
    capacity->lanes = at_least_one(items * each);
    capacity->busiest = plan_busiest(items, options->shape.zipf) / (double)each;
}

static void note_offer(const struct options *options, struct capacity *capacity) {
    capacity->duration_s = (double)plan_span_ns(&options->shape) / NS_PER_S;
    if (capacity->duration_s > 0)
        capacity->offered = (double)options->shape.count / capacity->duration_s;
}

static void note_measured(const struct recorder *total, struct capacity *capacity) {
    double elapsed_s = (double)total->last_ns / NS_PER_S;

    capacity->commit_p50_ms = ms(histogram_percentile(&total->commit, 50));
    capacity->commit_p99_ms = ms(histogram_percentile(&total->commit, 99));
    capacity->wait_p50_ms = ms(histogram_percentile(&total->wait, 50));
    capacity->wait_p99_ms = ms(histogram_percentile(&total->wait, 99));
    if (elapsed_s <= 0)
        return;
    capacity->turns = (double)total->hold.count / elapsed_s;
    capacity->sold = (double)total->by_outcome[RECORD_SOLD] / elapsed_s;
}

/* ---- what it predicts */

/* The most orders that wait at a time, and how many are left when the schedule ends. */
static void predict_backlog(const struct options *options, struct capacity *capacity) {
    const struct plan_shape *shape = &options->shape;
    double expected = plan_expected(shape), backlog = 0, most = 0;
    double scale = expected > 0 ? (double)shape->count / expected : 0; /* --requests */

    for (size_t i = 0; i < shape->stage_count; i++) {
        const struct plan_stage *stage = &shape->stages[i];
        double step_s = (double)stage->span_ns / NS_PER_S / STEPS;

        for (int step = 0; step < STEPS; step++) {
            double part = (step + 0.5) / STEPS; /* the rate in the middle stands for the step */
            double rate = scale * (stage->from + (stage->to - stage->from) * part);

            backlog = fmax(0, backlog + (rate - capacity->ceiling) * step_s);
            most = fmax(most, backlog);
        }
    }
    capacity->backlog = most;
    capacity->longest_wait = most / capacity->ceiling;
}

static void predict(const struct options *options, struct capacity *capacity) {
    assert(capacity->hold_ms > 0 && capacity->busiest > 0 && capacity->busiest <= 1);
    capacity->ceiling = 1000 / capacity->hold_ms / capacity->busiest;
    capacity->utilization = capacity->offered / capacity->ceiling;
    capacity->reached = capacity->turns / capacity->ceiling;
    if (capacity->turns > 0)
        capacity->handover_ms =
            fmax(0, 1000 / (capacity->turns * capacity->busiest) - capacity->hold_ms);
    predict_backlog(options, capacity);
}

/* Was there a queue that the holds alone do not explain? */
static bool is_handover_slow(const struct recorder *total, const struct result *result,
                             const struct capacity *capacity) {
    double elapsed_s = (double)total->last_ns / NS_PER_S / (double)at_least_one(result->count);
    bool is_queued = capacity->utilization >= 1 || elapsed_s > OUTLASTS * capacity->duration_s;

    return is_queued && capacity->wait_p50_ms > capacity->hold_ms && capacity->reached < SLOW;
}

/* ---- the sentence */

static void tell_queue(char *text, size_t size, const struct capacity *capacity) {
    char wait[DURATION_TEXT], duration[DURATION_TEXT];

    if (capacity->backlog < 1 && capacity->utilization < BUSY)
        (void)snprintf(text, size, "no queue that lasts");
    else if (capacity->backlog < 1)
        (void)snprintf(text, size, "no queue that lasts, but %.0f %% busy, so bursts wait",
                       100 * capacity->utilization);
    else
        (void)snprintf(text, size, "a queue of about %.0f after %s, the last waits %s",
                       capacity->backlog, duration_ms(duration, 1000 * capacity->duration_s),
                       duration_ms(wait, 1000 * capacity->longest_wait));
}

static void tell_lock(struct capacity *capacity, const char *name, enum record_lock lock) {
    const char *noun = lock == RECORD_LOCK_REDIS ? "key" : "lock";
    char lanes[64], queue[120], slow[120] = "";
    char hold[DURATION_TEXT], wait[DURATION_TEXT], handover[DURATION_TEXT];

    (void)snprintf(lanes, sizeof lanes, "its %s", noun);
    if (capacity->lanes > 1)
        (void)snprintf(lanes, sizeof lanes, "each of its %u %ss", capacity->lanes, noun);
    tell_queue(queue, sizeof queue, capacity);
    if (capacity->is_handover_slow)
        (void)snprintf(
            slow, sizeof slow,
            "; that is %.0f %% of the ceiling, as each handover to the next holder takes "
            "about %s more",
            100 * capacity->reached, duration_ms(handover, capacity->handover_ms));
    (void)snprintf(capacity->sentence, sizeof capacity->sentence,
                   "%s holds %s %s -> at most %.0f orders/s; you offered %.0f/s: %s; measured "
                   "%.0f/s, p99 wait %s%s",
                   name, lanes, duration_ms(hold, capacity->hold_ms), capacity->ceiling,
                   capacity->offered, queue, capacity->turns,
                   duration_ms(wait, capacity->wait_p99_ms), slow);
}

static void tell_row(struct capacity *capacity, const char *name) {
    char usual[DURATION_TEXT], worst[DURATION_TEXT];

    (void)snprintf(
        capacity->sentence, sizeof capacity->sentence,
        "%s takes no lock: orders meet at the stock row; the statement that sold took %s "
        "(p50), %s (p99), with its wait for a connection and for the row; sold %.0f/s",
        name, duration_ms(usual, capacity->commit_p50_ms),
        duration_ms(worst, capacity->commit_p99_ms), capacity->sold);
}

void capacity_make(const struct result *result, const struct options *options,
                   struct capacity *capacity) {
    const struct recorder *total = result->total;
    enum record_lock lock;

    *capacity = (struct capacity){.bound = CAPACITY_UNTOLD};
    if (result->count == 0 || total->costed == 0)
        return;
    lock = lock_of(total);
    note_offer(options, capacity);
    note_measured(total, capacity);
    if (lock != RECORD_LOCK_UNTOLD && total->hold.sum > 0) {
        capacity->bound = CAPACITY_LOCK;
        capacity->hold_ms = histogram_mean(&total->hold) / NS_PER_MS;
        count_lanes(result, options, lock, capacity);
        predict(options, capacity);
        capacity->is_handover_slow = is_handover_slow(total, result, capacity);
        tell_lock(capacity, result->item->given, lock);
    } else if (lock == RECORD_LOCK_UNTOLD && total->commit.count > 0) {
        capacity->bound = CAPACITY_ROW;
        tell_row(capacity, result->item->given);
    }
}
