/* A history in shared memory, and its judge. */
#include "history.h"

#include <sys/mman.h>

int64_t history_now_ns(void) {
    return clock_ns(CLOCK_BOOTTIME);
}

/* xorshift32, Marsaglia 2003. */
uint32_t dice(uint32_t *random, uint32_t limit) {
    *random ^= *random << 13;
    *random ^= *random >> 17;
    *random ^= *random << 5;
    return *random % limit;
}

struct history *history_open(void) {
    void *memory = mmap(NULL, sizeof(struct history), PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    assert_true(memory != MAP_FAILED);
    return memory;
}

void history_close(struct history *history) {
    (void)munmap(history, sizeof *history);
}

void history_add(struct history *history, const struct grant *grant) {
    unsigned index = atomic_fetch_add(&history->count, 1);

    if (index < GRANTS_MOST)
        history->grants[index] = *grant;
}

static int compare_grants(const void *left, const void *right) {
    const struct grant *a = left, *b = right;

    if (a->name != b->name)
        return a->name < b->name ? -1 : 1;
    return (a->from_ns > b->from_ns) - (a->from_ns < b->from_ns);
}

const char *history_check(struct history *history) {
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
