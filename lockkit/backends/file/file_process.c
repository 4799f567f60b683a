/* Processes by number, start time and boot. */
#include "file_process.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The second field, the command, is in parentheses, and may have any in it. */
static bool read_started(long pid, unsigned long long *started) {
    char path[64], text[1024], *at;
    FILE *file;
    size_t length;

    (void)snprintf(path, sizeof path, "/proc/%ld/stat", pid);
    file = fopen(path, "re");
    if (file == NULL)
        return false;
    length = fread(text, 1, sizeof text - 1, file);
    (void)fclose(file);
    text[length] = '\0';
    at = strrchr(text, ')');
    return at != NULL && sscanf(at + 1,
                                " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d "
                                "%*d %*d %*d %llu",
                                started) == 1;
}

static bool read_boot(char boot[37]) {
    FILE *file = fopen("/proc/sys/kernel/random/boot_id", "re");
    bool is_read = file != NULL && fscanf(file, "%36s", boot) == 1;

    if (file != NULL)
        (void)fclose(file);
    return is_read;
}

bool file_process_self(struct file_process *process) {
    struct stat space;

    memset(process, 0, sizeof *process);
    process->pid = getpid();
    if (stat("/proc/self/ns/pid", &space) == 0)
        process->space = space.st_ino;
    return read_boot(process->boot) && read_started(process->pid, &process->started);
}

bool file_process_is_dead(const struct file_process *process) {
    struct file_process self;
    unsigned long long started;

    if (!file_process_self(&self) || process->pid <= 0)
        return false;
    if (strcmp(process->boot, self.boot) != 0)
        return true;
    if (process->space != self.space)
        return false;
    if (kill((pid_t)process->pid, 0) != 0 && errno == ESRCH)
        return true;
    return read_started(process->pid, &started) && started != process->started;
}
