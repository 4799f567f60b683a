/* The wrapped allocators, and when they fail. */
#include "fault.h"

#include <assert.h>
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

static struct {
    int skip, times;
    bool has_failed;
} fault;

static bool fails_now(void) {
    if (fault.times == 0)
        return false;
    if (fault.skip > 0) {
        fault.skip--;
        return false;
    }
    fault.times--;
    fault.has_failed = true;
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
    fault.skip = skip;
    fault.times = times;
    fault.has_failed = false;
}

bool fault_memory_end(void) {
    fault.times = 0;
    return fault.has_failed;
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
