/* The contents of a folder of locks: files with the names of their locks, and records of owners in
 * the files. */
#include "file_record.h"

#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PART        200 /* of a name that is too long for one file name: nested folders */
#define RECORD_SIZE 512
#define FORMAT      "%020" PRIu64 " %40s %ld %llu %llu %36s "

/* Letters, digits and a few marks stay as they are. So no encoded name has a dot or a slash. */
static size_t file_folder_encode(char *text, const char *name) {
    char *to = text;

    for (; *name; name++) {
        if (isalnum((unsigned char)*name) || *name == '-' || *name == '_' || *name == ':')
            *to++ = *name;
        else
            to += sprintf(to, "%%%02X", (unsigned)(unsigned char)*name);
    }
    *to = '\0';
    return (size_t)(to - text);
}

bool file_name_decode(char *name, size_t size, const char *file) {
    for (; *file && *file != '.'; file++, size--) {
        if (size < 2 || *file == '+')
            return false;
        *name++ = *file;
        if (*file != '%')
            continue;
        if (!isxdigit((unsigned char)file[1]) || !isxdigit((unsigned char)file[2]))
            return false;
        name[-1] = (char)strtol((char[]){file[1], file[2], '\0'}, NULL, 16);
        file += 2;
    }
    *name = '\0';
    return true;
}

static int file_folder_open_private(int at, const char *path) {
    int folder = openat(at, path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    struct stat stat;

    if (folder < 0)
        return -1;
    if (fstat(folder, &stat) == 0 && stat.st_uid == geteuid() &&
        (stat.st_mode & (S_IWGRP | S_IWOTH)) == 0)
        return folder;
    (void)close(folder);
    errno = EPERM;
    return -1;
}

static int file_folder_open_or_make(int at, const char *path) {
    int folder = file_folder_open_private(at, path);

    if (folder >= 0 || errno != ENOENT)
        return folder;
    if (mkdirat(at, path, S_IRWXU) != 0 && errno != EEXIST)
        return -1;
    return file_folder_open_private(at, path);
}

int file_folder_open(const char *root, const char *name, char base[NAME_MAX + 1]) {
    char text[3 * NAME_MAX_BYTES + 1], part[PART + 2];
    size_t length = file_folder_encode(text, name), at = 0;
    int folder = file_folder_open_or_make(AT_FDCWD, root);

    for (; folder >= 0 && length - at > PART; at += PART) {
        int outer = folder;

        (void)snprintf(part, sizeof part, "%.*s+", PART, text + at);
        folder = file_folder_open_or_make(outer, part);
        (void)close(outer);
    }
    (void)snprintf(base, NAME_MAX + 1, "%.*s", PART, text + at);
    return folder;
}

int file_open(int folder, const char *name, int flags) {
    return openat(folder, name, flags | O_NOFOLLOW | O_CLOEXEC, S_IRUSR | S_IWUSR);
}

int file_record_read(int file, struct file_record *record) {
    char text[RECORD_SIZE + 1];
    ssize_t length = pread(file, text, RECORD_SIZE, 0);
    int at = 0;

    memset(record, 0, sizeof *record);
    if (length <= 0)
        return (int)length;
    text[length] = '\0';
    text[strcspn(text, "\n")] = '\0';
    if (sscanf(text, "%" SCNu64 " %40s %ld %llu %llu %36s %n", &record->fence, record->owner,
               &record->process.pid, &record->process.started, &record->process.space,
               record->process.boot, &at) < 6 ||
        at == 0) {
        errno = EBADMSG;
        return -1;
    }
    (void)snprintf(record->label, sizeof record->label, "%s", text + at);
    return 0;
}

int file_record_write(int file, const struct file_record *record) {
    char text[RECORD_SIZE + 1];
    int length = snprintf(text, sizeof text, FORMAT "%s", record->fence, record->owner,
                          record->process.pid, record->process.started, record->process.space,
                          record->process.boot, record->label);
    ssize_t written;

    assert(length > 0 && length <= RECORD_SIZE);
    for (char *at = text; *at; at++) /* one line, with any label */
        if (*at == '\n')
            *at = ' ';
    /* Write the whole size, so that nothing of an earlier record is left. */
    memset(text + length, '\n', (size_t)(RECORD_SIZE - length));
    written = pwrite(file, text, RECORD_SIZE, 0);
    if (written == RECORD_SIZE)
        return 0;
    if (written >= 0)
        errno = ENOSPC;
    return -1;
}
