/* Reads a history: each line by itself, so that no more JSON than a line is ever in memory. */
#include "history.h"

#include "history_reader.h"

#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

typedef const char *(*line_reader)(struct history_reader *reader, const json_t *json);

static const struct {
    const char *type;
    line_reader read;
} readers[] = {{"request", history_read_request},
               {"product", history_read_product},
               {"round", history_read_round},
               {"end", history_read_end},
               {"run", history_read_run}};

/* NULL, or what is wrong with the line. */
static const char *read_json(struct history_reader *reader, const json_t *json) {
    const char *type = json_string_value(json_object_get(json, "type"));

    for (size_t i = 0; type != NULL && i < sizeof readers / sizeof readers[0]; i++)
        if (strcmp(readers[i].type, type) == 0)
            return readers[i].read(reader, json);
    for (size_t i = 0; type != NULL && i < HISTORY_ROWS; i++)
        if (strcmp(history_rows[i].type, type) == 0)
            return history_read_row(reader, json, &history_rows[i]);
    return type == NULL ? "it has no type" : "its type is unknown";
}

static const char *read_line(struct history_reader *reader, const char *line, size_t length) {
    json_error_t error;
    json_t *json = json_loadb(line, length, JSON_REJECT_DUPLICATES, &error);
    const char *wrong;

    if (json == NULL) {
        snprintf(reader->wrong, sizeof reader->wrong, "it is no JSON: %.100s", error.text);
        return reader->wrong;
    }
    wrong = read_json(reader, json);
    json_decref(json);
    return wrong;
}

/* A line without its newline is the end of a file that was cut while it was written. */
static int read_lines(struct history_reader *reader, FILE *from, const char *path, char *why,
                      size_t why_size) {
    char *line = NULL;
    size_t size = 0, number = 0;
    ssize_t length;
    const char *wrong = NULL;

    while (wrong == NULL && (length = getline(&line, &size, from)) > 0) {
        number++;
        reader->history->is_cut = line[length - 1] != '\n';
        if (!reader->history->is_cut)
            wrong = read_line(reader, line, (size_t)length);
    }
    free(line);
    if (wrong != NULL)
        snprintf(why, why_size, "%s line %zu: %s", path, number, wrong);
    else if (ferror(from))
        snprintf(why, why_size, "%s: %s", path, strerror(errno));
    else if (!reader->has_run)
        snprintf(why, why_size, "%s: it does not begin with a line of type run", path);
    else
        return 0;
    return -1;
}

int history_load(struct history *history, const char *folder, char *why, size_t why_size) {
    struct history_reader reader = {.history = history, .folder = folder};
    char path[1100];
    FILE *from;
    int rc;

    memset(history, 0, sizeof *history);
    snprintf(path, sizeof path, "%s/history.ndjson", folder);
    from = fopen(path, "re");
    if (from == NULL) {
        snprintf(why, why_size, "%s: %s", path, strerror(errno));
        return -1;
    }
    rc = read_lines(&reader, from, path, why, why_size);
    (void)fclose(from);
    if (reader.is_in_round) { /* it has no end: its last lines are missing */
        history->is_cut = true;
        round_free(&history->rounds[history->count]);
    }
    return rc;
}

void history_free(struct history *history) {
    for (size_t i = 0; i < history->count; i++)
        round_free(&history->rounds[i]);
    free(history->rounds);
    option_free(&history->options);
    memset(history, 0, sizeof *history);
}
