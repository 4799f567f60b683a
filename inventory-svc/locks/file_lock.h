/* Locks on this machine's disk, tried once at a time, in a fiber; the loop goes on meanwhile.
 *
 * FILE_MKDIR: whoever makes the directory has the lock, until it is removed. It knows no owner and
 * no time: a holder that is killed leaves it for ever.
 * FILE_FLOCK: flock(2) on a file that is opened anew for each attempt, so that two holders of one
 * process exclude each other as well. The kernel frees it with its holder's process.
 *
 * Both guard one machine: another one has another disk, and over a network's neither is certain. */
#ifndef INVENTORY_FILE_LOCK_H
#define INVENTORY_FILE_LOCK_H

#include <uv.h>

enum file_lock_way { FILE_MKDIR, FILE_FLOCK };

struct file_lock;

/* One attempt at the lock `name` in the directory `dir`, which is made (0700) when it is not there;
 * it has to be this user's alone to write in, or the answer is UV_EPERM. 0, and *lock is the
 * caller's until file_lock_release() or file_lock_leave(); UV_EBUSY: another holds it; or what else
 * the system says. `dir` is not copied. `name` is one that a file can have. */
__attribute__((warn_unused_result)) int file_lock_try(uv_loop_t *loop, const char *dir,
                                                      enum file_lock_way way, const char *name,
                                                      struct file_lock **lock);
/* Give it back; waits for the disk. */
void file_lock_release(uv_loop_t *loop, struct file_lock *lock);
/* Forget it as it is: a directory stays, for ever; a file is closed, and the lock is free. */
void file_lock_leave(struct file_lock *lock);

#endif
