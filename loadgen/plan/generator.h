/* Random numbers that are the same on every machine: xoshiro256** by Blackman and Vigna, seeded by
 * splitmix64 as they advise (https://prng.di.unimi.it). Of our own, because rand() differs from one
 * C library to the next. */
#ifndef LOADGEN_GENERATOR_H
#define LOADGEN_GENERATOR_H

#include <stdint.h>

struct generator {
    uint64_t state[4];
};

void generator_seed(struct generator *generator, uint64_t seed);
/* Uniform in (0, 1]. */
double generator_uniform(struct generator *generator);

#endif
