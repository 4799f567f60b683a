/* Kind flock: a file for each name, that its holder has locked with flock(2). The kernel unlocks it
 * when the holder's process ends, however it does.
 *
 * The file stays, as it has the fencing token of the last grant in it, written and synced before
 * the grant is answered. It is locked through one descriptor and written through another, which is
 * closed last: so who watches the folder hears of a file that was closed after writing just when
 * the lock is free, and of nothing when others try in vain. */
#include "file_job.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

static const char free_owner[] = "-";

static void close_if(int file) {
    if (file >= 0)
        (void)close(file);
}

/* Locked, and still the file that has the name: someone may have removed it. */
static int try_lock(int folder, const char *file_name) {
    int file =
        openat(folder, file_name, O_RDONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, S_IRUSR | S_IWUSR);
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
    file_mint(job, &record);
    (void)snprintf(record.owner, sizeof record.owner, "%s", job->owner);
    (void)snprintf(record.label, sizeof record.label, "%s", job->label);
    if (!file_process_self(&record.process))
        (void)strcpy(record.process.boot, "-");
    if (file_record_write(job->held.record, &record) != 0)
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
    job->held.record = openat(folder, file_name, O_RDWR | O_NOFOLLOW | O_CLOEXEC);
    if (job->held.record >= 0 && write_grant(job, folder) == 0)
        return LK_OK;
    status = file_refuse(job, "fencing token");
    close_if(job->held.lock);
    close_if(job->held.record);
    job->held = (struct file_held){-1, -1};
    return status;
}

/* The record need not be synced: that nobody holds it is what the lock says. */
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
    close_if(job->held.lock);
    close_if(job->held.record);
    job->held = (struct file_held){-1, -1};
    return LK_OK;
}

static enum lk_status file_flock_inspect(struct file_job *job, int folder, const char *file_name) {
    int file = openat(folder, file_name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    int failed = file < 0 ? -1 : file_record_read(file, &job->record);

    if (failed && errno != ENOENT) {
        enum lk_status status = file_refuse(job, "record");

        close_if(file);
        return status;
    }
    /* A shared lock says whether it is taken, and is gone before anyone can be kept out by it. */
    job->is_taken = file >= 0 && flock(file, LOCK_SH | LOCK_NB) != 0;
    close_if(file);
    return LK_OK;
}

static enum lk_status file_flock_run(struct file_job *job) {
    char base[NAME_MAX + 1], file_name[NAME_MAX + 8];
    enum lk_status status = LK_UNSUPPORTED;
    int folder;

    /* What is held needs no folder, which may have become unusable. */
    if (job->verb == LK_RENEW)
        return job->held.lock >= 0 ? LK_OK : LK_LOST;
    if (job->verb == LK_RELEASE)
        return file_flock_release(job);
    folder = file_folder_open(job->root, job->name, base);
    if (folder < 0)
        return file_refuse_folder(job);
    (void)snprintf(file_name, sizeof file_name, "%s.lock", base);
    switch (job->verb) {
    case LK_ACQUIRE:
        status = file_flock_acquire(job, folder, file_name);
        break;
    case LK_INSPECT:
        status = file_flock_inspect(job, folder, file_name);
        break;
    case LK_RENEW:
    case LK_RELEASE:
    case LK_BREAK:
        break;
    }
    (void)close(folder);
    return status;
}

const struct file_kind file_flock = {
    .name = "flock",
    .caps = LK_CAP_EVENTS | LK_CAP_FENCE_LINEAR | LK_CAP_CROSS_PROCESS | LK_CAP_HANDOVER,
    .run = file_flock_run,
};
