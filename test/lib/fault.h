/* Failing on purpose in unit tests: "fail allocation N, M times".
 *
 * Test programs are linked with --wrap for malloc, calloc, realloc, strdup and strndup, so every
 * such call in our own objects (not in shared libraries) comes here first. */
#ifndef TEST_FAULT_H
#define TEST_FAULT_H

#include <stdbool.h>
#include <sys/resource.h>

/* Let the next `skip` allocations succeed, then fail `times` of them. */
void fault_memory(int skip, int times);
/* Stop failing. True when at least one allocation failed since fault_memory(). */
bool fault_memory_end(void);

/* Run `scenario(arg)` again and again with the first, second, third ... allocation failing, until
 * one run needs no allocation that fails. The scenario must cope, and leak nothing. */
void fault_each_allocation(void (*scenario)(void *arg), void *arg);

/* From now on the process may have so many descriptors; returns how many it might have before. */
rlim_t fault_descriptors(rlim_t most);

#endif
