/* A history of grants, written by several processes, and what must be true of it. */
#ifndef LOCKKIT_TEST_HISTORY_H
#define LOCKKIT_TEST_HISTORY_H

#include "fixture.h"

#include <stdatomic.h>
#include <sys/mman.h>

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
static inline struct history *history_open(void) {
    void *memory = mmap(NULL, sizeof(struct history), PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    assert_true(memory != MAP_FAILED);
    return memory;
}

static inline void history_close(struct history *history) {
    (void)munmap(history, sizeof *history);
}

static inline void history_add(struct history *history, const struct grant *grant) {
    unsigned index = atomic_fetch_add(&history->count, 1);

    if (index < GRANTS_MOST)
        history->grants[index] = *grant;
}

static inline int compare_grants(const void *left, const void *right) {
    const struct grant *a = left, *b = right;

    if (a->name != b->name)
        return a->name < b->name ? -1 : 1;
    return (a->from_ns > b->from_ns) - (a->from_ns < b->from_ns);
}

/* NULL, or what is wrong: two holders of a name at a time, or a fencing token that did not rise. */
static inline const char *history_check(struct history *history) {
    int64_t until_ns = 0;

    if (history->count > GRANTS_MOST)
        return "too many grants";
    qsort(history->grants, history->count, sizeof history->grants[0], compare_grants);
    for (unsigned i = 0; i < history->count; i++) {
        const struct grant *grant = &history->grants[i];
        bool is_first = i == 0 || grant->name != grant[-1].name;

        if (!is_first && grant->from_ns < until_ns)
            return "two holders at a time";
        if (!is_first && grant->fence <= grant[-1].fence)
            return "the fencing token did not rise";
        if (is_first || grant->until_ns > until_ns)
            until_ns = grant->until_ns;
    }
    return NULL;
}

#endif
