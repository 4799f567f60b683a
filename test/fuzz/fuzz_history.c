/* The history of a run, or of a load that another program sent: read, and judged. */
#include "fuzz.h"
#include "history.h"

#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static int fd = -1;
    struct history history;
    struct why why;
    char path[40];

    if (fd < 0)
        fd = memfd_create("history", MFD_CLOEXEC);
    if (fd < 0 || ftruncate(fd, 0) != 0 || pwrite(fd, data, size, 0) != (ssize_t)size)
        abort();
    (void)snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    if (history_load(&history, path, &why) == 0)
        for (size_t i = 0; i < history.count; i++)
            if (round_judge(&history.rounds[i], NULL) != 0)
                abort();
    history_free(&history);
    return 0;
}
