/* Keeps what is shown, and frames it as an event. */
#include "board.h"

#include "json_read.h"
#include "json_text.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void board_put(struct board *board, const char *key, json_t *value) {
    (void)json_object_set_new(board->shown, key, value);
}

static json_t *board_text_at(const struct board *board, const char *key) {
    return json_incref(json_object_get(board->shown, key));
}

void board_clear(struct board *board) {
    json_decref(board->shown);
    board->shown = json_pack("{s:n,s:n,s:b,s:n,s:[],s:n}", "doing", "title", "is_stopping", 0,
                             "live", "rounds", "ended");
    board->version++;
}

void board_begin(struct board *board, const char *kind, const char *title) {
    board_clear(board);
    board_put(board, "doing", json_string(kind));
    board_put(board, "title", json_text(title));
}

void board_stopping(struct board *board) {
    board_put(board, "is_stopping", json_true());
    board->version++;
}

void board_progress(struct board *board, const char *line, size_t length) {
    json_t *json = json_read(line, length, NULL);

    if (!json_is_string(json_object_get(json, "strategy"))) {
        json_decref(json);
        return;
    }
    if (json_object_get(json, "verdict") != NULL)
        (void)json_array_append(json_object_get(board->shown, "rounds"), json);
    board_put(board, "live", json);
    board->version++;
}

void board_end(struct board *board, const struct board_end *end) {
    json_t *ended = JSON_TEXT_OBJECT(
        {"kind", board_text_at(board, "doing")}, {"title", board_text_at(board, "title")},
        {"exit_code", json_integer(end->exit_code)}, {"signal", json_integer(end->signal)},
        {"was_stopped", json_boolean(end->was_stopped)},
        {"folder", end->folder != NULL ? json_text(end->folder) : json_null()},
        {"said", json_text(end->said)});

    assert(board->version > 1); /* board_begin() came first */
    board_put(board, "ended", ended);
    board_put(board, "doing", json_null());
    board_put(board, "is_stopping", json_false());
    board->version++;
}

void board_free(struct board *board) {
    json_decref(board->shown);
    board->shown = NULL;
}

/* Compact JSON has no line break, so it is one line of data. */
char *board_event(const struct board *board, size_t *length) {
    char *json = json_dumps(board->shown, JSON_COMPACT), *event = NULL;
    int printed = -1;

    assert(board->version > 0); /* board_clear() came first */
    assert(json == NULL || strchr(json, '\n') == NULL);
    if (json != NULL)
        printed =
            asprintf(&event, "id: %" PRIu64 "\nevent: board\ndata: %s\n\n", board->version, json);
    free(json);
    *length = printed > 0 ? (size_t)printed : 0;
    return printed > 0 ? event : NULL;
}
