/* Runs jobs in processes of their own, some at a time. A job writes its result to a file, which the
 * pool reads when its process has ended. */
#ifndef LAB_POOL_H
#define LAB_POOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

struct pool {
    size_t jobs, processes; /* at a time */
    /* In a process of the job: do it, and write the result. */
    void (*run)(void *data, size_t job, FILE *to);
    /* Here: the result; or NULL and the reason why there is none. */
    void (*ended)(void *data, size_t job, const char *result, size_t size, const char *why);
    /* Here, from time to time, with the number of jobs that have ended. */
    void (*wait)(void *data, size_t ended);
    void *data;
    /* A signal's handler sets it. Then no other job starts, and the running ones get SIGTERM. */
    const volatile bool *is_interrupted;
};

/* Run all jobs. When it returns, no process of the pool is left. */
void pool_run(const struct pool *pool);

#endif
