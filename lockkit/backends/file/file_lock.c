/* Locks by files, taken on a thread: kind flock and kind mkdir. */
#include "file_lock.h"

#include "clock.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define PAUSE_US   1000
#define GUARDED_MS 50 /* more than the guarded part takes on a disk that is not slow */

/* ---- Processes by number, start time and boot */

/* The second field, the command, stands in parentheses, and may contain any itself. */
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

/* This process. False: /proc does not tell. */
static bool file_process_self(struct file_process *process) {
    struct stat space;

    memset(process, 0, sizeof *process);
    process->pid = getpid();
    if (stat("/proc/self/ns/pid", &space) == 0)
        process->space = space.st_ino;
    return read_boot(process->boot) && read_started(process->pid, &process->started);
}

/* Whether the process has ended for sure. */
static bool file_process_is_dead(const struct file_process *process) {
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

/* ---- For both kinds */

/* LK_REFUSED; errno's text goes into `why`. */
static enum lk_status file_refuse(struct file_job *job, const char *what) {
    (void)snprintf(job->why, sizeof job->why, "%s: %s%s", what, strerror(errno),
                   errno == EMFILE ? ": raise RLIMIT_NOFILE (ulimit -n)" : "");
    return errno == ENOMEM ? LK_NOMEM : LK_REFUSED;
}

/* The same, after file_folder_open() failed. */
static enum lk_status file_refuse_folder(struct file_job *job) {
    if (errno != EPERM)
        return file_refuse(job, "folder");
    (void)snprintf(
        job->why, sizeof job->why,
        "folder: another user owns it or may write to it: chmod 700, or use another folder");
    return LK_REFUSED;
}

/* Put the next fencing token, the reserved ones and the holder into the record of the last grant.
 * -1: errno tells why there is no such token. */
static int file_grant(struct file_job *job, struct file_record *record) {
    const uint64_t last = record->fence > job->fence_above ? record->fence : job->fence_above;

    if (last > UINT64_MAX - 1 - job->handover) {
        errno = EOVERFLOW;
        return -1;
    }
    job->fence = last + 1;
    record->fence = job->fence + job->handover;
    (void)snprintf(record->owner, sizeof record->owner, "%s", job->owner);
    (void)snprintf(record->label, sizeof record->label, "%s", job->label);
    return 0;
}

/* ---- Kind flock: a file for each name. Its holder has locked it with flock(2). The kernel unlocks
 * it when the holder's process ends in any way.
 *
 * The file stays, because it contains the fencing token of the last grant, which is written and
 * synced before the grant is answered. It is locked through one descriptor and written through
 * another, which is closed last. So inotify tells of a file that was closed after writing exactly
 * when the lock is free, and tells nothing when others try in vain. */

static const char free_owner[] = "-";

static void close_held(struct file_held *held) {
    if (held->lock >= 0)
        (void)close(held->lock);
    if (held->record >= 0)
        (void)close(held->record);
    *held = (struct file_held){-1, -1};
}

/* Lock the file, and check that it still has the name: someone may have removed it. */
static int try_lock(int folder, const char *file_name) {
    int file = file_open(folder, file_name, O_RDONLY | O_CREAT);
    struct stat ours, named;

    if (file < 0)
        return -1;
    if (flock(file, LOCK_EX | LOCK_NB) == 0 && fstat(file, &ours) == 0 &&
        fstatat(folder, file_name, &named, AT_SYMLINK_NOFOLLOW) == 0) {
        if (ours.st_ino == named.st_ino && ours.st_dev == named.st_dev)
            return file;
        errno = EWOULDBLOCK;
    }
    (void)close(file);
    return -1;
}

static int write_grant(struct file_job *job, int folder) {
    struct file_record record;
    bool is_new;

    if (file_record_read(job->held.record, &record) != 0)
        return -1;
    is_new = record.fence == 0;
    if (file_grant(job, &record) != 0)
        return -1;
    if (!file_process_self(&record.process))
        (void)strcpy(record.process.boot, "-");
    if (file_record_write(job->held.record, &record) != 0 || fsync(job->held.record) != 0)
        return -1;
    return is_new ? fsync(folder) : 0;
}

static enum lk_status file_flock_acquire(struct file_job *job, int folder, const char *file_name) {
    struct file_record record;
    enum lk_status status;

    if (job->held.lock >= 0) {
        if (file_record_read(job->held.record, &record) != 0)
            return file_refuse(job, "record");
        job->fence = record.fence - job->handover;
        return LK_OK;
    }
    job->held.lock = try_lock(folder, file_name);
    if (job->held.lock < 0)
        return errno == EWOULDBLOCK ? LK_BUSY : file_refuse(job, "lock");
    job->held.record = file_open(folder, file_name, O_RDWR);
    if (job->held.record >= 0 && write_grant(job, folder) == 0)
        return LK_OK;
    status = file_refuse(job, "fencing token");
    close_held(&job->held);
    return status;
}

/* The record need not be synced: the lock itself says that nobody holds it. */
static enum lk_status file_flock_release(struct file_job *job) {
    struct file_record record;

    if (job->held.lock < 0)
        return LK_LOST;
    assert(job->held.record >= 0);
    if (file_record_read(job->held.record, &record) == 0) {
        (void)strcpy(record.owner, free_owner);
        (void)file_record_write(job->held.record, &record);
    }
    (void)flock(job->held.lock, LOCK_UN); /* a forked child may have it open, too */
    close_held(&job->held);
    return LK_OK;
}

/* The process that locked the file, by /proc/locks: a child may have inherited the lock from it. 0:
 * not known. */
static long flock_taker(int file) {
    FILE *locks = fopen("/proc/locks", "re");
    struct stat stat;
    char line[256];
    long taker = 0, pid;
    unsigned long inode;

    while (locks != NULL && taker == 0 && fgets(line, sizeof line, locks) != NULL)
        if (sscanf(line, "%*d: FLOCK ADVISORY %*s %ld %*x:%*x:%lu ", &pid, &inode) == 2 &&
            fstat(file, &stat) == 0 && inode == stat.st_ino)
            taker = pid;
    if (locks != NULL)
        (void)fclose(locks);
    return taker;
}

/* A record that is free, or is that of a dead process, does not name the holder. */
static void name_flock_holder(struct file_job *job, int file) {
    struct file_record *record = &job->record;
    const bool is_free = record->owner[0] == '\0' || strcmp(record->owner, free_owner) == 0;
    const long taker = flock_taker(file);

    if (!is_free && !file_process_is_dead(&record->process))
        return;
    if (taker > 0 && (is_free || taker != record->process.pid))
        (void)snprintf(record->label, sizeof record->label, "the process %ld (without lockkit)",
                       taker);
    else if (is_free)
        (void)snprintf(record->label, sizeof record->label, "a program without lockkit");
    else
        (void)snprintf(record->label, sizeof record->label,
                       "a child of process %ld, which has ended", record->process.pid);
}

static enum lk_status file_flock_inspect(struct file_job *job, int folder, const char *file_name) {
    int file = file_open(folder, file_name, O_RDONLY);
    enum lk_status status = LK_OK;

    if (file < 0)
        return errno == ENOENT ? LK_OK : file_refuse(job, "record");
    if (file_record_read(file, &job->record) != 0)
        status = file_refuse(job, "record");
    else /* a shared lock tests whether the lock is taken; it keeps nobody out for long */
        job->is_taken = flock(file, LOCK_SH | LOCK_NB) != 0;
    if (job->is_taken)
        name_flock_holder(job, file);
    (void)close(file);
    return status;
}

static enum lk_status file_flock_run(struct file_job *job) {
    char base[NAME_MAX + 1], file_name[NAME_MAX + 8];
    enum lk_status status = LK_UNSUPPORTED;
    int folder;

    /* A lock that is held needs no folder, and the folder may have become unusable. */
    if (job->verb == LK_RENEW)
        return job->held.lock >= 0 ? LK_OK : LK_LOST;
    if (job->verb == LK_RELEASE)
        return file_flock_release(job);
    folder = file_folder_open(job->root, job->name, base);
    if (folder < 0)
        return file_refuse_folder(job);
    (void)snprintf(file_name, sizeof file_name, "%s.lock", base);
    if (job->verb == LK_ACQUIRE)
        status = file_flock_acquire(job, folder, file_name);
    else if (job->verb == LK_INSPECT)
        status = file_flock_inspect(job, folder, file_name);
    (void)close(folder);
    return status;
}

const struct file_kind file_flock = {
    .name = "flock",
    .caps = LK_CAP_EVENTS | LK_CAP_FENCE_LINEAR | LK_CAP_CROSS_PROCESS | LK_CAP_HANDOVER,
    .run = file_flock_run,
};

/* ---- Kind mkdir: a folder for each held name, with a record of its holder in it. A folder stays
 * when its holder dies, like one that a script made with mkdir(1). But the record tells the
 * process: when that has ended, the lock is free.
 *
 * The folder is put together elsewhere and moved into place with its record. It is moved out before
 * it is taken apart. So it never stands there half. A file beside it counts the fencing tokens; it
 * is replaced and synced before the grant is answered. Each acquire, release and break locks a
 * guard file (flock(2)) for its moment. Else two clients that find a dead holder could both remove
 * the folder, and the second would remove the lock of the first. */

/* The files of a name. */
struct files {
    int folder;
    char held[NAME_MAX + 8], guard[NAME_MAX + 8], fence[NAME_MAX + 8];
    char coming[NAME_MAX + 8], going[NAME_MAX + 8]; /* while it is put together, or taken apart */
};

static void name_files(struct files *files, const char *base) {
    assert(strlen(base) + strlen(".coming") <= NAME_MAX);
    (void)snprintf(files->held, sizeof files->held, "%s.held", base);
    (void)snprintf(files->guard, sizeof files->guard, "%s.guard", base);
    (void)snprintf(files->fence, sizeof files->fence, "%s.fence", base);
    (void)snprintf(files->coming, sizeof files->coming, "%s.coming", base);
    (void)snprintf(files->going, sizeof files->going, "%s.going", base);
}

/* Also removes the remains of a process that died in the middle. */
static int remove_folder(const struct files *files, const char *name) {
    char record[NAME_MAX + 16];

    (void)snprintf(record, sizeof record, "%s/owner", name);
    (void)unlinkat(files->folder, record, 0);
    return unlinkat(files->folder, name, AT_REMOVEDIR) == 0 || errno == ENOENT ? 0 : -1;
}

/* 1: the file is there, and its record was read; 0: no such file; -1: failed. */
static int file_mkdir_read_file(const struct files *files, const char *name,
                                struct file_record *record) {
    int file = file_open(files->folder, name, O_RDONLY), failed;

    memset(record, 0, sizeof *record);
    if (file < 0)
        return errno == ENOENT ? 0 : -1;
    failed = file_record_read(file, record);
    (void)close(file);
    return failed ? -1 : 1;
}

static int file_mkdir_write_file(const struct files *files, const char *name,
                                 const struct file_record *record) {
    int file = file_open(files->folder, name, O_WRONLY | O_CREAT | O_TRUNC), failed;

    if (file < 0)
        return -1;
    failed = file_record_write(file, record) != 0 || fsync(file) != 0;
    return close(file) == 0 && !failed ? 0 : -1;
}

/* Whether the folder is there, and its holder. A folder of another program has no record. */
static int read_holder(const struct files *files, struct file_record *record, bool *is_there) {
    char name[NAME_MAX + 16];
    struct stat stat;

    *is_there = fstatat(files->folder, files->held, &stat, AT_SYMLINK_NOFOLLOW) == 0;
    if (!*is_there)
        return errno == ENOENT ? 0 : -1;
    (void)snprintf(name, sizeof name, "%s/owner", files->held);
    return file_mkdir_read_file(files, name, record) < 0 ? -1 : 0;
}

static int file_mkdir_take_apart(const struct files *files) {
    if (remove_folder(files, files->going) != 0 ||
        renameat(files->folder, files->held, files->folder, files->going) != 0)
        return -1;
    return remove_folder(files, files->going);
}

static int count_grant(struct file_job *job, const struct files *files,
                       struct file_record *record) {
    if (file_mkdir_read_file(files, files->fence, record) < 0)
        return -1;
    if (file_grant(job, record) != 0)
        return -1;
    if (!file_process_self(&record->process)) {
        if (errno != EMFILE)
            errno = ENOSYS;
        return -1;
    }
    if (file_mkdir_write_file(files, files->coming, record) != 0 ||
        renameat(files->folder, files->coming, files->folder, files->fence) != 0)
        return -1;
    return fsync(files->folder);
}

static int put_together(const struct files *files, const struct file_record *record) {
    char name[NAME_MAX + 16];

    (void)snprintf(name, sizeof name, "%s/owner", files->coming);
    if (remove_folder(files, files->coming) != 0 ||
        mkdirat(files->folder, files->coming, S_IRWXU) != 0 ||
        file_mkdir_write_file(files, name, record) != 0)
        return -1;
    return renameat2(files->folder, files->coming, files->folder, files->held, RENAME_NOREPLACE);
}

/* A file of this name was left behind, or a folder. */
static void clear(const struct files *files) {
    (void)unlinkat(files->folder, files->coming, 0);
    (void)remove_folder(files, files->coming);
}

static enum lk_status file_mkdir_acquire(struct file_job *job, const struct files *files) {
    struct file_record record;
    bool is_there;

    if (read_holder(files, &record, &is_there) != 0)
        return file_refuse(job, "record");
    if (is_there && strcmp(record.owner, job->owner) == 0) {
        job->fence = record.fence - job->handover;
        return LK_OK;
    }
    if (is_there && !file_process_is_dead(&record.process))
        return LK_BUSY;
    if (is_there && file_mkdir_take_apart(files) != 0)
        return file_refuse(job, "lock of a dead process");
    clear(files);
    if (count_grant(job, files, &record) != 0)
        return file_refuse(job, "fencing token");
    if (put_together(files, &record) == 0)
        return LK_OK;
    return errno == EEXIST ? LK_BUSY : file_refuse(job, "lock");
}

/* For RENEW, RELEASE, BREAK and INSPECT. */
static enum lk_status file_mkdir_look(struct file_job *job, const struct files *files) {
    bool is_there, is_meant;

    assert(job->verb != LK_ACQUIRE);
    if (read_holder(files, &job->record, &is_there) != 0)
        return file_refuse(job, "record");
    job->is_taken = is_there && !file_process_is_dead(&job->record.process);
    if (job->verb == LK_INSPECT)
        return LK_OK;
    is_meant = is_there && (job->owner == NULL || strcmp(job->record.owner, job->owner) == 0);
    if (!is_meant)
        return LK_LOST;
    if (job->verb != LK_RENEW && file_mkdir_take_apart(files) != 0)
        return file_refuse(job, "removal");
    return LK_OK;
}

/* Gives up in time: a stopped process may have the guard, and must not keep our threads for ever.
 * An ACQUIRE comes again. */
static int lock_guard(const struct file_job *job, const struct files *files) {
    int guard = file_open(files->folder, files->guard, O_RDONLY | O_CREAT);
    int64_t until_ms = job->verb == LK_ACQUIRE ? clock_now_ms() + GUARDED_MS : job->deadline_ms;

    while (guard >= 0 && flock(guard, LOCK_EX | LOCK_NB) != 0) {
        if (errno == EWOULDBLOCK && clock_now_ms() < until_ms) {
            (void)usleep(PAUSE_US);
            continue;
        }
        (void)close(guard);
        guard = -1;
    }
    return guard;
}

static enum lk_status run_guarded(struct file_job *job, const struct files *files) {
    int guard = lock_guard(job, files);
    enum lk_status status;

    if (guard < 0 && errno == EWOULDBLOCK) {
        job->again_ms = GUARDED_MS;
        return job->verb == LK_ACQUIRE ? LK_BUSY : LK_UNKNOWN;
    }
    if (guard < 0)
        return file_refuse(job, "guard");
    status = job->verb == LK_ACQUIRE ? file_mkdir_acquire(job, files) : file_mkdir_look(job, files);
    (void)close(guard);
    return status;
}

static enum lk_status file_mkdir_run(struct file_job *job) {
    char base[NAME_MAX + 1];
    struct files files = {.folder = file_folder_open(job->root, job->name, base)};
    enum lk_status status;

    if (files.folder < 0)
        return file_refuse_folder(job);
    name_files(&files, base);
    status = run_guarded(job, &files);
    (void)close(files.folder);
    return status;
}

const struct file_kind file_mkdir = {
    .name = "mkdir",
    .caps =
        LK_CAP_EVENTS | LK_CAP_FENCE_LINEAR | LK_CAP_CROSS_PROCESS | LK_CAP_BREAK | LK_CAP_HANDOVER,
    .run = file_mkdir_run,
};
