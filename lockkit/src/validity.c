/* How long a grant may be believed. */
#include "validity.h"

int64_t validity_until(int64_t sent_ns, uint32_t ttl_ms) {
    int64_t drift_ms = ttl_ms / 100 + 2;

    if (drift_ms >= ttl_ms)
        return VALIDITY_NONE;
    return sent_ns + ((int64_t)ttl_ms - drift_ms) * NS_PER_MS;
}

enum lk_state validity_state(int64_t until_ns, uint32_t suspect_ms, int64_t now_ns) {
    if (until_ns == VALIDITY_FOREVER)
        return LK_HELD;
    if (until_ns <= now_ns)
        return LK_LOST_STATE;
    return until_ns - now_ns < (int64_t)suspect_ms * NS_PER_MS ? LK_SUSPECT : LK_HELD;
}

int64_t validity_left_ms(int64_t until_ns, int64_t now_ns) {
    if (until_ns == VALIDITY_FOREVER)
        return INT64_MAX;
    return until_ns <= now_ns ? 0 : (until_ns - now_ns) / NS_PER_MS;
}
