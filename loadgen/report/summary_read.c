/* Reads a file that may be anything but a summary. */
#include "summary_read.h"

#include "json_read.h"

#include <assert.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define PATH_SIZE 1100

static bool is_summary(const json_t *json) {
    return json_is_array(json_object_get(json, "strategies"));
}

json_t *summary_parse(const char *text, size_t length, struct why *why) {
    json_error_t error;
    json_t *json = json_read(text, length, &error);

    if (json == NULL)
        why_set(why, "is not JSON: line %d: %s", error.line, error.text);
    else if (is_summary(json))
        return json;
    else
        why_set(why, "is not the summary of a run");
    json_decref(json);
    return NULL;
}

/* Returns NULL with an empty `why` if the file does not exist. */
static json_t *summary_read_file(const char *folder, const char *name, struct why *why) {
    char path[PATH_SIZE];
    json_error_t error;
    json_t *json;

    why->text[0] = '\0';
    snprintf(path, sizeof path, "%s/%s", folder, name);
    if (access(path, F_OK) != 0 && (errno == ENOENT || errno == ENOTDIR))
        return NULL;
    json = json_read_file(path, &error);
    if (json == NULL)
        why_set(why, "%s is not readable JSON: line %d: %s", path, error.line, error.text);
    return json;
}

json_t *summary_read(const char *folder, struct why *why) {
    json_t *json = summary_read_file(folder, "summary.json", why);

    if (is_summary(json))
        return json;
    if (json != NULL)
        why_set(why, "%s/summary.json is not the summary of a run", folder);
    else if (why->text[0] == '\0')
        why_set(why,
                "%s has no summary.json: name the folder of a run that "
                "has ended, such as results/latest",
                folder);
    json_decref(json);
    return NULL;
}

json_t *summary_read_environment(const char *folder, struct why *why) {
    return summary_read_file(folder, "env.json", why);
}

/* ---- its members */

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

const json_t *summary_find(const json_t *from, const char *path) {
    char key[32];

    while (from != NULL && *path != '\0') {
        size_t length = strcspn(path, ".");

        assert(length > 0 && length < sizeof key);
        snprintf(key, sizeof key, "%.*s", (int)length, path);
        from = json_object_get(from, key);
        path += length + (path[length] == '.');
    }
    return from;
}

const json_t *summary_partner(const json_t *of, size_t i, const json_t *among) {
    const char *name = summary_given(of, i);
    size_t skip = 0;

    for (size_t before = 0; before < i; before++)
        skip += strcmp(summary_given(of, before), name) == 0;
    for (size_t at = 0; summary_strategy(among, at) != NULL; at++)
        if (strcmp(summary_given(among, at), name) == 0 && skip-- == 0)
            return summary_strategy(among, at);
    return NULL;
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
