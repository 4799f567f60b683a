/* Writes the results folder. */
#include "folder.h"

#include "environment.h"
#include "file_error.h"
#include "folder_files.h"
#include "history.h"
#include "page.h"
#include "summary_json.h"

#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <stdio_ext.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define SLUG_MAX     60
#define TRIES_MAX    1000
#define HISTORY_ROOM 262144 /* bytes between two writes of the history */

#define HISTORY_NAME "history.ndjson"

/* ---- the name of the folder */

/* Copies letters, digits, dots and underscores of `text`; any other characters become one dash.
 * Returns false if nothing is left. */
static bool slug(const char *text, char to[SLUG_MAX + 1]) {
    size_t length = 0;

    for (; *text != '\0' && length < SLUG_MAX; text++) {
        bool is_plain =
            isalnum((unsigned char)*text) ||
            (length > 0 && (*text == '.' || *text == '_')); /* or the folder would be hidden */

        if (is_plain)
            to[length++] = *text;
        else if (length > 0 && to[length - 1] != '-')
            to[length++] = '-';
    }
    while (length > 0 && to[length - 1] == '-')
        length--;
    to[length] = '\0';
    return length > 0;
}

/* "none-redis-atomic" */
static void slug_strategies(const struct strategy_list *list, char to[SLUG_MAX + 1]) {
    char names[STRATEGY_LIST_MAX * STRATEGY_NAME_SIZE] = "";
    size_t used = 0;

    for (size_t i = 0; i < list->count; i++)
        used += (size_t)snprintf(names + used, sizeof names - used, "%s ", list->items[i].name);
    if (!slug(names, to))
        snprintf(to, SLUG_MAX + 1, "run");
}

static void name_folder(const struct options *options, int64_t started_us, char *to, size_t size) {
    time_t seconds = (time_t)(started_us / 1000000);
    char stamp[32] = "", what[SLUG_MAX + 1];
    struct tm utc;

    if (gmtime_r(&seconds, &utc) != NULL)
        (void)strftime(stamp, sizeof stamp, "%Y%m%dT%H%M%SZ", &utc);
    if (!slug(options->name, what) &&
        (options->about.name == NULL || !slug(options->about.name, what)))
        slug_strategies(&options->list, what);
    snprintf(to, size, "%s-%s", stamp, what);
}

/* ---- making the folder */

static const char *root_of(const struct options *options) {
    return options->results[0] != '\0' ? options->results : ".";
}

/* Makes `path` and the folders above it. */
static int make_folders(const char *path) {
    char part[FOLDER_PATH];

    if (strlen(path) >= sizeof part) {
        errno = ENAMETOOLONG;
        return -1;
    }
    for (const char *end = path; *end != '\0';) {
        end = strchrnul(end + 1, '/');
        snprintf(part, sizeof part, "%.*s", (int)(end - path), path);
        if (mkdir(part, 0755) != 0 && errno != EEXIST)
            return -1;
    }
    return 0;
}

/* A second run in the same second gets a number at the end of its name. */
static int folder_make(struct folder *folder, const char *root, const char *name) {
    char path[FOLDER_PATH];
    int length = snprintf(path, sizeof path, "%s/%s", root, name);

    if (length < 0 || (size_t)length + 8 >= sizeof path) {
        errno = ENAMETOOLONG;
        return -1;
    }
    for (int try = 2; try < TRIES_MAX; try++) {
        if (mkdir(path, 0755) == 0) {
            memcpy(folder->path, path, sizeof path); /* from here on folder_close() may remove it */
            return 0;
        }
        if (errno != EEXIST)
            return -1;
        snprintf(path + length, sizeof path - (size_t)length, "-%d", try);
    }
    return -1;
}

static int begin_history(struct folder *folder, const struct options *options, int64_t started_us) {
    char path[FOLDER_PATH + 32];

    assert(folder->path[0] != '\0' && folder->history == NULL);
    snprintf(path, sizeof path, "%s/" HISTORY_NAME, folder->path);
    folder->history = fopen(path, "wxe");
    if (folder->history == NULL)
        return -1;
    (void)setvbuf(folder->history, NULL, _IOFBF, HISTORY_ROOM);
    (void)__fsetlocking(folder->history, FSETLOCKING_BYCALLER); /* only this thread writes it */
    return history_write_run(folder->history, options, started_us);
}

/* Removes a folder without any round. */
void folder_close(struct folder *folder) {
    char path[FOLDER_PATH + 32];

    if (folder->history != NULL)
        (void)fclose(folder->history);
    folder->history = NULL;
    if (folder->path[0] == '\0' || folder->rounds > 0 || folder->is_written)
        return;
    snprintf(path, sizeof path, "%s/" HISTORY_NAME, folder->path);
    (void)unlink(path);
    (void)rmdir(folder->path);
    folder->path[0] = '\0';
}

int folder_open(struct folder *folder, const struct options *options, int64_t started_us,
                struct why *why) {
    char name[SLUG_MAX + 40];
    int error;

    *folder = (struct folder){.history = NULL};
    if (options->no_results)
        return 0;
    name_folder(options, started_us, name, sizeof name);
    if (make_folders(root_of(options)) == 0 && folder_make(folder, root_of(options), name) == 0 &&
        begin_history(folder, options, started_us) == 0)
        return 0;
    error = errno;
    folder_close(folder);
    return why_set(
        why,
        "no results can be written below %s: %s; choose another folder with --results DIR, or "
        "write none with --no-results",
        root_of(options), file_error(error));
}

/* ---- the history */

/* Removes the written half of a round: then the history is whole, and the other files have room. */
static void take_back(FILE *history, off_t end) {
    __fpurge(history);
    clearerr(history);
    (void)!ftruncate(fileno(history), end);
    (void)fseeko(history, end, SEEK_SET);
}

int folder_add(struct folder *folder, const struct round *round, struct why *why) {
    off_t end;

    if (folder->history == NULL)
        return 0;
    assert(!folder->is_written);
    end = ftello(folder->history);
    if (end >= 0 && history_write_round(folder->history, round) == 0) {
        folder->rounds++;
        return 0;
    }
    why_set(why, "%s/" HISTORY_NAME ": %s; this round is not in it", folder->path,
            file_error(errno));
    if (end >= 0)
        take_back(folder->history, end);
    return -1;
}

/* ---- the other files */

static const struct {
    const char *name;
    int (*write)(const struct summary *summary, FILE *to);
} files[] = {
    {"summary.json", summary_json_write}, {"rounds.csv", rounds_csv_write},
    {"latency.hlog", hlog_write},         {"env.json", environment_write},
    {"violations.txt", violations_write}, {"report.html", page_write},
};

static int folder_write_file(const struct folder *folder, size_t i, const struct summary *summary) {
    char path[FOLDER_PATH + 32], half[FOLDER_PATH + 40];
    int rc, error;
    FILE *to;

    snprintf(path, sizeof path, "%s/%s", folder->path, files[i].name);
    snprintf(half, sizeof half, "%s/.%s.half", folder->path, files[i].name);
    to = fopen(half, "we");
    if (to == NULL)
        return -1;
    rc = files[i].write(summary, to);
    error = errno;
    if (fclose(to) == 0 && rc == 0 && rename(half, path) == 0)
        return 0;
    error = rc == 0 ? errno : error;
    (void)unlink(half);
    errno = error;
    return -1;
}

/* Moves the link `latest` atomically. */
static int point_latest(const struct folder *folder, const char *root) {
    char link[FOLDER_PATH + 32], half[FOLDER_PATH + 40];
    const char *name = folder->path + strlen(root) + 1;

    assert(strncmp(folder->path, root, strlen(root)) == 0);
    snprintf(link, sizeof link, "%s/latest", root);
    /* The name of the folder is unique; a pid is not, between two containers. */
    snprintf(half, sizeof half, "%s/.latest.%s", root, name);
    if (symlink(name, half) != 0)
        return -1;
    if (rename(half, link) == 0)
        return 0;
    (void)unlink(half);
    return -1;
}

int folder_write(struct folder *folder, const struct summary *summary, struct why *why) {
    const char *failed = NULL;
    int error = 0;

    if (folder->path[0] == '\0')
        return 0;
    folder->is_written = true;
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        if (folder_write_file(folder, i, summary) == 0 || failed != NULL)
            continue;
        failed = files[i].name;
        error = errno;
    }
    if (point_latest(folder, root_of(summary->options)) != 0 && failed == NULL) {
        failed = "the link `latest`";
        error = errno;
    }
    if (failed == NULL)
        return 0;
    return why_set(why,
                   "%s: %s could not be written: %s; the files that could be written are there",
                   folder->path, failed, file_error(error));
}
