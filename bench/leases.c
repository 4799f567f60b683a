/* Measures the cost of many leases in one process.
 *
 *     bench_leases URL COUNT SECONDS
 *
 * It takes COUNT locks with different names and holds them. The TTL is 30 s, so each is renewed
 * every 10 s. Prints the CPU and the memory of this process, and the number of confirmed renewals.
 */
#include "clock.h"
#include "lockkit.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#define TTL_MS    30000
#define AT_A_TIME 500 /* acquisitions in flight at a time */

static struct {
    lk_client *client;
    size_t count, asked, held, lost;
    bool is_over;
} bench;

static void check(bool is_well, const char *what) {
    if (is_well)
        return;
    (void)fprintf(stderr, "leases: %s\n", what);
    exit(1);
}

static void on_state(lk_lease *lease, enum lk_state state, const char *why, void *data) {
    (void)lease;
    (void)why;
    (void)data;
    bench.lost += state == LK_LOST_STATE;
}

static void ask(void);

static void on_acquired(lk_request *request, enum lk_status status, lk_lease *lease, void *data) {
    (void)request;
    (void)data;
    check(status == LK_OK, lk_status_text(status));
    lk_lease_on_state(lease, on_state, NULL);
    bench.held++;
    ask();
}

static void ask(void) {
    struct lk_lock_options options = {.size = sizeof options, .ttl_ms = TTL_MS};
    char name[32];
    lk_lock *lock;

    if (bench.asked == bench.count)
        return;
    (void)snprintf(name, sizeof name, "bench-lease-%zu", bench.asked++);
    check(lk_lock_open(&lock, bench.client, name, &options) == LK_OK &&
              lk_acquire(lock, 60000, on_acquired, NULL, NULL) == LK_OK,
          "cannot acquire");
    lk_lock_close(lock);
}

static double cpu_s(void) {
    struct rusage usage;

    (void)getrusage(RUSAGE_SELF, &usage);
    return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
           (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
}

/* Resident memory in MB. */
static double memory_mb(void) {
    FILE *file = fopen("/proc/self/statm", "r");
    long pages[2] = {0};

    if (file && fscanf(file, "%ld %ld", &pages[0], &pages[1]) != 2)
        pages[1] = 0;
    if (file)
        (void)fclose(file);
    return (double)pages[1] * (double)sysconf(_SC_PAGESIZE) / 1e6;
}

static void on_closed(void *data) {
    (void)data;
    bench.is_over = true;
}

static void hold(uv_loop_t *loop, int seconds) {
    struct lk_counters before = {.size = sizeof before}, after = {.size = sizeof after};
    const int64_t start_ms = clock_now_ms();
    const double start_cpu_s = cpu_s();
    double taken_s, used_s;
    uint64_t renewed;

    lk_client_counters(bench.client, &before);
    while (clock_now_ms() < start_ms + (int64_t)seconds * 1000)
        (void)uv_run(loop, UV_RUN_ONCE);
    lk_client_counters(bench.client, &after);
    taken_s = (double)(clock_now_ms() - start_ms) / 1e3;
    used_s = cpu_s() - start_cpu_s;
    renewed = after.renewed - before.renewed;
    (void)printf("holding %zu: %.1f %% of a core, %.0f renewals a second, %.1f us each, %zu lost, "
                 "%llu unconfirmed\n",
                 bench.held, 100 * used_s / taken_s, (double)renewed / taken_s,
                 1e6 * used_s / (double)(renewed ? renewed : 1), bench.lost,
                 (unsigned long long)(after.renew_failed - before.renew_failed));
}

int main(int argc, char **argv) {
    struct lk_client_options options = {.size = sizeof options, .reply_ms = 2000};
    int64_t start_ms = clock_now_ms();
    double start_mb = memory_mb();
    uv_loop_t loop;

    check(argc == 4, "usage: bench_leases URL COUNT SECONDS");
    bench.count = strtoul(argv[2], NULL, 10);
    check(uv_loop_init(&loop) == 0, "uv_loop_init");
    check(lk_client_open(&bench.client, &loop, argv[1], &options) == LK_OK, "lk_client_open");
    for (int i = 0; i < AT_A_TIME; i++)
        ask();
    while (bench.held < bench.count)
        (void)uv_run(&loop, UV_RUN_ONCE);
    (void)printf("taking %zu: %.1f s, %.0f MB, %.0f bytes each\n", bench.held,
                 (double)(clock_now_ms() - start_ms) / 1e3, memory_mb(),
                 (memory_mb() - start_mb) * 1e6 / (double)bench.held);
    hold(&loop, atoi(argv[3]));
    (void)printf("memory at the end %.0f MB\n", memory_mb());
    start_ms = clock_now_ms();
    lk_client_close(bench.client, on_closed, NULL);
    while (!bench.is_over)
        (void)uv_run(&loop, UV_RUN_ONCE);
    (void)printf("closing: %.1f s\n", (double)(clock_now_ms() - start_ms) / 1e3);
    return 0;
}
