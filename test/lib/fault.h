/* Fails calls on purpose in unit tests: "fail allocation N, M times".
 *
 * Test programs are linked with --wrap for malloc, calloc, realloc, strdup and strndup, so each
 * such call in our own objects (not in shared libraries) comes here first. */
#ifndef TEST_FAULT_H
#define TEST_FAULT_H

#include <stdbool.h>
#include <sys/resource.h>

/* Let the next `skip` allocations succeed, then fail `times` of them. */
void fault_memory(int skip, int times);
/* Stop failing. True: at least one allocation failed since fault_memory(). */
bool fault_memory_end(void);

/* Run `scenario(arg)` again and again while the first, second, third ... allocation fails, until
 * a run ends without a failure. The scenario must cope, and leak nothing. */
void fault_each_allocation(void (*scenario)(void *arg), void *arg);

/* Limit the descriptors of the process. Returns the limit before. */
rlim_t fault_descriptors(rlim_t most);

#endif
