/* Reads a file whole, checks its bounds, and only then parses it. */
#include "summary_read.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PATH_SIZE 1100
#define DEPTH_MAX 32 /* the parser recurses, perhaps on the small stack of a fiber */

/* Counts brackets outside of strings; whether they match is for the parser to say. */
static bool is_shallow(const char *json) {
    int depth = 0;
    bool is_string = false;

    for (; *json != '\0' && depth <= DEPTH_MAX; json++) {
        if (is_string && *json == '\\' && json[1] != '\0')
            json++;
        else if (*json == '"')
            is_string = !is_string;
        else if (!is_string)
            depth += (*json == '{' || *json == '[') - (*json == '}' || *json == ']');
    }
    return depth <= DEPTH_MAX;
}

static json_t *parse(const char *text, size_t length, char wrong[SUMMARY_WRONG]) {
    json_error_t error;
    json_t *json = NULL;

    if (!is_shallow(text))
        snprintf(wrong, SUMMARY_WRONG, "is nested too deeply");
    else if ((json = json_loadb(text, length, JSON_REJECT_DUPLICATES, &error)) == NULL)
        snprintf(wrong, SUMMARY_WRONG, "is not JSON that can be read: line %d: %s", error.line,
                 error.text);
    return json;
}

json_t *summary_parse(const char *text, size_t length, char wrong[SUMMARY_WRONG]) {
    json_t *json = parse(text, length, wrong);

    if (json == NULL || json_is_array(json_object_get(json, "strategies")))
        return json;
    snprintf(wrong, SUMMARY_WRONG, "is not the summary of a run");
    json_decref(json);
    return NULL;
}

/* NUL-terminated; free() it. NULL with errno: EFBIG for more than SUMMARY_MAX bytes. */
static char *read_all(const char *path, size_t *length) {
    char *text = malloc(SUMMARY_MAX + 1);
    FILE *from = fopen(path, "re");
    int error = errno;

    if (text != NULL && from != NULL) {
        *length = fread(text, 1, SUMMARY_MAX, from);
        error = ferror(from) ? EIO : getc(from) != EOF ? EFBIG : 0;
        text[*length] = '\0';
    }
    if (from != NULL)
        (void)fclose(from);
    if (error == 0)
        return text;
    free(text);
    errno = error;
    return NULL;
}

typedef json_t *(*parser)(const char *text, size_t length, char wrong[SUMMARY_WRONG]);

static json_t *read_file(const char *folder, const char *name, parser parse_it,
                         char why[SUMMARY_WHY]) {
    char path[PATH_SIZE], wrong[SUMMARY_WRONG];
    size_t length = 0;
    char *text;
    json_t *json;

    why[0] = '\0';
    snprintf(path, sizeof path, "%s/%s", folder, name);
    text = read_all(path, &length);
    if (text == NULL) {
        if (errno != ENOENT && errno != ENOTDIR)
            snprintf(why, SUMMARY_WHY, "%s: %s", path, strerror(errno));
        return NULL;
    }
    json = parse_it(text, length, wrong);
    if (json == NULL)
        snprintf(why, SUMMARY_WHY, "%s %s", path, wrong);
    free(text);
    return json;
}

json_t *summary_read(const char *folder, char why[SUMMARY_WHY]) {
    json_t *summary = read_file(folder, "summary.json", summary_parse, why);

    if (summary == NULL && why[0] == '\0')
        snprintf(why, SUMMARY_WHY,
                 "%.1000s has no summary.json: name the folder of a run that has ended, such as "
                 "results/latest",
                 folder);
    return summary;
}

json_t *summary_read_environment(const char *folder, char why[SUMMARY_WHY]) {
    return read_file(folder, "env.json", parse, why);
}

/* ---- what it says */

const char *summary_text(const json_t *object, const char *key) {
    const char *text = json_string_value(json_object_get(object, key));

    return text != NULL ? text : "";
}

const json_t *summary_strategy(const json_t *summary, size_t i) {
    return json_array_get(json_object_get(summary, "strategies"), i);
}

const char *summary_given(const json_t *summary, size_t i) {
    return summary_text(summary_strategy(summary, i), "strategy");
}

json_int_t summary_anomaly_count(const json_t *strategy, const char *name) {
    const json_t *anomalies = json_object_get(strategy, "anomalies");

    for (size_t i = 0; i < json_array_size(anomalies); i++) {
        const json_t *found = json_array_get(anomalies, i);

        if (strcmp(summary_text(found, "name"), name) == 0)
            return json_integer_value(json_object_get(found, "count"));
    }
    return 0;
}
