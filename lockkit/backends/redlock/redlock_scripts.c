/* The Lua scripts of a node (lua/). */
#include "redlock_scripts.h"

extern const struct redis_script redlock_vote, redlock_renew, redlock_release, redlock_inspect;

const struct redis_script *const redlock_scripts[] = {
    [REDLOCK_VOTES] = &redlock_vote,
    [REDLOCK_RENEWS] = &redlock_renew,
    [REDLOCK_RELEASES] = &redlock_release,
    [REDLOCK_INSPECTS] = &redlock_inspect,
};
