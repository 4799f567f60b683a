/* The scripts by what they do. Their texts are put together in redis_texts.S. */
#include "redis_scripts.h"

extern const char redis_acquire[], redis_renew[], redis_renew_shared[], redis_release[],
    redis_inspect[], redis_break[];

const struct redis_script redis_scripts[] = {
    [REDIS_ACQUIRE] = {redis_acquire, "d160be484ed48b7a00bb1724961851275f7afe7f"},
    [REDIS_RENEW] = {redis_renew, "a9d29142f15efb8c50ad176b1aa5368222f4ae36"},
    [REDIS_RENEW_SHARED] = {redis_renew_shared, "737719165f510e6ec8837b3cefd11b33e14cd080"},
    [REDIS_RELEASE] = {redis_release, "1ad3c381c8b2628c358b9843b6a358498586351c"},
    [REDIS_INSPECT] = {redis_inspect, "30ca61d010cd2f26c45a55b277eb6e545f323aba"},
    [REDIS_BREAK] = {redis_break, "efafc72fa1c6839103975912fbf333f4d5e70e41"},
};
