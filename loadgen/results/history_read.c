/* Reads a history: each line by itself, so that no more JSON than a line is ever in memory. What
 * reads a line adds what it says to the history, and returns NULL, or what is wrong with it. */
#include "history.h"

#include "cost.h"
#include "history_fields.h"
#include "json_read.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define ITEMS_MAX 1000

struct reader {
    struct history *history;
    const char *folder;
    bool has_run;
    bool is_in_round;          /* history->rounds[history->count] is being read */
    struct ledger *ledger;     /* of the last product line, or NULL */
    size_t products;           /* product lines in this round */
    char wrong[HISTORY_WRONG]; /* room for what is wrong */
};

static const char no_memory[] = "out of memory";

static const char *read_run(struct reader *reader, const json_t *json) {
    if (reader->has_run)
        return "a run has begun already";
    reader->has_run = true;
    return history_read_run(json, reader->history, reader->wrong);
}

static struct round *round_of(const struct reader *reader) {
    assert(reader->is_in_round);
    return &reader->history->rounds[reader->history->count];
}

/* An array with room for one more element, which is zeroed, after `count`: moved, perhaps. Its room
 * follows from `count`: 16, and twice as much whenever that is full. NULL without memory, and then
 * it is as it was. */
static void *grow(void *array, size_t count, size_t size) {
    bool is_full = count == 0 || (count >= 16 && (count & (count - 1)) == 0);

    assert((array == NULL) <= (count == 0));
    if (is_full) {
        void *grown = realloc(array, (count == 0 ? 16 : 2 * count) * size);

        if (grown == NULL)
            return NULL;
        array = grown;
    }
    memset((char *)array + count * size, 0, size);
    return array;
}

/* ---- round and end */

static const char *read_instances(struct recorder *recorder, const json_t *json) {
    for (size_t i = 0; i < json_array_size(json); i++) {
        const char *name = json_string_value(json_array_get(json, i));

        if (name == NULL || recorder_instance(recorder, name) != (int16_t)i)
            return "its instances cannot be read";
    }
    return NULL;
}

static const char *read_products(struct round *round, const json_t *json) {
    round->items = json_array_size(json);
    if (round->items == 0 || round->items > ITEMS_MAX)
        return "it has no products, or too many";
    round->products = calloc(round->items, sizeof *round->products);
    if (round->products == NULL)
        return no_memory;
    for (size_t i = 0; i < round->items; i++) {
        const char *id = json_string_value(json_array_get(json, i));

        /* Empty in a run without a judgement, which makes no product. */
        if (id == NULL || (id[0] != '\0' && uuid_parse(id, round->products[i].id) != 0))
            return "the id of a product is no UUID";
    }
    return NULL;
}

/* As the run did: many requests go to disk, beside the history; or stay in memory where that cannot
 * be written. */
static struct recorder *make_recorder(const struct reader *reader, size_t count) {
    struct recorder *recorder =
        count > RECORD_MEMORY ? recorder_make_long(count, reader->folder) : NULL;

    return recorder != NULL ? recorder : recorder_make(count);
}

static const char *begin_round(struct reader *reader, const json_t *json, struct round *round) {
    const struct strategy_list *list = &reader->history->options.list;
    struct history_counts counts;
    const char *wrong = history_get(json, history_round_begin, round, reader->wrong);

    if (wrong == NULL)
        wrong = history_get(json, history_round_counts, &counts, reader->wrong);
    if (wrong != NULL)
        return wrong;
    if (round->strategy >= list->count || counts.requests > counts.planned)
        return "its strategy or requests are out of range";
    round->item = &list->items[round->strategy];
    round->faults = &reader->history->options.fault_list;
    round->late_ns = reader->history->options.late_ns;
    round->stuck_ns = reader->history->options.stuck_ns;
    round->is_keyless = reader->history->options.is_keyless;
    round->recorder = make_recorder(reader, (size_t)counts.requests);
    if (round->recorder == NULL)
        return no_memory;
    round->recorder->planned = (size_t)counts.planned;
    round->recorder->late_launches = (size_t)counts.late_launches;
    wrong = read_instances(round->recorder, json_object_get(json, "instances"));
    return wrong != NULL ? wrong : read_products(round, json_object_get(json, "products"));
}

static const char *read_round(struct reader *reader, const json_t *json) {
    struct history *history = reader->history;
    struct round *rounds;

    if (!reader->has_run || reader->is_in_round)
        return reader->has_run ? "the round before it has no end" : "no run has begun";
    rounds = grow(history->rounds, history->count, sizeof *rounds);
    if (rounds == NULL)
        return no_memory;
    history->rounds = rounds;
    reader->is_in_round = true;
    reader->ledger = NULL;
    reader->products = 0;
    return begin_round(reader, json, &rounds[history->count]);
}

static const char *read_verdict(const char *name, enum verdict_kind *kind) {
    for (int i = VERDICT_VALID; name != NULL && i <= VERDICT_UNJUDGED; i++)
        if (strcmp(verdict_kind_name((enum verdict_kind)i), name) == 0) {
            *kind = (enum verdict_kind)i;
            return NULL;
        }
    return "its verdict is unknown";
}

static const char *read_end(struct reader *reader, const json_t *json) {
    struct round *round = round_of(reader);
    const char *wrong = history_get(json, history_round_end, round, reader->wrong);

    if (wrong == NULL)
        wrong =
            read_verdict(json_string_value(json_object_get(json, "verdict")), &round->verdict.kind);
    if (wrong != NULL)
        return wrong;
    if (round->recorder->ended != round->recorder->size)
        return "the round has fewer requests than its first line says";
    if (reader->products != 0 && reader->products != round->items)
        return "the ledger of a product is missing";
    for (size_t i = 0; i < reader->products; i++)
        ledger_sort(&round->ledgers[i]);
    event_list_sort(&round->events);
    assert(round->item != NULL && round->products != NULL);
    reader->is_in_round = false;
    reader->history->count++;
    return NULL;
}

/* ---- requests */

static const char *read_cost(const json_t *json, struct record_cost *cost) {
    const size_t count = json_array_size(json);
    int64_t parts[HISTORY_COST];

    if (json == NULL)
        return NULL;
    if (count != HISTORY_COST && count != HISTORY_COST_1)
        return "its cost has more or fewer numbers";
    parts[HISTORY_COST_1] = -1;
    for (size_t i = 0; i < count; i++)
        parts[i] = json_integer_value(json_array_get(json, i));
    return history_set_cost(parts, cost) == 0 ? NULL : "its cost is out of range";
}

/* Whether it fits into its round. */
static bool is_of(const struct round *round, const struct record *record) {
    return record->item < round->items && record->instance < (int)round->recorder->instance_count;
}

static const char *read_request(struct reader *reader, const json_t *json) {
    const char *outcome = json_string_value(json_object_get(json, "outcome"));
    struct record record = {.item = 0};
    struct round *round = round_of(reader);
    const char *wrong;

    cost_init(&record.cost);
    if (round->recorder->ended == round->recorder->size)
        return "the round has more requests than its first line says";
    wrong = history_get(json, history_request, &record, reader->wrong);
    if (wrong == NULL && !is_of(round, &record))
        wrong = "its item or instance is out of range";
    if (wrong == NULL && (outcome == NULL || history_set_outcome(outcome, &record.outcome) != 0))
        wrong = "its outcome is unknown";
    if (wrong == NULL)
        wrong = read_cost(json_object_get(json, "cost"), &record.cost);
    if (wrong == NULL)
        recorder_add(round->recorder, &record);
    return wrong;
}

static bool scan_request(struct reader *reader, const char *line) {
    struct round *round = round_of(reader);
    struct record record = {.item = 0};

    if (round->recorder->ended == round->recorder->size || !history_scan_request(line, &record) ||
        !is_of(round, &record))
        return false;
    recorder_add(round->recorder, &record);
    return true;
}

/* ---- events */

static const char *read_event(struct reader *reader, const json_t *json) {
    const char *kind = json_string_value(json_object_get(json, "kind"));
    const char *result = json_string_value(json_object_get(json, "result"));
    struct round *round = round_of(reader);
    struct event *event = event_add(&round->events);
    const char *wrong;

    if (event == NULL)
        return no_memory;
    wrong = history_get(json, history_event, event, reader->wrong);
    if (wrong == NULL && event->item >= round->items)
        wrong = "its item is out of range";
    if (wrong == NULL &&
        (kind == NULL || event_parse(kind, result != NULL ? result : "", event) != 0))
        wrong = "its kind or result is unknown";
    return wrong;
}

/* ---- the ledger */

static const char *read_product(struct reader *reader, const json_t *json) {
    const json_t *item = json_object_get(json, "item");
    struct round *round = round_of(reader);

    if (!json_is_integer(item) || json_integer_value(item) != (json_int_t)reader->products ||
        reader->products == round->items)
        return "it is not the next product";
    if (round->ledgers == NULL)
        round->ledgers = calloc(round->items, sizeof *round->ledgers);
    if (round->ledgers == NULL)
        return no_memory;
    assert(reader->products < round->items);
    reader->ledger = &round->ledgers[reader->products++];
    return history_get(json, history_product, reader->ledger, reader->wrong);
}

/* The place of the next row of its kind, zeroed; NULL without memory. */
static void *next_row(struct ledger *ledger, const struct history_rows *rows) {
    char *at = (char *)ledger;
    size_t count;
    void *array;

    memcpy(&array, at + rows->array, sizeof array);
    memcpy(&count, at + rows->count, sizeof count);
    array = grow(array, count, rows->size);
    if (array == NULL)
        return NULL;
    memcpy(at + rows->array, &array, sizeof array);
    return (char *)array + count * rows->size;
}

static void keep_row(struct ledger *ledger, const struct history_rows *rows) {
    size_t count;

    memcpy(&count, (char *)ledger + rows->count, sizeof count);
    count++;
    memcpy((char *)ledger + rows->count, &count, sizeof count);
}

static const char *read_row(struct reader *reader, const json_t *json,
                            const struct history_rows *rows) {
    const char *wrong;
    void *row;

    if (!reader->is_in_round || reader->ledger == NULL)
        return "it belongs to no product";
    row = next_row(reader->ledger, rows);
    if (row == NULL)
        return no_memory;
    wrong = history_get(json, rows->fields, row, reader->wrong);
    if (wrong == NULL)
        keep_row(reader->ledger, rows);
    return wrong;
}

static bool scan_row(struct reader *reader, const char *line, const struct history_rows *rows) {
    union {
        struct ledger_row row;
        struct ledger_returned returned;
        struct ledger_sale sale;
        struct ledger_order order;
    } read;
    void *row;

    assert(rows->size <= sizeof read);
    if (!history_scan_row(line, rows, &read))
        return false;
    row = next_row(reader->ledger, rows);
    if (row == NULL)
        return false;
    memcpy(row, &read, rows->size);
    keep_row(reader->ledger, rows);
    return true;
}

/* ---- lines */

static const struct {
    const char *type;
    const char *(*read)(struct reader *reader, const json_t *json);
    bool is_in_round;
} readers[] = {{"request", read_request, true}, {"event", read_event, true},
               {"product", read_product, true}, {"round", read_round, false},
               {"end", read_end, true},         {"run", read_run, false}};

/* NULL, or what is wrong with the line. */
static const char *read_json(struct reader *reader, const json_t *json) {
    const char *type = json_string_value(json_object_get(json, "type"));

    for (size_t i = 0; type != NULL && i < sizeof readers / sizeof readers[0]; i++)
        if (strcmp(readers[i].type, type) == 0)
            return readers[i].is_in_round && !reader->is_in_round ? "it stands outside of a round"
                                                                  : readers[i].read(reader, json);
    for (size_t i = 0; type != NULL && i < HISTORY_ROWS; i++)
        if (strcmp(history_rows[i].type, type) == 0)
            return read_row(reader, json, &history_rows[i]);
    return type == NULL ? "it has no type" : "its type is unknown";
}

/* Whether it was one of the many lines that need no reader of JSON. */
static bool scan_line(struct reader *reader, const char *line) {
    if (!reader->is_in_round)
        return false;
    if (reader->ledger == NULL)
        return scan_request(reader, line);
    for (size_t i = 0; i < HISTORY_ROWS; i++)
        if (scan_row(reader, line, &history_rows[i]))
            return true;
    return false;
}

static const char *read_line(struct reader *reader, const char *line, size_t length) {
    json_error_t error;
    const char *wrong;
    json_t *json;

    if (scan_line(reader, line))
        return NULL;
    json = json_read_as_is(line, length, &error);
    if (json == NULL) {
        snprintf(reader->wrong, sizeof reader->wrong, "it is no JSON: %.100s", error.text);
        return reader->wrong;
    }
    wrong = read_json(reader, json);
    json_decref(json);
    return wrong;
}

/* A line without its newline is the end of a file that was cut while it was written. */
static int read_lines(struct reader *reader, FILE *from, const char *path, char *why,
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
    struct reader reader = {.history = history, .folder = folder};
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
