/* One client takes and gives back NAMES names in turns, many of them at a time, while it holds
 * other leases.
 *
 *     bench_crowd URL IN_FLIGHT SECONDS [WORD]
 *
 * The names have the WORD: with one that was never used the server has seen none of them.
 * After a third of SECONDS as a warm-up it counts for SECONDS. Prints the pairs a second that ended
 * with LK_OK twice, the other ends of an acquisition or a release, how often a held lease was in
 * doubt, and the number of held leases that were lost. With `local:` nothing but this process works:
 * a second is one of its processor time, so that no other process decides the figures. */
#include "clock.h"
#include "lockkit.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NAMES       10000
#define HELD        100
#define HELD_TTL_MS 3000
#define WAIT_MS     60000

static struct {
    lk_client *client;
    lk_lock *free[NAMES]; /* a ring of the names that are not in flight */
    size_t first, count;
    size_t held, in_flight, suspected, lost;
    uint64_t pairs, failed;
    bool is_over;
} crowd;

static void check(bool is_well, const char *what) {
    if (is_well)
        return;
    (void)fprintf(stderr, "crowd: %s\n", what);
    exit(1);
}

static lk_lock *named(const char *word, size_t number, uint32_t ttl_ms) {
    struct lk_lock_options options = {.size = sizeof options, .ttl_ms = ttl_ms};
    char name[80];
    lk_lock *lock;

    (void)snprintf(name, sizeof name, "crowd-%s-%zu", word, number);
    check(lk_lock_open(&lock, crowd.client, name, &options) == LK_OK, "lk_lock_open");
    return lock;
}

/* ---- The held leases */

static void on_state(lk_lease *lease, enum lk_state state, const char *why, void *data) {
    (void)lease, (void)why, (void)data;
    crowd.suspected += state == LK_SUSPECT && !crowd.is_over;
    crowd.lost += state == LK_LOST_STATE && !crowd.is_over;
}

static void on_held(lk_request *request, enum lk_status status, lk_lease *lease, void *data) {
    (void)request, (void)data;
    check(status == LK_OK, lk_status_text(status));
    lk_lease_on_state(lease, on_state, NULL);
    crowd.held++;
}

static void hold(uv_loop_t *loop) {
    for (size_t i = 0; i < HELD; i++) {
        lk_lock *lock = named("held", i, HELD_TTL_MS);

        check(lk_acquire(lock, WAIT_MS, on_held, NULL, NULL) == LK_OK, "lk_acquire");
        lk_lock_close(lock);
    }
    while (crowd.held < HELD)
        (void)uv_run(loop, UV_RUN_ONCE);
}

/* ---- The names in flight */

static void take_next(void);

static void pair_ended(lk_lock *lock, bool is_well) {
    crowd.pairs += is_well;
    crowd.failed += !is_well && !crowd.is_over;
    crowd.free[(crowd.first + crowd.count++) % NAMES] = lock;
    crowd.in_flight--;
    if (!crowd.is_over)
        take_next();
}

static void on_released(enum lk_status status, void *data) {
    pair_ended(data, status == LK_OK);
}

static void on_acquired(lk_request *request, enum lk_status status, lk_lease *lease, void *data) {
    (void)request;
    if (status == LK_OK)
        lk_release(lease, on_released, data);
    else
        pair_ended(data, false);
}

static void take_next(void) {
    lk_lock *lock = crowd.free[crowd.first];

    crowd.first = (crowd.first + 1) % NAMES;
    crowd.count--;
    crowd.in_flight++;
    check(lk_acquire(lock, WAIT_MS, on_acquired, lock, NULL) == LK_OK, "lk_acquire");
}

static void run_for(uv_loop_t *loop, double seconds) {
    const int64_t end_ns = clock_now_ns() + (int64_t)(seconds * 1e9);

    while (clock_now_ns() < end_ns)
        (void)uv_run(loop, UV_RUN_ONCE);
}

static void measure(uv_loop_t *loop, double seconds, clockid_t clock) {
    int64_t began_ns;

    run_for(loop, seconds / 3);
    began_ns = clock_ns(clock);
    crowd.pairs = crowd.failed = 0;
    run_for(loop, seconds);
    crowd.is_over = true;
    (void)printf("%.1f %" PRIu64 " %zu %zu\n",
                 (double)crowd.pairs / ((double)(clock_ns(clock) - began_ns) / 1e9), crowd.failed,
                 crowd.suspected, crowd.lost);
}

int main(int argc, char **argv) {
    const size_t in_flight = argc == 4 || argc == 5 ? strtoul(argv[2], NULL, 10) : 0;
    uv_loop_t loop;

    check(in_flight > 0 && in_flight <= NAMES, "usage: bench_crowd URL IN_FLIGHT SECONDS [WORD]");
    check(uv_loop_init(&loop) == 0 && lk_client_open(&crowd.client, &loop, argv[1], NULL) == LK_OK,
          argv[1]);
    for (; crowd.count < NAMES; crowd.count++)
        crowd.free[crowd.count] = named(argc == 5 ? argv[4] : "name", crowd.count, 5000);
    hold(&loop);
    for (size_t i = 0; i < in_flight; i++)
        take_next();
    measure(&loop, atof(argv[3]),
            strcmp(argv[1], "local:") == 0 ? CLOCK_PROCESS_CPUTIME_ID : CLOCK_MONOTONIC);
    lk_client_close(crowd.client, NULL, NULL);
    (void)uv_run(&loop, UV_RUN_DEFAULT);
    return 0;
}
