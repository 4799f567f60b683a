/* The hosts of --hosts: names or addresses for ssh, with commas between them. Each sends one part of
 * a plan; a host that is named twice sends two. */
#ifndef LOADGEN_HOST_LIST_H
#define LOADGEN_HOST_LIST_H

#include "why.h"

#include <stddef.h>

#define HOST_LIST_MAX 64
#define HOST_TEXT     256

/* Sets `count`; an empty list has none. Returns 0; or -1 with the reason in `why`. */
__attribute__((warn_unused_result)) int host_list_count(const char *hosts, size_t *count,
                                                        struct why *why);
/* The name at place `i`, which must be below the count. */
void host_list_name(const char *hosts, size_t i, char name[HOST_TEXT]);

#endif
