/* Core files: an image of the process's memory, and so of each password in it, that may lie about
 * for years. */
#ifndef UVKIT_CORE_FILE_H
#define UVKIT_CORE_FILE_H

#include <sys/prctl.h>

/* From here on the kernel writes none, not to a program either, as it does under systemd-coredump
 * and apport whatever the limit says; and nobody but root can attach a debugger, or read the
 * environment in /proc. */
static inline void core_file_forbid(void) {
    (void)prctl(PR_SET_DUMPABLE, 0);
}

#endif
