#include "replay.h"

#include "buffer.h"
#include "json_read.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

void replay_free(struct replay *replay) {
    for (size_t i = 0; replay->command != NULL && replay->command[i] != NULL; i++)
        free(replay->command[i]);
    free(replay->command);
    free(replay->faults);
    *replay = (struct replay){.command = NULL};
}

static char **read_command(const json_t *json) {
    const size_t count = json_array_size(json);
    char **command = calloc(count + 1, sizeof *command);

    for (size_t i = 0; command != NULL && i < count; i++) {
        const char *word = json_string_value(json_array_get(json, i));

        command[i] = word != NULL ? strdup(word) : NULL;
        if (command[i] == NULL)
            break;
    }
    return command;
}

/* "stop-held,kill-held", or NULL. */
static char *read_faults(const json_t *rows) {
    struct buffer names = {NULL, 0, 0};
    bool is_good = json_array_size(rows) > 0;
    size_t i;
    json_t *row;

    json_array_foreach (rows, i, row) {
        const char *name = json_string_value(json_object_get(row, "fault"));

        is_good = is_good && name != NULL && (i == 0 || buffer_append_text(&names, ",")) &&
                  buffer_append_text(&names, name);
    }
    if (is_good && buffer_append(&names, "", 1))
        return names.bytes;
    buffer_free(&names);
    return NULL;
}

/* The ranges of the settings. */
static int read_number(const json_t *json, const char *key, int64_t least, int64_t most,
                       int64_t *number) {
    const json_t *member = json_object_get(json, key);

    *number = json_integer_value(member);
    return json_is_integer(member) && *number >= least && *number <= most ? 0 : -1;
}

static int replay_take(const json_t *json, struct replay *replay) {
    int bad = 0;

    *replay = (struct replay){.command = read_command(json_object_get(json, "command")),
                              .faults = read_faults(json_object_get(json, "rows"))};
    bad |= read_number(json, "ttl_ms", 100, 3600000, &replay->ttl_ms);
    bad |= read_number(json, "slack_ms", 10, 3600000, &replay->slack_ms);
    bad |= read_number(json, "workers", 2, 64, &replay->workers);
    bad |= read_number(json, "trials", 1, 10000, &replay->trials);
    bad |= read_number(json, "seed", 0, INT64_C(1000000000000), &replay->seed);
    if (bad == 0 && replay->command != NULL && replay->command[0] != NULL && replay->faults != NULL)
        return 0;
    replay_free(replay);
    return -1;
}

int replay_read(const char *path, struct replay *replay, struct why *why) {
    json_error_t error;
    json_t *json = json_read_file(path, &error);
    int code;

    if (json == NULL)
        return why_set(why, "%.200s: %s", path, error.text);
    code = replay_take(json, replay);
    json_decref(json);
    return code == 0 ? 0 : why_set(why, "%.200s is not the JSON of a run of lockjudge", path);
}
