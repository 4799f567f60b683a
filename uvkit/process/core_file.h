/* Core files: an image of the process's memory, with every password in it, which may lie about for
 * years. */
#ifndef UVKIT_CORE_FILE_H
#define UVKIT_CORE_FILE_H

#include <sys/prctl.h>

/* From here on the kernel writes no core file. It does not pass one to a program either, which
 * systemd-coredump and apport get despite the limit. Only root can attach a debugger, or read the
 * environment in /proc. */
static inline void core_file_forbid(void) {
    (void)prctl(PR_SET_DUMPABLE, 0);
}

#endif
