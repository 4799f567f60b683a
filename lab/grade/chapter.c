/* Reads chapter.json. */
#include "chapter.h"

#include "json_read.h"
#include "model.h"
#include "user_command.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct reading {
    const char *path;
    struct why *why;
};

static int chapter_find_folder(struct chapter *chapter, const char *lab) {
    char start[8];
    struct dirent *entry;
    DIR *dir = opendir(lab);
    bool is_found = false;

    if (dir == NULL)
        return -1;
    (void)snprintf(start, sizeof start, "%02d-", chapter->number % 100);
    while (!is_found && (entry = readdir(dir)) != NULL)
        is_found = strncmp(entry->d_name, start, strlen(start)) == 0 &&
                   snprintf(chapter->folder, sizeof chapter->folder, "%s/%s", lab, entry->d_name) <
                       (int)sizeof chapter->folder;
    (void)closedir(dir);
    return is_found ? 0 : -1;
}

static int read_text(const struct reading *reading, const json_t *from, const char *name,
                     char *text, size_t size) {
    const char *value = json_string_value(json_object_get(from, name));

    if (value == NULL || strlen(value) >= size)
        return why_set(reading->why, "%s: \"%s\" must be a text of at most %zu bytes",
                       reading->path, name, size - 1);
    strcpy(text, value);
    return 0;
}

static int chapter_read_number(const struct reading *reading, const json_t *from, const char *name,
                               int least, int most, int *number) {
    const json_t *value = json_object_get(from, name);

    if (!json_is_integer(value) || json_integer_value(value) < least ||
        json_integer_value(value) > most)
        return why_set(reading->why, "%s: \"%s\" must be a number from %d to %d", reading->path,
                       name, least, most);
    *number = (int)json_integer_value(value);
    return 0;
}

/* Read a number, or a list of the least and the most one. Without it: 0. */
static int read_range(const struct reading *reading, const json_t *from, const char *name, int most,
                      struct range *range) {
    const json_t *value = json_object_get(from, name);
    const json_t *first = json_is_array(value) ? json_array_get(value, 0) : value;
    const json_t *last = json_is_array(value) ? json_array_get(value, 1) : value;

    *range = (struct range){0, 0};
    if (value == NULL)
        return 0;
    if (!json_is_integer(first) || !json_is_integer(last) || json_integer_value(first) < 0 ||
        json_integer_value(last) < json_integer_value(first) || json_integer_value(last) > most)
        return why_set(reading->why,
                       "%s: \"%s\" must be a number from 0 to %d, or [least, most] of these",
                       reading->path, name, most);
    *range = (struct range){(int)json_integer_value(first), (int)json_integer_value(last)};
    return 0;
}

static int read_values(const struct reading *reading, const json_t *from, struct check *check) {
    if (json_object_get(from, "stock") == NULL)
        return why_set(reading->why, "%s: a check has no \"stock\"", reading->path);
    return read_range(reading, from, "stock", 1000, &check->stock) != 0 ||
                   read_range(reading, from, "first_version", MODEL_FIRST, &check->version) != 0 ||
                   read_range(reading, from, "first_fence", MODEL_FIRST, &check->fence) != 0
               ? -1
               : 0;
}

static const struct {
    const char *word, *advice;
} findings[] = {
#define X(name, word, advice) {word, advice},
    FINDINGS(X)
#undef X
};

const char *finding_advice(enum finding finding) {
    return findings[finding].advice;
}

/* Read words such as "oversell turned-away". Without them the check is about its step limit, or
 * about oversells; or about all that can go wrong, if no sale meets another. */
static int read_finds(const struct reading *reading, const json_t *from, struct check *check) {
    const char *text = json_string_value(json_object_get(from, "finds"));

    check->finds = check->max_steps > 0     ? 1U << FINDING_STEPS
                   : check->preemptions > 0 ? 1U << FINDING_OVERSELL
                                            : (1U << FINDING_COUNT) - 1;
    if (text == NULL)
        return 0;
    check->finds = 0;
    for (size_t length; *text != '\0'; text += length + (text[length] == ' ')) {
        unsigned i = 0;

        length = strcspn(text, " ");
        while (i < FINDING_COUNT &&
               (strlen(findings[i].word) != length || strncmp(findings[i].word, text, length) != 0))
            i++;
        if (i == FINDING_COUNT)
            return why_set(reading->why, "%s: \"finds\": \"%.*s\" is no finding", reading->path,
                           (int)length, text);
        check->finds |= 1U << i;
    }
    return 0;
}

static int read_check(const struct reading *reading, const json_t *from, struct check *check) {
    char faults[80];

    if (read_text(reading, from, "name", check->name, sizeof check->name) != 0 ||
        read_text(reading, from, "options", check->options, sizeof check->options) != 0 ||
        read_text(reading, from, "advice", check->advice, sizeof check->advice) != 0 ||
        read_text(reading, from, "faults", faults, sizeof faults) != 0 ||
        chapter_read_number(reading, from, "points", 0, 100, &check->points) != 0 ||
        chapter_read_number(reading, from, "orders", 1, MODEL_ORDERS, &check->orders) != 0 ||
        chapter_read_number(reading, from, "instances", 1, MODEL_INSTANCES, &check->instances) !=
            0 ||
        read_values(reading, from, check) != 0 ||
        chapter_read_number(reading, from, "preemptions", 0, 20, &check->preemptions) != 0)
        return -1;
    if (model_faults_read(faults, &check->faults) != 0)
        return why_set(reading->why, "%s: \"faults\": \"%s\" has an unknown fault", reading->path,
                       faults);
    check->others = check->stall_ms = 0;
    if ((json_object_get(from, "others") != NULL &&
         chapter_read_number(reading, from, "others", 0, MODEL_OTHERS, &check->others) != 0) ||
        (json_object_get(from, "stall_ms") != NULL &&
         chapter_read_number(reading, from, "stall_ms", 0, 60000, &check->stall_ms) != 0))
        return -1;
    check->serves_all = json_is_true(json_object_get(from, "serves_all"));
    check->knows_all = json_is_true(json_object_get(from, "knows_all"));
    check->max_steps = 0;
    if (json_object_get(from, "max_steps") != NULL &&
        chapter_read_number(reading, from, "max_steps", 0, 400, &check->max_steps) != 0)
        return -1;
    return read_finds(reading, from, check);
}

/* Read a set of words, such as "guard|row-lock". */
static int read_set(const struct reading *reading, const json_t *from, unsigned *set) {
    const char *text = json_string_value(from);

    *set = 0;
    for (size_t length; text != NULL && *text != '\0'; text += length + (text[length] == '|')) {
        unsigned one;

        length = strcspn(text, "|");
        one = technique_read(text, length);
        if (one == 0)
            return why_set(reading->why, "%s: \"%.*s\" is no technique", reading->path, (int)length,
                           text);
        *set |= one;
    }
    return *set != 0 ? 0 : why_set(reading->why, "%s: a technique must be a text", reading->path);
}

static int read_techniques(const struct reading *reading, const json_t *from,
                           struct techniques *techniques) {
    const json_t *needs = json_object_get(from, "requires"), *one;
    const json_t *forbids = json_object_get(from, "forbids");
    size_t i;

    memset(techniques, 0, sizeof *techniques);
    if (json_array_size(needs) > TECHNIQUE_GROUPS)
        return why_set(reading->why, "%s: \"requires\" must have at most %d entries", reading->path,
                       TECHNIQUE_GROUPS);
    json_array_foreach (needs, i, one)
        if (read_set(reading, one, &techniques->required[i]) != 0)
            return -1;
    return forbids == NULL ? 0 : read_set(reading, forbids, &techniques->forbidden);
}

static int chapter_read_all(const struct reading *reading, const json_t *from,
                            struct chapter *chapter) {
    const json_t *checks = json_object_get(from, "checks"), *check;
    struct techniques techniques;
    size_t i;
    int points = 0;

    if (json_is_true(json_object_get(from, "shop")))
        return why_set(reading->why, "chapter %d is about a shop of your own: run %s check %d",
                       chapter->number, user_command(USER_LAB), chapter->number);
    if (read_text(reading, from, "title", chapter->title, sizeof chapter->title) != 0)
        return -1;
    if (json_array_size(checks) < 1 || json_array_size(checks) > CHAPTER_CHECKS)
        return why_set(reading->why, "%s: \"checks\" must have 1 to %d entries", reading->path,
                       CHAPTER_CHECKS);
    if (read_techniques(reading, from, &techniques) != 0)
        return -1;
    json_array_foreach (checks, i, check) {
        if (read_check(reading, check, &chapter->checks[i]) != 0)
            return -1;
        chapter->checks[i].techniques = techniques;
        points += chapter->checks[i].points;
    }
    chapter->check_count = i;
    return points == 100 ? 0
                         : why_set(reading->why, "%s: the points add up to %d, not 100",
                                   reading->path, points);
}

int chapter_read(struct chapter *chapter, const char *lab, int number, struct why *why) {
    char path[CHAPTER_PATH + 16];
    const struct reading reading = {path, why};
    json_error_t error;
    json_t *from;
    int err;

    *chapter = (struct chapter){.number = number};
    (void)snprintf(path, sizeof path, "%s", lab);
    if (chapter_find_folder(chapter, lab) != 0)
        return why_set(why, "%s: it has no chapter %d", path, number);
    (void)snprintf(path, sizeof path, "%s/chapter.json", chapter->folder);
    from = json_read_file(path, &error);
    if (from == NULL)
        return why_set(why, "%s: line %d: %s", path, error.line, error.text);
    err = chapter_read_all(&reading, from, chapter);
    json_decref(from);
    return err;
}
