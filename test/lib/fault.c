/* Wraps the allocators, and makes some of their calls fail. */
#include "fault.h"

#include <assert.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *old, size_t size);
char *__real_strdup(const char *text);
char *__real_strndup(const char *text, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *old, size_t size);
char *__wrap_strdup(const char *text);
char *__wrap_strndup(const char *text, size_t size);

/* Allocations `first` .. `end` - 1 since fault_memory() fail. Several threads may allocate. */
static atomic_llong allocations, first, end;
static atomic_bool has_failed;

static bool fails_now(void) {
    long long nth;

    if (end == 0)
        return false;
    nth = allocations++;
    if (nth < first || nth >= end)
        return false;
    has_failed = true;
    return true;
}

void *__wrap_malloc(size_t size) {
    return fails_now() ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t count, size_t size) {
    return fails_now() ? NULL : __real_calloc(count, size);
}

void *__wrap_realloc(void *old, size_t size) {
    return fails_now() ? NULL : __real_realloc(old, size);
}

char *__wrap_strdup(const char *text) {
    return fails_now() ? NULL : __real_strdup(text);
}

char *__wrap_strndup(const char *text, size_t size) {
    return fails_now() ? NULL : __real_strndup(text, size);
}

void fault_memory(int skip, int times) {
    end = 0;
    allocations = 0;
    first = skip;
    has_failed = false;
    end = (long long)skip + times;
}

bool fault_memory_end(void) {
    end = 0;
    return has_failed;
}

void fault_each_allocation(void (*scenario)(void *arg), void *arg) {
    for (int nth = 0;; nth++) {
        assert(nth < 100000);
        fault_memory(nth, 1);
        scenario(arg);
        if (!fault_memory_end())
            return;
    }
}

rlim_t fault_descriptors(rlim_t most) {
    struct rlimit limit = {.rlim_cur = 0};
    rlim_t before;
    int rc = getrlimit(RLIMIT_NOFILE, &limit);

    before = limit.rlim_cur;
    limit.rlim_cur = most;
    rc |= setrlimit(RLIMIT_NOFILE, &limit);
    assert(rc == 0);
    return before;
}
