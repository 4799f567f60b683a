/* The resource that the lock guards: a register that belongs to the judge, so no worker can lie
 * about it. It is two at once. The plain one takes each write. The fenced one refuses a write with
 * a lower fence than one that it has seen. */
#ifndef LOCKJUDGE_RESOURCE_H
#define LOCKJUDGE_RESOURCE_H

#include <stdbool.h>
#include <stdint.h>

struct resource {
    uint64_t fence; /* the greatest that it has seen */
};

/* Write. False: the fenced register refused. A fence of 0 is none, and cannot be refused. */
static inline bool resource_write(struct resource *resource, uint64_t fence) {
    if (fence != 0 && fence < resource->fence)
        return false;
    if (fence > resource->fence)
        resource->fence = fence;
    return true;
}

#endif
