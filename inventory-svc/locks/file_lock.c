/* libuv's threads do all work that may wait for the disk. The last holder removes a file while it
 * still holds the lock. So an attempt that wins the lock of a removed file has won nothing. */
#include "file_lock.h"

#include "fiber.h"
#include "log.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

struct file_lock {
    const char *dir;
    enum file_lock_way way;
    int file; /* the locked one, or -1 */
    char name[];
};

/* ---- On a thread: 0 or a negative errno, libuv's codes */

static int file_lock_open_private(const char *path) {
    int dir = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC), err;
    struct stat stat;

    if (dir < 0)
        return -errno;
    err = fstat(dir, &stat) != 0 ? -errno : 0;
    if (err == 0 && (stat.st_uid != geteuid() || (stat.st_mode & (S_IWGRP | S_IWOTH)) != 0))
        err = UV_EPERM;
    if (err == 0)
        return dir;
    (void)close(dir);
    return err;
}

static int file_lock_open_or_make(const char *path) {
    int dir = file_lock_open_private(path);

    if (dir != UV_ENOENT)
        return dir;
    if (mkdir(path, S_IRWXU) != 0 && errno != EEXIST)
        return -errno;
    return file_lock_open_private(path);
}

static int make_directory(const struct file_lock *lock, int dir) {
    if (mkdirat(dir, lock->name, S_IRWXU) == 0)
        return 0;
    return errno == EEXIST ? UV_EBUSY : -errno;
}

static int try_file(int file) {
    struct stat stat;

    if (flock(file, LOCK_EX | LOCK_NB) != 0)
        return errno == EWOULDBLOCK ? UV_EBUSY : -errno;
    if (fstat(file, &stat) != 0)
        return -errno;
    return stat.st_nlink == 0 ? UV_EBUSY : 0;
}

static int lock_file(struct file_lock *lock, int dir) {
    int file =
        openat(dir, lock->name, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, S_IRUSR | S_IWUSR);
    int err;

    assert(lock->file < 0);
    if (file < 0)
        return -errno;
    err = try_file(file);
    if (err == 0)
        lock->file = file;
    else
        (void)close(file);
    return err;
}

static int file_lock_take(struct file_lock *lock, int dir) {
    return lock->way == FILE_MKDIR ? make_directory(lock, dir) : lock_file(lock, dir);
}

static int file_lock_give_back(struct file_lock *lock, int dir) {
    const int flags = lock->way == FILE_MKDIR ? AT_REMOVEDIR : 0;

    return unlinkat(dir, lock->name, flags) == 0 ? 0 : -errno;
}

/* ---- Awaited by a fiber, on its stack */

struct job {
    uv_work_t work;
    struct fiber_event done;
    int (*run)(struct file_lock *lock, int dir);
    struct file_lock *lock;
    int err;
};

static void file_lock_on_thread(uv_work_t *work) {
    struct job *job = work->data;
    int dir = file_lock_open_or_make(job->lock->dir);

    job->err = dir < 0 ? dir : job->run(job->lock, dir);
    if (dir >= 0)
        (void)close(dir);
}

static void file_lock_on_done(uv_work_t *work, int status) {
    struct job *job = work->data;

    (void)status; /* no code cancels it */
    fiber_event_set(&job->done);
}

static int await(uv_loop_t *loop, struct file_lock *lock,
                 int (*run)(struct file_lock *lock, int dir)) {
    struct job job = {.run = run, .lock = lock, .done = FIBER_EVENT_INIT};
    int err;

    job.work.data = &job;
    err = uv_queue_work(loop, &job.work, file_lock_on_thread, file_lock_on_done);
    if (err != 0)
        return err;
    fiber_event_wait(&job.done);
    return job.err;
}

int file_lock_try(uv_loop_t *loop, const char *dir, enum file_lock_way way, const char *name,
                  struct file_lock **out) {
    size_t size = strlen(name) + 1;
    struct file_lock *lock = malloc(sizeof *lock + size);
    int err;

    *out = NULL;
    if (lock == NULL)
        return UV_ENOMEM;
    *lock = (struct file_lock){.dir = dir, .way = way, .file = -1};
    memcpy(lock->name, name, size);
    err = await(loop, lock, file_lock_take);
    if (err == 0)
        *out = lock;
    else
        free(lock);
    return err;
}

void file_lock_leave(struct file_lock *lock) {
    assert((lock->file >= 0) == (lock->way == FILE_FLOCK));
    if (lock->file >= 0)
        (void)close(lock->file);
    free(lock);
}

void file_lock_release(uv_loop_t *loop, struct file_lock *lock) {
    int err = await(loop, lock, file_lock_give_back);

    if (err != 0)
        log_warn("lock could not be released", "dir=%s name=%s why=%s", lock->dir, lock->name,
                 uv_err_name(err));
    file_lock_leave(lock);
}
