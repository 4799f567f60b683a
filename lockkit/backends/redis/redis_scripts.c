/* The scripts by what they do. Their texts are put together in redis_texts.S. */
#include "redis_scripts.h"

extern const char redis_acquire[], redis_renew[], redis_renew_shared[], redis_release[],
    redis_inspect[], redis_break[];

const struct redis_script redis_scripts[] = {
    [REDIS_ACQUIRE] = {redis_acquire, "37bc2507552c6bf402c16e45cdabc568246338ac"},
    [REDIS_RENEW] = {redis_renew, "a9d29142f15efb8c50ad176b1aa5368222f4ae36"},
    [REDIS_RENEW_SHARED] = {redis_renew_shared, "ab05942f7eadaf3fb971b51bd318320cf8c7b1d6"},
    [REDIS_RELEASE] = {redis_release, "525302ee820f039c81d474d6ce69a68291a749b2"},
    [REDIS_INSPECT] = {redis_inspect, "275b0c8c4f8a6a8139f673d19f7bcc5a74f5389b"},
    [REDIS_BREAK] = {redis_break, "a6580e822662deaa2554bda64ec968f302cb934b"},
};
