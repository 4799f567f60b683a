/* Kind mkdir: a folder for each name that is held, with a record of its holder in it. It stays when
 * its holder dies, as one that a script makes with mkdir(1) does; but the record tells who made it,
 * and when that process has ended, the lock is free.
 *
 * A folder is moved into its place with its record already in it, and out of it before it is taken
 * apart: so it never stands there half. The fencing tokens are counted in a file beside it, which
 * is replaced and synced before the grant is answered. Who takes, gives back or breaks has locked a
 * file for that moment (flock(2)), as two that find a dead holder could else each remove the
 * folder, the second one that of the first. */
#include "file_job.h"

#include "clock.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define PAUSE_US   1000
#define GUARDED_MS 50 /* more than the guarded part takes, when the disk is not slow */

/* The files of a name. */
struct files {
    int folder;
    char held[NAME_MAX + 8], guard[NAME_MAX + 8], fence[NAME_MAX + 8];
    char coming[NAME_MAX + 8],
        going[NAME_MAX + 8]; /* while they are put together, or taken apart */
};

static void name_files(struct files *files, const char *base) {
    assert(strlen(base) + strlen(".coming") <= NAME_MAX);
    (void)snprintf(files->held, sizeof files->held, "%s.held", base);
    (void)snprintf(files->guard, sizeof files->guard, "%s.guard", base);
    (void)snprintf(files->fence, sizeof files->fence, "%s.fence", base);
    (void)snprintf(files->coming, sizeof files->coming, "%s.coming", base);
    (void)snprintf(files->going, sizeof files->going, "%s.going", base);
}

/* What was left behind by one who died in the middle goes, too. */
static int remove_folder(const struct files *files, const char *name) {
    char record[NAME_MAX + 16];

    (void)snprintf(record, sizeof record, "%s/owner", name);
    (void)unlinkat(files->folder, record, 0);
    return unlinkat(files->folder, name, AT_REMOVEDIR) == 0 || errno == ENOENT ? 0 : -1;
}

/* 1: there is such a file, and its record was read; 0: there is none; or -1. */
static int file_mkdir_read_file(const struct files *files, const char *name,
                                struct file_record *record) {
    int file = openat(files->folder, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC), failed;

    memset(record, 0, sizeof *record);
    if (file < 0)
        return errno == ENOENT ? 0 : -1;
    failed = file_record_read(file, record);
    (void)close(file);
    return failed ? -1 : 1;
}

static int file_mkdir_write_file(const struct files *files, const char *name,
                                 const struct file_record *record) {
    int file = openat(files->folder, name, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC,
                      S_IRUSR | S_IWUSR);
    int failed;

    if (file < 0)
        return -1;
    failed = file_record_write(file, record);
    return close(file) == 0 ? failed : -1;
}

/* Whether the folder is there, and whose it is: of another program, it has no record. */
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
    file_mint(job, record);
    (void)snprintf(record->owner, sizeof record->owner, "%s", job->owner);
    (void)snprintf(record->label, sizeof record->label, "%s", job->label);
    if (!file_process_self(&record->process)) {
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

/* Of RENEW, RELEASE, BREAK and INSPECT. */
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

/* One who has it and was stopped must not keep our threads for ever. Who acquires comes again. */
static int lock_guard(const struct file_job *job, const struct files *files) {
    int guard = openat(files->folder, files->guard, O_RDONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC,
                       S_IRUSR | S_IWUSR);
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
