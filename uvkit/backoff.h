/* The pause before the next attempt to reach a server. */
#ifndef UVKIT_BACKOFF_H
#define UVKIT_BACKOFF_H

#include <assert.h>
#include <uv.h>

/* A random pause between 0 and a limit. The limit doubles with each of the `failures`, from
 * `least_ms` up to `most_ms`: exponential, with full jitter (M. Brooker, "Exponential Backoff And
 * Jitter", 2015). So the clients of a server that comes back do not all arrive at once. */
static inline uint64_t backoff_ms(unsigned failures, uint64_t least_ms, uint64_t most_ms) {
    uint64_t limit_ms = least_ms;
    uint32_t dice = 0;

    assert(least_ms > 0 && most_ms < UINT32_MAX);
    for (; failures > 0 && limit_ms < most_ms; failures--)
        limit_ms *= 2;
    (void)uv_random(NULL, NULL, &dice, sizeof dice, 0, NULL);
    return dice % ((limit_ms < most_ms ? limit_ms : most_ms) + 1);
}

#endif
