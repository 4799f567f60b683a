/* FNV-1a of 64 bits: a hash of a short text, quick and the same everywhere. It is no defence against
 * texts that were chosen to collide. */
#ifndef LOCKKIT_FNV_H
#define LOCKKIT_FNV_H

#include <stdint.h>

static inline uint64_t fnv_hash(const char *text) {
    uint64_t hash = UINT64_C(14695981039346656037);

    for (; *text != '\0'; text++)
        hash = (hash ^ (unsigned char)*text) * UINT64_C(1099511628211);
    return hash;
}

#endif
