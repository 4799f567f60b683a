/* A process cannot start another one in a cgroup by uv_spawn(). So this one enters the new cgroup,
 * starts the worker, which is then in it before it runs, and leaves it. */
#include "cgroup.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define PREFIX "lockjudge-" /* of a cgroup: lockjudge-PID-NUMBER */

/* ---- files of a cgroup */

/* 0, or -1 with errno. */
static int file_write(const char *folder, const char *name, const char *text) {
    char path[CGROUP_PATH + 32];
    int file, code;

    (void)snprintf(path, sizeof path, "%s/%s", folder, name);
    file = open(path, O_WRONLY | O_CLOEXEC);
    if (file < 0)
        return -1;
    code = write(file, text, strlen(text)) < 0 ? -1 : 0;
    (void)close(file);
    return code;
}

/* The beginning of the file; "" if it cannot be read. */
static void file_read(const char *folder, const char *name, char *text, size_t size) {
    char path[CGROUP_PATH + 32];
    ssize_t length = -1;
    int file;

    (void)snprintf(path, sizeof path, "%s/%s", folder, name);
    file = open(path, O_RDONLY | O_CLOEXEC);
    if (file >= 0) {
        length = read(file, text, size - 1);
        (void)close(file);
    }
    text[length > 0 ? length : 0] = '\0';
}

static bool has_file(const char *folder, const char *name) {
    char path[CGROUP_PATH + 32];

    (void)snprintf(path, sizeof path, "%s/%s", folder, name);
    return access(path, W_OK) == 0;
}

/* ---- our own cgroup */

/* The mount point of cgroup v2, or "". */
static void find_mount(char *mount, size_t size) {
    FILE *mounts = fopen("/proc/self/mounts", "re");
    char line[1024], type[32];
    int from, to;

    mount[0] = '\0';
    while (mounts != NULL && mount[0] == '\0' && fgets(line, sizeof line, mounts) != NULL)
        if (sscanf(line, "%*s %n%*s%n %31s", &from, &to, type) == 1 && strcmp(type, "cgroup2") == 0)
            (void)snprintf(mount, size, "%.*s", to - from, line + from);
    if (mounts != NULL)
        (void)fclose(mounts);
}

/* The cgroup of this process in that mount, or "". */
static void find_own(char *own, size_t size) {
    FILE *cgroups = fopen("/proc/self/cgroup", "re");
    char line[1024], mount[CGROUP_PATH / 2];

    own[0] = '\0';
    find_mount(mount, sizeof mount);
    while (cgroups != NULL && mount[0] != '\0' && fgets(line, sizeof line, cgroups) != NULL)
        if (strncmp(line, "0::/", 4) == 0 && strncmp(line, "0::/..", 6) != 0 &&
            strlen(line) < sizeof mount)
            (void)snprintf(own, size, "%s%.*s", mount, (int)strcspn(line + 3, "\n"), line + 3);
    if (cgroups != NULL)
        (void)fclose(cgroups);
}

/* The cgroups of a lockjudge that was killed. Those with processes of another pid namespace are
 * listed with pid 0: they may belong to one that we cannot see. */
static void remove_leftovers(const char *own) {
    DIR *folder = opendir(own);
    const struct dirent *entry;
    char path[CGROUP_PATH], pids[16];
    int pid, number;

    while (folder != NULL && (entry = readdir(folder)) != NULL) {
        if (sscanf(entry->d_name, PREFIX "%d-%d", &pid, &number) != 2 || pid <= 1 ||
            kill(pid, 0) == 0 || errno != ESRCH ||
            snprintf(path, sizeof path, "%s/%s", own, entry->d_name) >= (int)sizeof path)
            continue;
        file_read(path, "cgroup.procs", pids, sizeof pids);
        if (strncmp(pids, "0\n", 2) != 0)
            (void)file_write(path, "cgroup.kill", "1");
        (void)rmdir(path); /* if its processes have not ended yet, the next run removes it */
    }
    if (folder != NULL)
        (void)closedir(folder);
}

/* Our own cgroup, in which we may make others; "": there is none. */
static const char *own_cgroup(void) {
    static char own[CGROUP_PATH - 48];
    static bool is_known;

    if (!is_known) {
        is_known = true;
        find_own(own, sizeof own);
        if (own[0] != '\0' && has_file(own, "cgroup.procs"))
            remove_leftovers(own);
        else
            own[0] = '\0';
    }
    return own;
}

/* ---- a group */

static void cgroup_make(struct cgroup *cgroup, const char *own) {
    static unsigned count;

    (void)snprintf(cgroup->path, sizeof cgroup->path, "%s/" PREFIX "%d-%u", own, (int)getpid(),
                   count++);
    if (own[0] == '\0' || mkdir(cgroup->path, 0755) != 0) {
        cgroup->path[0] = '\0';
    } else if (!has_file(cgroup->path, "cgroup.freeze") || !has_file(cgroup->path, "cgroup.kill") ||
               file_write(cgroup->path, "cgroup.procs", "0") != 0) {
        (void)rmdir(cgroup->path);
        cgroup->path[0] = '\0';
    }
}

int cgroup_spawn(struct cgroup *cgroup, uv_loop_t *loop, uv_process_t *process,
                 const uv_process_options_t *options) {
    const char *own = own_cgroup();
    int code;

    cgroup_make(cgroup, own);
    code = uv_spawn(loop, process, options);
    /* If we cannot leave it, it must never be stopped. */
    if (cgroup->path[0] != '\0' && file_write(own, "cgroup.procs", "0") != 0)
        cgroup->path[0] = '\0';
    cgroup->pid = code == 0 ? process->pid : 0;
    return code;
}

int cgroup_stop(const struct cgroup *cgroup) {
    if (cgroup->path[0] != '\0')
        return file_write(cgroup->path, "cgroup.freeze", "1");
    return kill(-cgroup->pid, SIGSTOP);
}

/* A signal is on its way when kill(2) returns; a process that runs on another processor goes on
 * for a moment. */
int cgroup_has_stopped(const struct cgroup *cgroup) {
    char events[128];
    siginfo_t info = {.si_pid = 0};

    if (cgroup->path[0] != '\0') {
        file_read(cgroup->path, "cgroup.events", events, sizeof events);
        return strstr(events, "populated 0") != NULL ? -1 : strstr(events, "frozen 1") != NULL;
    }
    if (waitid(P_PID, (id_t)cgroup->pid, &info, WSTOPPED | WNOHANG | WNOWAIT) != 0)
        return -1;
    return info.si_pid != 0;
}

void cgroup_continue(const struct cgroup *cgroup) {
    if (cgroup->path[0] != '\0')
        (void)file_write(cgroup->path, "cgroup.freeze", "0");
    else if (cgroup->pid > 0)
        (void)kill(-cgroup->pid, SIGCONT);
}

void cgroup_kill(const struct cgroup *cgroup) {
    if (cgroup->path[0] != '\0')
        (void)file_write(cgroup->path, "cgroup.kill", "1");
    else if (cgroup->pid > 0)
        (void)kill(-cgroup->pid, SIGKILL);
}

bool cgroup_remove(struct cgroup *cgroup) {
    if (cgroup->path[0] != '\0' && rmdir(cgroup->path) != 0 && errno == EBUSY)
        return false;
    cgroup->path[0] = '\0';
    return true;
}
