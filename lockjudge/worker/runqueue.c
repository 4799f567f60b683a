#include "runqueue.h"

#include "group.h"

#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#define PROCESSES 256

/* Of /proc/PID/task/TID/schedstat: ns on a processor, ns that it waited for one, turns. */
static void read_thread(struct runqueue *queue, pid_t process, pid_t thread) {
    struct runqueue_thread *to = &queue->threads[queue->count];
    char path[96];
    FILE *file;

    (void)snprintf(path, sizeof path, "/proc/%d/task/%d/schedstat", (int)process, (int)thread);
    file = fopen(path, "re");
    if (file == NULL)
        return;
    to->thread = thread;
    queue->count += fscanf(file, "%*d %" SCNd64, &to->waited_ns) == 1;
    (void)fclose(file);
}

static void read_process(struct runqueue *queue, pid_t process) {
    const struct dirent *entry;
    char path[64];
    DIR *all;

    (void)snprintf(path, sizeof path, "/proc/%d/task", (int)process);
    all = opendir(path);
    while (all != NULL && queue->count < RUNQUEUE_THREADS && (entry = readdir(all)) != NULL)
        if (entry->d_name[0] != '.')
            read_thread(queue, process, (pid_t)strtol(entry->d_name, NULL, 10));
    if (all != NULL)
        (void)closedir(all);
}

void runqueue_read(struct runqueue *queue, pid_t group) {
    pid_t processes[PROCESSES];
    const size_t count = group_members(group, processes, PROCESSES);

    queue->count = 0;
    for (size_t i = 0; i < count; i++)
        read_process(queue, processes[i]);
}

static int64_t waited_ns_of(const struct runqueue *queue, pid_t thread) {
    for (size_t i = 0; i < queue->count; i++)
        if (queue->threads[i].thread == thread)
            return queue->threads[i].waited_ns;
    return 0;
}

int64_t runqueue_waited_ns(const struct runqueue *before, const struct runqueue *after) {
    int64_t longest_ns = 0;

    for (size_t i = 0; i < after->count; i++) {
        const struct runqueue_thread *one = &after->threads[i];
        const int64_t waited_ns = one->waited_ns - waited_ns_of(before, one->thread);

        if (waited_ns > longest_ns)
            longest_ns = waited_ns;
    }
    return longest_ns;
}
