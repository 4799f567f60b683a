/* Ends a process that a test started, and never a group. */
#ifndef TEST_PROCESS_END_H
#define TEST_PROCESS_END_H

#include <sys/types.h>
#include <sys/wait.h>

#include <signal.h>

/* Send the signal, wait for the end of the process, and set *pid to 0. It does nothing if *pid
 * is 0, or the -1 of a failed fork(): kill() would take these for a group, or for every process. */
static inline void process_end(pid_t *pid, int signal) {
    if (*pid > 0 && kill(*pid, signal) == 0)
        (void)waitpid(*pid, NULL, 0);
    *pid = 0;
}

#endif
