/* Opens each part of a path by itself, so that no link between leads out of the results. */
#include "serve_files.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
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

/* Letters, digits and "-_.+", and no dot first: as loadgen names its folders. */
static bool serve_files_is_plain(const char *folder) {
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                "0123456789-_.+";

    return folder[0] != '\0' && folder[0] != '.' && folder[strspn(folder, plain)] == '\0';
}

static int open_folder(const char *root, const char *folder) {
    int at, fd;

    if (!serve_files_is_plain(folder))
        return -ENOENT;
    at = open(root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (at < 0)
        return -errno;
    fd = openat(at, folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    fd = fd < 0 ? -errno : fd;
    (void)close(at);
    return fd;
}

/* Without waiting for a writer, should it be a pipe. */
int serve_open(const char *root, const char *folder, const char *file, size_t *size) {
    int at = open_folder(root, folder);
    struct stat status;
    int fd;

    assert(serve_file_named(file) != NULL); /* a browser's word is looked up before */
    if (at < 0)
        return at;
    fd = openat(at, file, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    fd = fd < 0 ? -errno : fd;
    (void)close(at);
    if (fd >= 0 && (fstat(fd, &status) != 0 || !S_ISREG(status.st_mode))) {
        (void)close(fd);
        fd = -ENOENT;
    }
    if (fd >= 0)
        *size = (size_t)status.st_size;
    return fd;
}

/* A file that grows meanwhile is cut where it was. */
static int serve_files_read_all(int fd, char *bytes, size_t size, size_t *length) {
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
    size_t size;
    int fd = serve_open(root, folder, file, &size);
    int rc = fd;

    *bytes = NULL;
    if (fd < 0)
        return rc;
    if (size > most)
        rc = -EFBIG;
    else if ((*bytes = malloc(size + 1)) == NULL)
        rc = -ENOMEM;
    else
        rc = serve_files_read_all(fd, *bytes, size, length);
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

static int newest_first(const struct dirent **a, const struct dirent **b) {
    if (is_dated((*a)->d_name) != is_dated((*b)->d_name))
        return is_dated((*a)->d_name) ? -1 : 1;
    return strcmp((*b)->d_name, (*a)->d_name);
}

static int may_be_folder(const struct dirent *entry) {
    return serve_files_is_plain(entry->d_name) &&
           (entry->d_type == DT_DIR || entry->d_type == DT_UNKNOWN);
}

/* Some file systems do not tell what an entry is. */
static bool is_folder(int root, const struct dirent *entry) {
    struct stat status;

    return entry->d_type == DT_DIR ||
           (fstatat(root, entry->d_name, &status, AT_SYMLINK_NOFOLLOW) == 0 &&
            S_ISDIR(status.st_mode));
}

static size_t keep_folders(int root, struct dirent **entries, size_t count) {
    size_t kept = 0;

    for (size_t i = 0; i < count; i++)
        if (is_folder(root, entries[i]))
            entries[kept++] = entries[i];
        else
            free(entries[i]);
    return kept;
}

int serve_list(const char *root, struct dirent ***folders, size_t *count) {
    int at = open(root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int found = at < 0 ? -1 : scandirat(at, ".", folders, may_be_folder, newest_first);
    int rc = found < 0 ? -errno : 0;

    *count = found > 0 ? keep_folders(at, *folders, (size_t)found) : 0;
    if (found < 0)
        *folders = NULL;
    assert(*folders != NULL || *count == 0);
    if (at >= 0)
        (void)close(at);
    return rc;
}

void serve_list_free(struct dirent **folders, size_t count) {
    for (size_t i = 0; i < count; i++)
        free(folders[i]);
    free(folders);
}
