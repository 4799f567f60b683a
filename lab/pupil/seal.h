/* Seals a process before it runs a stranger's code.
 *
 * There are three steps. None can be undone.
 *   1. seal_for_loading() sets limits and a filter of system calls (seccomp, by libseccomp). The
 *      filter leaves only the calls that load a shared object, fork, and wait: files are opened for
 *      reading only, and there is no network, no other program, no signal to others, no trace.
 *   2. seal_after_loading() takes the clocks away that need no system call: the kernel's page
 *      (vDSO), and the processor's counter (rdtsc), which is then a fault.
 *   3. seal_for_running(), in the forked process before its first call into the loaded code, leaves
 *      only memory and the exit.
 * Any other call ends the process. If the kernel has no seccomp, nothing runs. */
#ifndef LAB_SEAL_H
#define LAB_SEAL_H

#include <stddef.h>

#if defined(__SANITIZE_ADDRESS__)
#define SEAL_HAS_ASAN 1 /* no bound on memory, and the clocks stay: its runtime needs both */
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define SEAL_HAS_ASAN 1
#endif
#endif

/* Close all files except standard error and `keep`. Set the limits, also one on address space (not
 * under AddressSanitizer, which reserves more), and the first filter. 0, or -1 with errno. */
__attribute__((warn_unused_result)) int seal_for_loading(size_t memory_bytes, int keep);
/* Take the clocks away, after the last object is loaded. 0, or -1 with errno. */
__attribute__((warn_unused_result)) int seal_after_loading(void);
/* Set the second filter, and end the process with SIGXCPU once it has used `cpu_s`, and a second
 * later with SIGKILL. 0, or -1 with errno. */
__attribute__((warn_unused_result)) int seal_for_running(int cpu_s);

#endif
