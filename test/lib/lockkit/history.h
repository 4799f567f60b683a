/* A history of grants, written by several processes, and what must be true of it. */
#ifndef LOCKKIT_TEST_HISTORY_H
#define LOCKKIT_TEST_HISTORY_H

#include "fixture.h"

#include <stdatomic.h>
#include <unistd.h>

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

/* A number below `limit`; the next state of the generator is in `random`, which is not 0. */
uint32_t dice(uint32_t *random, uint32_t limit);

/* In memory that the children of this process share. */
struct history *history_open(void);
void history_close(struct history *history);
void history_add(struct history *history, const struct grant *grant);
/* NULL, or what is wrong: two holders of a name at a time, or a fencing token that did not rise. */
const char *history_check(struct history *history);

/* How the actors of a process use their locks, and for how long, or until there are some grants. */
struct history_use {
    uint32_t ttl_ms, reply_ms, poll_ms;
    int64_t duration_ms;
};
bool history_is_over(const struct history *history, int64_t end_ms);
/* The whole life of a child: its actors take the same few locks, wait, cancel, give back and
 * abandon as the dice fall, and their client is closed in the middle of everything. It exits with 0
 * when each callback has run once and nothing is left. */
void history_live(struct history *history, const struct history_use *use, const char *url,
                  const char *prefix, uint32_t seed);

#endif
