/* Measures the linearizability check: prints a line of JSON for each size of history, valid and
 * violated.
 *
 *     checker [10000 100000 ...]      numbers of operations
 *
 * Each size runs in its own process, so that its peak memory is measured alone. */
#include "linear.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static uint64_t seed = 88172645463325252;

static int64_t pick(int64_t below) {
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return (int64_t)(seed % (uint64_t)below);
}

/* A flash sale at 800 a second. Half of the requests find no unit, and each takes up to 40 ms. They
 * are in random order, which is worst for caches. */
static void make_history(struct linear_op *ops, size_t count, bool is_violated) {
    int64_t left = (int64_t)count / 2;

    for (size_t i = 0; i < count; i++) {
        int64_t now = (int64_t)i * 1250000;
        struct linear_op *op = &ops[i];

        *op = (struct linear_op){.invoke_ns = now - pick(20000000),
                                 .return_ns = now + pick(20000000),
                                 .kind = left > 0 ? LINEAR_OK : LINEAR_SOLD_OUT};
        if (left > 0)
            op->rank = (int32_t)--left;
    }
    for (size_t i = 0; is_violated && i + 1 < count; i += 1000) { /* a lost update */
        ops[i + 1].rank = ops[i].rank;
        ops[i].kind = ops[i + 1].kind = LINEAR_OK;
    }
    for (size_t i = count; i-- > 1;) {
        size_t other = (size_t)pick((int64_t)i + 1);
        struct linear_op op = ops[i];

        ops[i] = ops[other];
        ops[other] = op;
    }
}

/* One request in a hundred gets no answer and moves to `open`; the others close the gaps. */
static size_t lose(struct linear_op *ops, size_t count, struct linear_open *open) {
    size_t kept = 0;

    for (size_t i = 0; i < count; i++)
        if (pick(100) == 0)
            open->unknown_ns[open->unknown_count++] = ops[i].invoke_ns;
        else
            ops[kept++] = ops[i];
    return kept;
}

static double seconds(void) {
    struct timespec now;

    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static int measure(size_t count, bool is_violated) {
    struct linear_op *ops = calloc(count, sizeof *ops);
    struct linear_open open = {.unknown_ns = calloc(count, sizeof *open.unknown_ns)};
    struct linear_row row = {.units = (int64_t)count / 2, .left = 0, .ops = ops};
    struct linear_answer answer;
    struct rusage usage;
    double start;

    if (ops == NULL || open.unknown_ns == NULL)
        return 1;
    make_history(ops, count, is_violated);
    row.count = lose(ops, count, &open);
    start = seconds();
    if (linear_check(&row, 1, &open, &answer) != 0)
        return 1;
    start = seconds() - start;
    (void)getrusage(RUSAGE_SELF, &usage);
    printf("{\"operations\": %zu, \"violated\": %s, \"linearizable\": %s, \"seconds\": %.6f, "
           "\"peak_mb\": %.1f}\n",
           count, is_violated ? "true" : "false", answer.is_linearizable ? "true" : "false", start,
           (double)usage.ru_maxrss / 1024);
    free(ops);
    free(open.unknown_ns);
    return fflush(stdout) == 0 ? 0 : 1;
}

static int measure_apart(size_t count, bool is_violated) {
    pid_t child = fork();
    int status;

    if (child == 0)
        _exit(measure(count, is_violated));
    if (child < 0 || waitpid(child, &status, 0) != child)
        return 1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

int main(int argc, char **argv) {
    for (int i = 1; i < argc; i++) {
        size_t count = strtoull(argv[i], NULL, 10);

        if (count < 2 || count > UINT32_MAX / 2 || measure_apart(count, false) != 0 ||
            measure_apart(count, true) != 0) {
            (void)fprintf(stderr, "checker: %s operations could not be measured\n", argv[i]);
            return 1;
        }
    }
    return 0;
}
