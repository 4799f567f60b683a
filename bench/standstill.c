/* Measures how late the machine makes even a perfect sender. Two threads only read the clock: they
 * stand for a sender and its server, which keep two processors busy. If a thread reads it again
 * only after more than 1 ms, requests planned for that gap, except its last 1 ms, would be late.
 *
 *     standstill [SECONDS]      prints for the worse thread the percentage within 1 ms of plan, and
 *                               the longest gap in ms */
#include "clock.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#define TOLERANCE_NS 1000000

struct watch {
    int64_t length_ns, late_ns, longest_ns;
};

static void *look(void *arg) {
    struct watch *watch = arg;
    int64_t start = clock_now_ns(), before = start, now = start;

    for (; now - start < watch->length_ns; before = now) {
        now = clock_now_ns();
        if (now - before > TOLERANCE_NS)
            watch->late_ns += now - before - TOLERANCE_NS;
        if (now - before > watch->longest_ns)
            watch->longest_ns = now - before;
    }
    return NULL;
}

int main(int argc, char **argv) {
    int64_t length_ns = (argc > 1 ? atoi(argv[1]) : 2) * INT64_C(1000000000);
    struct watch watches[2] = {{.length_ns = length_ns}, {.length_ns = length_ns}};
    const struct watch *worse;
    pthread_t other;

    if (length_ns <= 0 || pthread_create(&other, NULL, look, &watches[1]) != 0)
        return 1;
    (void)look(&watches[0]);
    (void)pthread_join(other, NULL);
    worse = &watches[watches[1].late_ns > watches[0].late_ns];
    (void)printf("%.3f %.3f\n", 100 - 100.0 * (double)worse->late_ns / (double)length_ns,
                 (double)worse->longest_ns / 1e6);
    return 0;
}
