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

/* In a child, where cmocka cannot fail the test. */
#define REQUIRE(condition)                                                                         \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            (void)fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition);                  \
            _exit(1);                                                                              \
        }                                                                                          \
    } while (0)

int64_t history_now_ns(void);
/* A number below `limit`; the next state of the generator is in `random`, which is not 0. */
uint32_t dice(uint32_t *random, uint32_t limit);

/* In memory that the children of this process share. */
struct history *history_open(void);
void history_close(struct history *history);
void history_add(struct history *history, const struct grant *grant);
/* NULL, or what is wrong: two holders of a name at a time, or a fencing token that did not rise. */
const char *history_check(struct history *history);

#endif
