/* Shuts a process in, before it runs what a stranger wrote.
 *
 * In two steps, each for good. First the limits, and a filter of system calls (seccomp, by
 * libseccomp) that leaves what loading a shared object needs: files are opened for reading only,
 * and there is no network, no new process, no signal to others, no trace. Then, before the first
 * call into what was loaded, nothing but memory, the clocks and writing to what is open already.
 * Any other call ends the process. Where the kernel has no seccomp nothing runs. */
#ifndef LAB_SEAL_H
#define LAB_SEAL_H

#include <stddef.h>

struct seal_limits {
    int cpu_s;
    size_t memory_bytes; /* of address space; not under AddressSanitizer, which reserves more */
};

/* Close all files but standard error and `keep`, and set the limits and the first filter. 0, or -1
 * with errno. */
__attribute__((warn_unused_result)) int seal_for_loading(const struct seal_limits *limits,
                                                         int keep);
/* The second filter. 0, or -1 with errno. */
__attribute__((warn_unused_result)) int seal_for_running(void);

#endif
