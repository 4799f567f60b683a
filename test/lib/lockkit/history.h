/* A history of grants, written by several processes, and what must be true of it. */
#ifndef LOCKKIT_TEST_HISTORY_H
#define LOCKKIT_TEST_HISTORY_H

#include "fixture.h"

#include <stdatomic.h>

#define GRANTS_MOST 65536

/* A holder's own view. It was valid at `from_ns`, and until `until_ns`: the end of the validity
 * that it knew of, or the moment before it called lk_release(). */
struct grant {
    int name;
    int64_t from_ns, until_ns; /* CLOCK_BOOTTIME */
    uint64_t fence;
};

struct history {
    atomic_uint count;
    struct grant grants[GRANTS_MOST];
};

/* In memory that the children of this process share. */
struct history *history_open(void);
void history_close(struct history *history);
void history_add(struct history *history, const struct grant *grant);
/* NULL, or what is wrong: two holders of a name at a time, or a fencing token that did not rise. */
const char *history_check(struct history *history);

#endif
