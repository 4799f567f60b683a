/* A temporary folder for the files of one build. Its process holds a lock on it, which the kernel
 * releases also if somebody kills the process. */
#ifndef LAB_FOLDER_H
#define LAB_FOLDER_H

#include "why.h"

#define FOLDER_PATH 64

/* Make a folder in TMPDIR or in /tmp, and lock it. First remove the folders there that killed
 * processes of this user have left an hour ago or earlier. -1, with the reason in `why`. */
__attribute__((warn_unused_result)) int folder_make(char path[static FOLDER_PATH], int *lock,
                                                    struct why *why);
/* Remove the folder with its files, and its lock. */
void folder_remove(const char *path, int lock);

#endif
