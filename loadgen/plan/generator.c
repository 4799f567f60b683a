/* xoshiro256**, and what is made of its bits. */
#include "generator.h"

static uint64_t splitmix64(uint64_t *state) {
    uint64_t z = (*state += UINT64_C(0x9e3779b97f4a7c15));

    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

void generator_seed(struct generator *generator, uint64_t seed) {
    for (int i = 0; i < 4; i++)
        generator->state[i] = splitmix64(&seed);
}

static uint64_t rotate_left(uint64_t x, int k) {
    return (x << k) | (x >> (64 - k));
}

static uint64_t next(struct generator *generator) {
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

double generator_uniform(struct generator *generator) {
    return (double)((next(generator) >> 11) + 1) * 0x1.0p-53;
}
