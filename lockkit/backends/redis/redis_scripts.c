/* The scripts by what they do. Their texts are put together in redis_texts.S. */
#include "redis_scripts.h"

extern const char redis_acquire[], redis_renew[], redis_renew_shared[], redis_release[],
    redis_inspect[], redis_break[];

const struct redis_script redis_scripts[] = {
    [REDIS_ACQUIRE] = {redis_acquire, "c4c180f57aa9f3f4d4b9532653cfee64bef95242"},
    [REDIS_RENEW] = {redis_renew, "a9d29142f15efb8c50ad176b1aa5368222f4ae36"},
    [REDIS_RENEW_SHARED] = {redis_renew_shared, "737719165f510e6ec8837b3cefd11b33e14cd080"},
    [REDIS_RELEASE] = {redis_release, "687b63aa4115910e05a93b096fb34ed12881e3ca"},
    [REDIS_INSPECT] = {redis_inspect, "fe81828ca5b3f50f5a73fe8e1af6f68b86da4e0e"},
    [REDIS_BREAK] = {redis_break, "1693a9cd67f6b5a9c3b68d72ec48ed68b13df408"},
};
