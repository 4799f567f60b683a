/* The scripts by what they do. Their texts are put together in redis_texts.S. */
#include "redis_scripts.h"

extern const char redis_acquire[], redis_renew[], redis_renew_shared[], redis_release[],
    redis_inspect[], redis_break[];

const struct redis_script redis_scripts[] = {
    [REDIS_ACQUIRE] = {redis_acquire, "6c5328af6cfa8e4e12c88d3427a1631ac1e561b4"},
    [REDIS_RENEW] = {redis_renew, "a9d29142f15efb8c50ad176b1aa5368222f4ae36"},
    [REDIS_RENEW_SHARED] = {redis_renew_shared, "e0209b53002d454c33564c93aaab1e9bfb78f80f"},
    [REDIS_RELEASE] = {redis_release, "a8935c770e852c02f2142237ca76345e5c6299e7"},
    [REDIS_INSPECT] = {redis_inspect, "9d78d98b3ead518e3ebff6579b4c26be3f8b3ae1"},
    [REDIS_BREAK] = {redis_break, "9be666b25d43cb7b83ae0b7a350ff32c60af74dd"},
};
