/* Seals a process before it runs a stranger's code.
 *
 * There are two steps. Neither can be undone.
 *   1. seal_for_loading() sets limits and a filter of system calls (seccomp, by libseccomp). The
 *      filter leaves only the calls that load a shared object: files are opened for reading only,
 *      and there is no network, no new process, no signal to others, no trace.
 *   2. seal_for_running(), before the first call into the loaded code, leaves only memory, the
 *      clocks, and writing to files that are open.
 * Any other call ends the process. If the kernel has no seccomp, nothing runs. */
#ifndef LAB_SEAL_H
#define LAB_SEAL_H

#include <stddef.h>

struct seal_limits {
    int cpu_s;
    size_t memory_bytes; /* of address space; not under AddressSanitizer, which reserves more */
};

/* Close all files except standard error and `keep`. Set the limits and the first filter. 0, or -1
 * with errno. */
__attribute__((warn_unused_result)) int seal_for_loading(const struct seal_limits *limits,
                                                         int keep);
/* Set the second filter. 0, or -1 with errno. */
__attribute__((warn_unused_result)) int seal_for_running(void);

#endif
