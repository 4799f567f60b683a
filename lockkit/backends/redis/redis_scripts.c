/* The scripts by what they do. Their texts are put together in redis_texts.S. */
#include "redis_scripts.h"

extern const char redis_acquire[], redis_renew[], redis_renew_shared[], redis_release[],
    redis_inspect[], redis_break[];

const struct redis_script redis_scripts[] = {
    [REDIS_ACQUIRE] = {redis_acquire, "650fea2f8f4a4659f3cd3c53ab1aa21ad3e9d4ae"},
    [REDIS_RENEW] = {redis_renew, "a9d29142f15efb8c50ad176b1aa5368222f4ae36"},
    [REDIS_RENEW_SHARED] = {redis_renew_shared, "0c2f79aa3d00b1c58c26ca8a265594dd2f66b3e1"},
    [REDIS_RELEASE] = {redis_release, "87fae6125e4be6ebe0d30643d061950ee32dff44"},
    [REDIS_INSPECT] = {redis_inspect, "e30dac87bd7c374fd2696927633734ac43d581c7"},
    [REDIS_BREAK] = {redis_break, "dab8a2b5b1a038e87e3562b7195cedc8d1f6b8ad"},
};
