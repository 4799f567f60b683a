#include "plan.h"

#define HOLD_MIN_MS  2
#define HOLD_MAX_MS  12
#define THINK_MAX_MS 6
#define GRANTS       3 /* the fault strikes at one of the first of its victim */
#define KILL_MAX_MS  2

/* splitmix64 by Steele, Lea and Flood: any two seeds give unrelated numbers. */
static uint64_t plan_mix(uint64_t number) {
    uint64_t z = number + UINT64_C(0x9e3779b97f4a7c15);

    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

uint64_t plan_seed(uint64_t seed, unsigned number) {
    return plan_mix(seed ^ plan_mix(number));
}

uint64_t plan_seed_of(uint64_t seed, const char *name) {
    for (; *name != '\0'; name++)
        seed = plan_mix(seed ^ (unsigned char)*name);
    return seed;
}

struct plan plan_make(uint64_t seed, unsigned workers) {
    return (struct plan){.seed = seed,
                         .victim = (unsigned)(plan_mix(seed + 1) % workers),
                         .grant = 1 + (unsigned)(plan_mix(seed + 2) % GRANTS),
                         .second_pct = 10 + (unsigned)(plan_mix(seed + 5) % 81),
                         .is_second_on_victim = plan_mix(seed + 6) % 2 == 0,
                         .kill_ms = (int64_t)(plan_mix(seed + 7) % (KILL_MAX_MS + 1))};
}

static uint64_t plan_of(const struct plan *plan, unsigned worker, unsigned cycle, unsigned what) {
    return plan_seed(plan->seed + what, worker * 1000003U + cycle);
}

int64_t plan_hold_ms(const struct plan *plan, unsigned worker, unsigned cycle) {
    return HOLD_MIN_MS +
           (int64_t)(plan_of(plan, worker, cycle, 3) % (HOLD_MAX_MS - HOLD_MIN_MS + 1));
}

int64_t plan_think_ms(const struct plan *plan, unsigned worker, unsigned cycle) {
    return (int64_t)(plan_of(plan, worker, cycle, 4) % (THINK_MAX_MS + 1));
}
