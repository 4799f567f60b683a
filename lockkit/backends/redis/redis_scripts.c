/* The scripts by what they do. Their texts are put together in redis_texts.S. */
#include "redis_scripts.h"

extern const char redis_acquire[], redis_renew[], redis_renew_shared[], redis_release[],
    redis_inspect[], redis_break[];

const struct redis_script redis_scripts[] = {
    [REDIS_ACQUIRE] = {redis_acquire, "574f0f53e5685f73ee1319ba66101e1bf8cee660"},
    [REDIS_RENEW] = {redis_renew, "a9d29142f15efb8c50ad176b1aa5368222f4ae36"},
    [REDIS_RENEW_SHARED] = {redis_renew_shared, "737719165f510e6ec8837b3cefd11b33e14cd080"},
    [REDIS_RELEASE] = {redis_release, "b65e0d2e0877e337d2126b4d989ebb71167d1613"},
    [REDIS_INSPECT] = {redis_inspect, "615f9013f0102e39179030f014ff6d99d76d63a5"},
    [REDIS_BREAK] = {redis_break, "b96c886e936066dd0d7a240b235e842501a91cc8"},
};
