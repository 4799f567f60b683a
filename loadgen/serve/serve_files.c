/* Opens each part of a path by itself, so that no link between leads out of the results. */
#include "serve_files.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

const struct serve_file serve_files[] = {
    {"report.html", "text/html; charset=utf-8"},
    {"summary.json", "application/json"},
    {"violations.txt", "text/plain; charset=utf-8"},
    {"history.ndjson", "application/x-ndjson"},
    {"latency.hlog", "text/plain; charset=utf-8"},
    {"rounds.csv", "text/csv; charset=utf-8"},
    {"env.json", "application/json"},
    {NULL, NULL},
};

const struct serve_file *serve_file_named(const char *name) {
    for (const struct serve_file *file = serve_files; file->name != NULL; file++)
        if (strcmp(file->name, name) == 0)
            return file;
    return NULL;
}

bool serve_is_plain(const char *folder) {
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                "0123456789-_.+";

    return folder[0] != '\0' && folder[0] != '.' && folder[strspn(folder, plain)] == '\0';
}

static int open_folder(const char *root, const char *folder) {
    int at = open(root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int fd;

    if (at < 0)
        return -errno;
    if (!serve_is_plain(folder)) {
        (void)close(at);
        return -ENOENT;
    }
    fd = openat(at, folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    fd = fd < 0 ? -errno : fd;
    (void)close(at);
    return fd;
}

/* Without waiting for a writer, should it be a pipe. */
static int open_file(const char *root, const char *folder, const char *file, struct stat *status) {
    int at = open_folder(root, folder);
    int fd;

    if (at < 0)
        return at;
    fd = openat(at, file, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    fd = fd < 0 ? -errno : fd;
    (void)close(at);
    if (fd >= 0 && (fstat(fd, status) != 0 || !S_ISREG(status->st_mode))) {
        (void)close(fd);
        fd = -ENOENT;
    }
    return fd;
}

long long serve_size(const char *root, const char *folder, const char *file) {
    struct stat status;
    int fd = open_file(root, folder, file, &status);

    if (fd < 0)
        return fd;
    (void)close(fd);
    return status.st_size;
}

/* A file that grows meanwhile is cut where it was. */
static int read_all(int fd, char *bytes, size_t size, size_t *length) {
    *length = 0;
    while (*length < size) {
        ssize_t part = read(fd, bytes + *length, size - *length);

        if (part < 0 && errno == EINTR)
            continue;
        if (part < 0)
            return -errno;
        if (part == 0)
            break;
        *length += (size_t)part;
    }
    bytes[*length] = '\0';
    return 0;
}

int serve_read(const char *root, const char *folder, const char *file, size_t most, char **bytes,
               size_t *length) {
    struct stat status;
    int fd = open_file(root, folder, file, &status);
    int rc = fd;

    *bytes = NULL;
    if (fd < 0)
        return rc;
    if ((size_t)status.st_size > most)
        rc = -EFBIG;
    else if ((*bytes = malloc((size_t)status.st_size + 1)) == NULL)
        rc = -ENOMEM;
    else
        rc = read_all(fd, *bytes, (size_t)status.st_size, length);
    if (rc != 0) {
        free(*bytes);
        *bytes = NULL;
    }
    (void)close(fd);
    return rc;
}

static bool is_dated(const char *name) {
    return name[0] >= '0' && name[0] <= '9';
}

static int newest_first(const void *left, const void *right) {
    const char *a = *(char *const *)left, *b = *(char *const *)right;

    if (is_dated(a) != is_dated(b))
        return is_dated(a) ? -1 : 1;
    return strcmp(b, a);
}

static bool is_folder(DIR *parent, const char *name) {
    struct stat status;

    return serve_is_plain(name) &&
           fstatat(dirfd(parent), name, &status, AT_SYMLINK_NOFOLLOW) == 0 &&
           S_ISDIR(status.st_mode);
}

static int keep(char ***folders, size_t *count, const char *name) {
    char **more = realloc(*folders, (*count + 1) * sizeof *more);

    if (more == NULL)
        return -ENOMEM;
    *folders = more;
    more[*count] = strdup(name);
    if (more[*count] == NULL)
        return -ENOMEM;
    (*count)++;
    return 0;
}

int serve_list(const char *root, char ***folders, size_t *count) {
    DIR *parent = opendir(root);
    const struct dirent *entry;
    int rc = 0;

    *folders = NULL;
    *count = 0;
    if (parent == NULL)
        return -errno;
    while (rc == 0 && (entry = readdir(parent)) != NULL)
        if (is_folder(parent, entry->d_name))
            rc = keep(folders, count, entry->d_name);
    (void)closedir(parent);
    if (rc != 0) {
        serve_list_free(*folders, *count);
        *folders = NULL;
        *count = 0;
        return rc;
    }
    if (*count > 0)
        qsort(*folders, *count, sizeof **folders, newest_first);
    return 0;
}

void serve_list_free(char **folders, size_t count) {
    for (size_t i = 0; i < count; i++)
        free(folders[i]);
    free(folders);
}
