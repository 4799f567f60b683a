/* Reads a history, a line at a time. What reads a line adds what it says to the history, and
 * returns NULL, or what is wrong with it. */
#include "history.h"

#include "history_fields.h"
#include "number.h"
#include "utf8.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define ITEMS_MAX   1000
#define RATE_MAX    1000000
#define SPAN_MAX_NS (INT64_C(100) * 24 * 3600 * 1000000000)

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

/* ---- the first line */

/* What json_unpack() found missing or of the wrong type. */
static const char *history_read_describe(const json_error_t *error, char wrong[HISTORY_WRONG]) {
    snprintf(wrong, HISTORY_WRONG, "%.200s", error->text);
    return wrong;
}

static int history_read_copy(char *to, size_t size, const char *text) {
    int length = snprintf(to, size, "%s", text);

    utf8_make_printable(to);
    return length >= 0 && (size_t)length < size ? 0 : -1;
}

static const char *history_read_strategies(const json_t *json, struct options *options,
                                           char wrong[HISTORY_WRONG]) {
    struct strategy_list *list = &options->list;

    if (json_array_size(json) == 0 || json_array_size(json) > STRATEGY_LIST_MAX)
        return "it has no strategies, or too many";
    for (size_t i = 0; i < json_array_size(json); i++) {
        const char *name, *given, *spec, *expected;
        struct strategy_item *item = &list->items[list->count++];
        json_error_t error;
        char flaw[EXPECT_TEXT];

        if (json_unpack_ex(json_array_get(json, i), &error, 0, "{s:s, s:s, s:s, s:s}", "name",
                           &name, "given", &given, "spec", &spec, "expected", &expected) != 0)
            return history_read_describe(&error, wrong);
        if (history_read_copy(item->name, sizeof item->name, name) != 0 ||
            history_read_copy(item->given, sizeof item->given, given) != 0 ||
            history_read_copy(item->spec, sizeof item->spec, spec) != 0)
            return "the spec of a strategy is too long";
        if (expect_read(expected, &options->expectations[i], flaw) != 0)
            return "it expects an unknown verdict";
    }
    return NULL;
}

static const char *read_shape(const json_t *stages, struct options *options,
                              char wrong[HISTORY_WRONG]) {
    struct plan_shape *shape = &options->shape;

    shape->count = (size_t)options->requests;
    shape->seed = (uint64_t)options->seed;
    shape->items = (uint32_t)options->items;
    if (plan_parse_arrival(options->arrival, &shape->arrival) != 0 ||
        plan_parse_skew(options->skew, &shape->zipf) != 0 ||
        number_read_part(options->dup_rate, &shape->dup_rate) != 0)
        return "its arrival, skew or dup_rate cannot be read";
    if (json_array_size(stages) > PLAN_STAGES)
        return "it has too many stages";
    for (size_t i = 0; i < json_array_size(stages); i++) {
        struct plan_stage *stage = &shape->stages[shape->stage_count++];
        json_int_t span_ns;
        json_error_t error;

        if (json_unpack_ex(json_array_get(stages, i), &error, 0, "[I, F, F]", &span_ns,
                           &stage->from, &stage->to) != 0)
            return history_read_describe(&error, wrong);
        if (span_ns < 0 || span_ns > SPAN_MAX_NS ||
            !(stage->from >= 0 && stage->from <= RATE_MAX) ||
            !(stage->to >= 0 && stage->to <= RATE_MAX))
            return "its stages are out of range";
        stage->span_ns = span_ns;
    }
    return NULL;
}

static const char *take_run(const struct history_run *run, struct history *history,
                            char wrong[HISTORY_WRONG]) {
    struct options *options = &history->options;
    const char *problem;

    if (run->version != HISTORY_VERSION) {
        snprintf(wrong, HISTORY_WRONG, "its version is %d, and this program reads version %d",
                 (int)run->version, HISTORY_VERSION);
        return wrong;
    }
    history->started_us = run->started_us;
    problem = option_read_history(run->settings, options, wrong);
    if (problem == NULL)
        problem = history_read_strategies(run->strategies, options, wrong);
    if (problem == NULL)
        problem = read_shape(run->stages, options, wrong);
    if (problem == NULL &&
        (threshold_parse(options->threshold, &options->threshold_list, wrong, HISTORY_WRONG) != 0 ||
         fault_list_parse(options->fault, INT64_MAX, &options->fault_list, wrong, HISTORY_WRONG) !=
             0))
        problem = wrong;
    return problem;
}

static const char *history_read_run(struct reader *reader, const struct history_line *line) {
    struct history_run run = {.settings = NULL};
    const char *wrong;

    if (reader->has_run)
        return "a run has begun already";
    reader->has_run = true;
    wrong = history_line_read(line, history_run, &run, reader->wrong);
    if (wrong == NULL)
        wrong = take_run(&run, reader->history, reader->wrong);
    json_decref(run.settings);
    json_decref(run.strategies);
    json_decref(run.stages);
    return wrong;
}

static struct round *round_of(const struct reader *reader) {
    assert(reader->is_in_round);
    return &reader->history->rounds[reader->history->count];
}

/* An array with room for one more element, which is zeroed, after `count`: moved, perhaps. Its room
 * follows from `count`: 16, and twice as much whenever that is full. NULL without memory, and then
 * it is as it was. */
static void *history_read_grow(void *array, size_t count, size_t size) {
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
static struct recorder *history_read_make_recorder(const struct reader *reader, size_t count) {
    struct recorder *recorder =
        count > RECORD_MEMORY ? recorder_make_long(count, reader->folder) : NULL;

    return recorder != NULL ? recorder : recorder_make(count);
}

static const char *begin_round(struct reader *reader, const struct history_round *begin,
                               struct round *round) {
    const struct options *options = &reader->history->options;
    const char *wrong;

    if (begin->round.strategy >= options->list.count || begin->requests > begin->planned)
        return "its strategy or requests are out of range";
    *round = begin->round;
    round->item = &options->list.items[round->strategy];
    round->faults = &options->fault_list;
    round->late_ns = options->late_ns;
    round->stuck_ns = options->stuck_after_ns;
    round->is_keyless = options->keyless;
    round->recorder = history_read_make_recorder(reader, (size_t)begin->requests);
    if (round->recorder == NULL)
        return no_memory;
    round->recorder->planned = (size_t)begin->planned;
    round->recorder->late_launches = (size_t)begin->late_launches;
    wrong = read_instances(round->recorder, begin->instances);
    return wrong != NULL ? wrong : read_products(round, begin->products);
}

static const char *read_round(struct reader *reader, const struct history_line *line) {
    struct history *history = reader->history;
    struct history_round begin = {.requests = 0};
    struct round *rounds;
    const char *wrong;

    if (!reader->has_run || reader->is_in_round)
        return reader->has_run ? "the round before it has no end" : "no run has begun";
    rounds = history_read_grow(history->rounds, history->count, sizeof *rounds);
    if (rounds == NULL)
        return no_memory;
    history->rounds = rounds;
    reader->is_in_round = true;
    reader->ledger = NULL;
    reader->products = 0;
    wrong = history_line_read(line, history_round, &begin, reader->wrong);
    if (wrong == NULL)
        wrong = begin_round(reader, &begin, &rounds[history->count]);
    json_decref(begin.instances);
    json_decref(begin.products);
    return wrong;
}

static const char *read_end(struct reader *reader, const struct history_line *line) {
    struct round *round = round_of(reader);
    const char *wrong = history_line_read(line, history_end, round, reader->wrong);

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

/* ---- requests and events */

static const char *history_read_request(struct reader *reader, const struct history_line *line) {
    struct round *round = round_of(reader);
    struct record record;
    const char *wrong;

    if (round->recorder->ended == round->recorder->size)
        return "the round has more requests than its first line says";
    wrong = history_line_read(line, history_request, &record, reader->wrong);
    if (wrong != NULL)
        return wrong;
    if (record.item >= round->items || record.instance >= (int)round->recorder->instance_count)
        return "its item or instance is out of range";
    recorder_add(round->recorder, &record);
    return NULL;
}

static const char *read_event(struct reader *reader, const struct history_line *line) {
    struct round *round = round_of(reader);
    struct event *event = event_add(&round->events);
    const char *wrong;

    if (event == NULL)
        return no_memory;
    wrong = history_line_read(line, history_event, event, reader->wrong);
    return wrong == NULL && event->item >= round->items ? "its item is out of range" : wrong;
}

/* ---- the ledger */

static const char *read_product(struct reader *reader, const struct history_line *line) {
    struct history_product product = {.item = 0};
    struct round *round = round_of(reader);
    const char *wrong = history_line_read(line, history_product, &product, reader->wrong);

    if (wrong != NULL)
        return wrong;
    if (product.item != (int64_t)reader->products || reader->products == round->items)
        return "it is not the next product";
    if (round->ledgers == NULL)
        round->ledgers = calloc(round->items, sizeof *round->ledgers);
    if (round->ledgers == NULL)
        return no_memory;
    reader->ledger = &round->ledgers[reader->products++];
    *reader->ledger = product.ledger;
    return NULL;
}

/* The place of the next row of its kind, zeroed; NULL without memory. */
static void *next_row(struct ledger *ledger, const struct history_rows *rows) {
    char *at = (char *)ledger;
    size_t count;
    void *array;

    memcpy(&array, at + rows->array, sizeof array);
    memcpy(&count, at + rows->count, sizeof count);
    array = history_read_grow(array, count, rows->size);
    if (array == NULL)
        return NULL;
    memcpy(at + rows->array, &array, sizeof array);
    return (char *)array + count * rows->size;
}

static const char *history_read_row(struct reader *reader, const struct history_line *line,
                                    const struct history_rows *rows) {
    const char *wrong;
    size_t count;
    void *row;

    if (!reader->is_in_round || reader->ledger == NULL)
        return "it belongs to no product";
    row = next_row(reader->ledger, rows);
    if (row == NULL)
        return no_memory;
    wrong = history_line_read(line, rows->fields, row, reader->wrong);
    if (wrong != NULL)
        return wrong;
    memcpy(&count, (char *)reader->ledger + rows->count, sizeof count);
    count++;
    memcpy((char *)reader->ledger + rows->count, &count, sizeof count);
    return NULL;
}

/* ---- lines */

static const struct {
    const char *type;
    const char *(*read)(struct reader *reader, const struct history_line *line);
    bool is_in_round;
} readers[] = {{"request", history_read_request, true},
               {"event", read_event, true},
               {"product", read_product, true},
               {"round", read_round, false},
               {"end", read_end, true},
               {"run", history_read_run, false}};

static const char *read_line(struct reader *reader, const char *text, size_t length) {
    struct history_line line;
    const char *wrong = history_line_cut(&line, text, length, reader->wrong);

    if (wrong != NULL)
        return wrong;
    for (size_t i = 0; i < HISTORY_ROWS; i++)
        if (history_line_is(&line, history_rows[i].type))
            return history_read_row(reader, &line, &history_rows[i]);
    for (size_t i = 0; i < sizeof readers / sizeof readers[0]; i++)
        if (history_line_is(&line, readers[i].type))
            return readers[i].is_in_round && !reader->is_in_round ? "it stands outside of a round"
                                                                  : readers[i].read(reader, &line);
    return "its type is unknown";
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
