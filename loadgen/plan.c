/* The arrival schedule: exponential gaps or equal ones, from a small generator of our own. */
#include "plan.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* xoshiro256** by Blackman and Vigna, seeded by splitmix64 as they advise
 * (https://prng.di.unimi.it): of our own, because rand() differs from one C library to the next. */
struct generator {
    uint64_t state[4];
};

static uint64_t splitmix64(uint64_t *state) {
    uint64_t z = (*state += UINT64_C(0x9e3779b97f4a7c15));

    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

static void generator_seed(struct generator *generator, uint64_t seed) {
    for (int i = 0; i < 4; i++)
        generator->state[i] = splitmix64(&seed);
}

static uint64_t rotate_left(uint64_t x, int k) {
    return (x << k) | (x >> (64 - k));
}

static uint64_t generator_next(struct generator *generator) {
    uint64_t *s = generator->state;
    uint64_t result = rotate_left(s[1] * 5, 7) * 9;
    uint64_t t = s[1] << 17;

    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= t;
    s[3] = rotate_left(s[3], 45);
    return result;
}

/* Exponentially distributed with mean 1: the logarithm of a uniform number in (0, 1]. */
static double next_gap(struct generator *generator) {
    double uniform = (double)((generator_next(generator) >> 11) + 1) * 0x1.0p-53;

    return -log(uniform);
}

/* A Poisson process, given that `count` arrivals fall into the span: the sums of count + 1
 * exponential gaps, scaled so that the last one ends with the span (L. Devroye, Non-Uniform Random
 * Variate Generation, chapter V.2). So the mean rate is exact and not one more thing that varies.
 */
static void fill_poisson(struct plan *plan, uint64_t seed) {
    struct generator generator;
    double total = 0, at = 0;

    generator_seed(&generator, seed);
    for (size_t i = 0; i <= plan->count; i++)
        total += next_gap(&generator);
    generator_seed(&generator, seed);
    for (size_t i = 0; i < plan->count; i++) {
        at += next_gap(&generator);
        plan->due_ns[i] = (int64_t)(at / total * (double)plan->span_ns);
    }
}

static void fill_constant(struct plan *plan) {
    double gap = (double)plan->span_ns / (double)plan->count;

    for (size_t i = 0; i < plan->count; i++)
        plan->due_ns[i] = (int64_t)(gap * (double)i);
}

int plan_parse_arrival(const char *text, enum plan_arrival *arrival) {
    *arrival = PLAN_POISSON;
    if (strcmp(text, "poisson") == 0)
        return 0;
    *arrival = PLAN_CONSTANT;
    return strcmp(text, "constant") == 0 ? 0 : -1;
}

int plan_make(struct plan *plan, size_t count, int64_t per_second, enum plan_arrival arrival,
              uint64_t seed) {
    plan->count = count;
    plan->span_ns = (int64_t)((double)count / (double)per_second * 1e9);
    plan->due_ns = calloc(count ? count : 1, sizeof *plan->due_ns);
    if (plan->due_ns == NULL)
        return -1;
    if (arrival == PLAN_POISSON)
        fill_poisson(plan, seed);
    else
        fill_constant(plan);
    return 0;
}

void plan_free(struct plan *plan) {
    free(plan->due_ns);
    plan->due_ns = NULL;
}
