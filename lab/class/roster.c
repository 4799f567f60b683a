/* Finds the students' folders and reads their files. */
#include "roster.h"

#include "student_file.h"
#include "utf8.h"

#include <assert.h>
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Names that no student gave: hidden ones, and the folder that macOS puts into archives. */
static bool is_noise(const char *name) {
    return name[0] == '.' || strcmp(name, "__MACOSX") == 0;
}

/* The chapter of a file's name, or 0. */
static int roster_number(const char *name) {
    const size_t length = strlen(name), digits = strspn(name, "0123456789");
    const int number = digits > 0 && digits < 3 ? atoi(name) : 0;

    return number <= CHAPTERS && length > 2 && strcmp(name + length - 2, ".c") == 0 ? number : 0;
}

static bool is_folder(int at, const char *name) {
    struct stat is;

    return fstatat(at, name, &is, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(is.st_mode);
}

/* The names in a folder, sorted. The count, or -1 with errno. */
static int names_in(const char *folder, struct dirent ***names) {
    return scandir(folder, names, NULL, alphasort);
}

static void names_free(struct dirent **names, int count) {
    for (int i = 0; i < count; i++)
        free(names[i]);
    free(names);
}

static char *path_in(const char *folder, const char *name) {
    char *path;

    return asprintf(&path, "%s/%s", folder, name) >= 0 ? path : NULL;
}

/* ---- one student */

/* The machine is at fault: errno. False without memory. */
static bool file_fail(struct roster_file *file) {
    file->is_machine = true;
    return asprintf(&file->why, "it cannot be read: %s", strerror(errno)) >= 0;
}

static bool file_read_from(struct roster_file *file, int fd) {
    ssize_t got = 1;

    file->bytes = malloc(STUDENT_SOURCE + 1);
    if (file->bytes == NULL)
        return false;
    while (got > 0 && file->size <= STUDENT_SOURCE) {
        got = read(fd, file->bytes + file->size, STUDENT_SOURCE + 1 - file->size);
        file->size += got > 0 ? (size_t)got : 0;
    }
    return got >= 0 || file_fail(file);
}

/* The grader refuses a link, a folder or a pipe, and says why. False without memory. */
static bool file_read(struct roster_file *file) {
    const int fd = open(file->path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    struct stat is;
    bool has_memory = true;

    if (fd < 0)
        return errno == ELOOP || file_fail(file);
    if (fstat(fd, &is) != 0)
        has_memory = file_fail(file);
    else if (S_ISREG(is.st_mode))
        has_memory = file_read_from(file, fd);
    (void)close(fd);
    return has_memory;
}

/* A file for a chapter. False without memory. */
static bool student_take(struct roster_student *student, const char *folder, const char *name) {
    struct roster_file *file = &student->files[roster_number(name) - 1];
    const char *first;

    if (file->path == NULL) {
        file->path = path_in(folder, name);
        return file->path != NULL && file_read(file);
    }
    first = strrchr(file->path, '/') + 1;
    free(file->why);
    file->is_machine = false;
    return asprintf(&file->why, "there are two files for this chapter, %s and %s: keep one", first,
                    name) > 0;
}

static bool has_chapters(const char *folder) {
    struct dirent **names;
    const int count = names_in(folder, &names);
    bool has = false;

    for (int i = 0; i < count; i++)
        has = has || roster_number(names[i]->d_name) > 0;
    if (count >= 0)
        names_free(names, count);
    return has;
}

/* True if a folder in `folder` has files for chapters: then it is a level too high. */
static bool has_deeper_chapters(const char *folder, struct dirent **names, int count, int at) {
    for (int i = 0; i < count; i++)
        if (!is_noise(names[i]->d_name) && is_folder(at, names[i]->d_name)) {
            char *inner = path_in(folder, names[i]->d_name);
            const bool has = inner != NULL && has_chapters(inner);

            free(inner);
            if (has)
                return true;
        }
    return false;
}

static bool student_read(struct roster_student *student, const char *folder) {
    struct dirent **names = NULL;
    const int count = names_in(folder, &names), at = open(folder, O_RDONLY | O_DIRECTORY);
    bool has_memory = true, has_file = false;

    for (int i = 0; i < count && has_memory; i++)
        if (roster_number(names[i]->d_name) > 0) {
            has_memory = student_take(student, folder, names[i]->d_name);
            has_file = true;
        }
    if (count < 0)
        student->why = "the folder cannot be read";
    else if (!has_file)
        student->why = has_deeper_chapters(folder, names, count, at)
                           ? "the files are in a folder inside: move them up"
                           : "no file for a chapter";
    if (at >= 0)
        (void)close(at);
    if (count >= 0)
        names_free(names, count);
    return has_memory;
}

/* ---- all */

static bool roster_add(struct roster *roster, const char *folder, const char *name, bool is_link) {
    struct roster_student *more =
        realloc(roster->students, (roster->count + 1) * sizeof *roster->students);
    struct roster_student *student;
    char *path = path_in(folder, name);
    bool has_memory = more != NULL && path != NULL;

    if (more != NULL)
        roster->students = more;
    if (has_memory) {
        student = &roster->students[roster->count++];
        *student = (struct roster_student){.name = strdup(name), .shown = strdup(name)};
        has_memory = student->name != NULL && student->shown != NULL;
        if (has_memory)
            utf8_make_printable(student->shown);
        if (is_link)
            student->why = "the folder is a link";
        else
            has_memory = has_memory && student_read(student, path);
    }
    free(path);
    return has_memory;
}

/* Say which level was meant. */
static int roster_refuse(const char *folder, const struct roster *roster, struct why *why) {
    if (has_chapters(folder))
        return why_set(why,
                       "%s holds files of chapters itself: `lab grade %s` grades one student; "
                       "--class takes the folder above",
                       folder, folder);
    for (size_t i = 0; i < roster->count; i++)
        if (roster->students[i].why != NULL && strstr(roster->students[i].why, "inside") != NULL)
            return why_set(why, "the students' folders are one level deeper: %s/%s", folder,
                           roster->students[i].shown);
    return why_set(why,
                   "%s has no folder with a file for a chapter: it must hold a folder for each "
                   "student, and each such folder 01.c and so on",
                   folder);
}

int roster_read(struct roster *roster, const char *folder, struct why *why) {
    const int at = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    struct dirent **names = NULL;
    const int count = at >= 0 ? names_in(folder, &names) : -1;
    bool has_memory = true, has_file = false;

    *roster = (struct roster){0};
    if (count < 0) {
        if (at >= 0)
            (void)close(at);
        return why_set(why, "%s: %s", folder, strerror(errno));
    }
    for (int i = 0; i < count && has_memory; i++) {
        struct stat is;
        const char *name = names[i]->d_name;

        if (is_noise(name) || fstatat(at, name, &is, 0) != 0 || !S_ISDIR(is.st_mode))
            continue;
        has_memory = roster_add(roster, folder, name, !is_folder(at, name));
        has_file = has_file || (has_memory && roster->students[roster->count - 1].why == NULL);
    }
    names_free(names, count);
    (void)close(at);
    if (!has_memory)
        return why_set(why, "out of memory");
    return has_file ? 0 : roster_refuse(folder, roster, why);
}

void roster_free(struct roster *roster) {
    for (size_t i = 0; i < roster->count; i++) {
        struct roster_student *student = &roster->students[i];

        for (size_t j = 0; j < CHAPTERS; j++) {
            free(student->files[j].path);
            free(student->files[j].bytes);
            free(student->files[j].why);
        }
        free(student->name);
        free(student->shown);
    }
    free(roster->students);
    *roster = (struct roster){0};
}
