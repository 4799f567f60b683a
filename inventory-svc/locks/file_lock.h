/* Locks on this machine's disk. A fiber makes one attempt at a time, and the loop goes on
 * meanwhile.
 *
 *     FILE_MKDIR  the process that makes the directory holds the lock until it removes it.
 *                 No owner and no time: a killed holder leaves it for ever.
 *     FILE_FLOCK  flock(2) on a file that each attempt opens anew, so two holders in one process
 *                 exclude each other, too. The kernel frees it when the process dies.
 *
 * Both guard one machine: another one has its own disk, and on a network's file system neither is
 * certain. */
#ifndef INVENTORY_FILE_LOCK_H
#define INVENTORY_FILE_LOCK_H

#include <uv.h>

enum file_lock_way { FILE_MKDIR, FILE_FLOCK };

struct file_lock;

/* Make one attempt at the lock `name` in the directory `dir`. Makes the directory (0700) if needed.
 * UV_EPERM: others than this user may write there. 0: *lock is the caller's until
 * file_lock_release() or file_lock_leave(). UV_EBUSY: another holds it. Or any other error of the
 * system. `dir` is not copied. `name` is a valid file name. */
__attribute__((warn_unused_result)) int file_lock_try(uv_loop_t *loop, const char *dir,
                                                      enum file_lock_way way, const char *name,
                                                      struct file_lock **lock);
/* Give the lock back. Waits for the disk. */
void file_lock_release(uv_loop_t *loop, struct file_lock *lock);
/* Forget the lock without giving it back: a directory stays, for ever; a file is closed, and the
 * lock is free. */
void file_lock_leave(struct file_lock *lock);

#endif
