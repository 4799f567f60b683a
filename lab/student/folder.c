/* Makes, locks and removes temporary folders. */
#include "folder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

#define NAME  "lab-XXXXXX"
#define OLD_S 3600 /* a process locks its new folder sooner */

/* An object cannot be loaded from a folder that is mounted noexec. */
static bool is_noexec(const char *folder) {
    struct statvfs its;

    return statvfs(folder, &its) == 0 && (its.f_flag & ST_NOEXEC) != 0;
}

static int open_folder(int at, const char *path) {
    return openat(at, path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

/* Remove the files of the folder that is open as `folder`. */
static void remove_files(int folder) {
    DIR *files = fdopendir(dup(folder));
    const struct dirent *entry;

    if (files == NULL)
        return;
    while ((entry = readdir(files)) != NULL)
        (void)unlinkat(folder, entry->d_name, 0);
    (void)closedir(files);
}

/* True if the folder is ours and old, and no process holds its lock. */
static bool is_left(int folder) {
    struct stat its;

    return fstat(folder, &its) == 0 && its.st_uid == geteuid() &&
           its.st_mtime < time(NULL) - OLD_S && flock(folder, LOCK_EX | LOCK_NB) == 0;
}

static void remove_left(const char *at) {
    DIR *all = opendir(at);
    const struct dirent *entry;

    while (all != NULL && (entry = readdir(all)) != NULL) {
        int folder;

        if (strncmp(entry->d_name, NAME, 4) != 0 || strlen(entry->d_name) != strlen(NAME))
            continue;
        folder = open_folder(dirfd(all), entry->d_name);
        if (folder < 0)
            continue;
        if (is_left(folder)) {
            remove_files(folder);
            (void)unlinkat(dirfd(all), entry->d_name, AT_REMOVEDIR);
        }
        (void)close(folder);
    }
    if (all != NULL)
        (void)closedir(all);
}

static bool make_in(const char *at, char path[static FOLDER_PATH], int *lock) {
    if (at == NULL || at[0] != '/' || strlen(at) >= 40 || is_noexec(at))
        return false;
    remove_left(at);
    (void)snprintf(path, FOLDER_PATH, "%s/" NAME, at);
    if (mkdtemp(path) == NULL)
        return false;
    *lock = open_folder(AT_FDCWD, path);
    if (*lock >= 0) /* a file system without locks has no folder that seems left, either */
        (void)flock(*lock, LOCK_EX | LOCK_NB);
    return true;
}

int folder_make(char path[static FOLDER_PATH], int *lock, struct why *why) {
    *lock = -1;
    if (make_in(getenv("TMPDIR"), path, lock) || make_in("/tmp", path, lock))
        return 0;
    path[0] = '\0';
    return why_set(why,
                   "/tmp: %s: set TMPDIR to a folder that programs may be run from, and that you "
                   "may write to",
                   is_noexec("/tmp") ? "it is mounted noexec" : strerror(errno));
}

void folder_remove(const char *path, int lock) {
    const int folder = lock >= 0 ? lock : open_folder(AT_FDCWD, path);

    if (folder < 0)
        return;
    remove_files(folder);
    (void)rmdir(path);
    (void)close(folder);
}
