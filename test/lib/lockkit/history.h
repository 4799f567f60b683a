/* A history of grants that several processes write, and the rules that it must obey. */
#ifndef LOCKKIT_TEST_HISTORY_H
#define LOCKKIT_TEST_HISTORY_H

#include "fixture.h"

#include <stdatomic.h>
#include <unistd.h>

#define GRANTS_MOST 65536

/* A grant by its holder's own view. It was valid from `from_ns` to `until_ns`: the end of the
 * validity that it knew, or the moment before it called lk_release(). */
struct grant {
    int name;
    int64_t from_ns, until_ns; /* CLOCK_BOOTTIME */
    uint64_t fence;
};

struct history {
    atomic_uint count;
    struct grant grants[GRANTS_MOST];
};

/* A number below `limit`. `random` has the state of the generator, which is never 0. */
uint32_t dice(uint32_t *random, uint32_t limit);

/* In memory that the children of this process share. */
struct history *history_open(void);
void history_close(struct history *history);
void history_add(struct history *history, const struct grant *grant);
/* NULL, or the fault: two holders of a name at a time, or a fencing token that did not rise. */
const char *history_check(struct history *history);

/* How the actors of a process use their locks, and for how long, or until there are so many grants.
 */
struct history_use {
    uint32_t ttl_ms, reply_ms, poll_ms;
    int64_t duration_ms;
};
bool history_is_over(const struct history *history, int64_t end_ms);
/* The whole life of a child. Its actors take the same few locks at random: they wait, cancel, give
 * back and abandon. Their client is closed in the middle of all that. The child exits with 0 if
 * each callback ran once and nothing is left. */
void history_live(struct history *history, const struct history_use *use, const char *url,
                  const char *prefix, uint32_t seed);

#endif
