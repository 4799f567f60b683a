/* The history of a run, or of a load that another program sent: read, judged, told and exported. */
#include "digest.h"
#include "fuzz.h"
#include "history.h"
#include "jepsen.h"
#include "junit.h"
#include "report.h"
#include "summary.h"

#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

static void tell(struct history *history, FILE *to) {
    static char text[] = "text", program[] = "loadgen", none[] = "";
    struct summary summary;

    history->options.output_format = text;
    history->options.output = none;
    history->options.program = program;
    if (summary_make(&summary, &history->options, history->rounds, history->count) != 0 ||
        report_print(&summary, to) != 0 || digest_write(&summary, NULL, to) != 0 ||
        junit_write(&summary, NULL, to) != 0)
        abort();
    for (size_t i = 0; i < history->count; i++)
        if (jepsen_write(&history->rounds[i], i % 2 == 0 ? JEPSEN_EDN : JEPSEN_JSON, to) != 0)
            abort();
    summary_free(&summary);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static int fd = -1;
    static FILE *nowhere;
    struct history history;
    struct why why;
    char path[40];

    if (fd < 0) {
        fd = memfd_create("history", MFD_CLOEXEC);
        nowhere = fopen("/dev/null", "w");
    }
    if (fd < 0 || nowhere == NULL || ftruncate(fd, 0) != 0 ||
        pwrite(fd, data, size, 0) != (ssize_t)size)
        abort();
    (void)snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    if (history_load(&history, path, &why) == 0 && history.count > 0) {
        for (size_t i = 0; i < history.count; i++)
            if (round_judge(&history.rounds[i], NULL) != 0)
                abort();
        tell(&history, nowhere);
    }
    history_free(&history);
    return 0;
}
