/* Reads a history line by line. */
#include "history.h"

#include "folder.h"
#include "history_fields.h"
#include "history_line.h"
#include "history_load.h"
#include "ledger.h"
#include "number.h"
#include "steps.h"
#include "utf8.h"
#include "uuid.h"

#include <assert.h>
#include <errno.h>
#include <libgen.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define ITEMS_MAX   1000
#define RATE_MAX    1000000
#define SPAN_MAX_NS (INT64_C(100) * 24 * 3600 * 1000000000)

/* ---- the history so far: each reader of a line adds to it; 0, or -1 and reader->why */

struct reader {
    struct history *history;
    const char *folder;
    bool has_run;
    bool is_in_round;      /* history->rounds[history->count] is being read */
    struct ledger *ledger; /* of the last product line, or NULL */
    size_t products;       /* product lines in this round */
    size_t next;           /* the request that may have the key of the next sale */
    struct why why;        /* the error of a line */
};

/* ---- the first line */

static int history_read_copy(char *to, size_t size, const char *text) {
    int length = snprintf(to, size, "%s", text);

    utf8_make_printable(to);
    return length >= 0 && (size_t)length < size ? 0 : -1;
}

static int history_read_strategies(const json_t *json, struct options *options, struct why *why) {
    struct strategy_list *list = &options->list;

    if (json_array_size(json) == 0 || json_array_size(json) > STRATEGY_LIST_MAX)
        return why_set(why, "it has no strategies, or too many");
    for (size_t i = 0; i < json_array_size(json); i++) {
        const char *name, *given, *spec, *expected;
        struct strategy_item *item = &list->items[list->count++];
        json_error_t error;

        if (json_unpack_ex(json_array_get(json, i), &error, 0, "{s:s, s:s, s:s, s:s}", "name",
                           &name, "given", &given, "spec", &spec, "expected", &expected) != 0)
            return why_set(why, "%.200s", error.text);
        if (history_read_copy(item->name, sizeof item->name, name) != 0 ||
            history_read_copy(item->given, sizeof item->given, given) != 0 ||
            history_read_copy(item->spec, sizeof item->spec, spec) != 0)
            return why_set(why, "the spec of a strategy is too long");
        if (expect_read(expected, &options->expectations[i], why) != 0)
            return why_set(why, "it expects an unknown verdict");
    }
    return 0;
}

static int read_shape(const json_t *stages, struct options *options, struct why *why) {
    struct plan_shape *shape = &options->shape;

    shape->count = (size_t)options->requests;
    shape->seed = (uint64_t)options->seed;
    shape->items = (uint32_t)options->items;
    if (plan_parse_arrival(options->arrival, &shape->arrival) != 0 ||
        plan_parse_skew(options->skew, &shape->zipf) != 0 ||
        number_read_part(options->dup_rate, &shape->dup_rate) != 0)
        return why_set(why, "its arrival, skew or dup_rate cannot be read");
    if (json_array_size(stages) > PLAN_STAGES)
        return why_set(why, "it has too many stages");
    for (size_t i = 0; i < json_array_size(stages); i++) {
        struct plan_stage *stage = &shape->stages[shape->stage_count++];
        json_int_t span_ns;
        json_error_t error;

        if (json_unpack_ex(json_array_get(stages, i), &error, 0, "[I, F, F]", &span_ns,
                           &stage->from, &stage->to) != 0)
            return why_set(why, "%.200s", error.text);
        if (span_ns < 0 || span_ns > SPAN_MAX_NS ||
            !(stage->from >= 0 && stage->from <= RATE_MAX) ||
            !(stage->to >= 0 && stage->to <= RATE_MAX))
            return why_set(why, "its stages are out of range");
        stage->span_ns = span_ns;
    }
    return 0;
}

static int take_run(const struct history_run *run, struct history *history, struct why *why) {
    struct options *options = &history->options;

    if (run->version != HISTORY_VERSION)
        return why_set(why, "its version is %d, and this program reads version %d",
                       (int)run->version, HISTORY_VERSION);
    history->started_us = run->started_us;
    if (option_read_history(run->settings, options, why) != 0 ||
        history_read_strategies(run->strategies, options, why) != 0 ||
        read_shape(run->stages, options, why) != 0 ||
        threshold_parse(options->threshold, &options->threshold_list, why) != 0 ||
        (run->shop != NULL && shop_about_read(run->shop, &options->about, why) != 0))
        return -1;
    return fault_list_parse(options->fault, INT64_MAX, &options->fault_list, why);
}

static int history_read_run(struct reader *reader, struct history_line *line) {
    struct history_run run = {.settings = NULL};
    int code;

    if (reader->has_run)
        return why_set(&reader->why, "a run line came before");
    reader->has_run = true;
    code = history_line_read(line, history_run, &run, &reader->why);
    if (code == 0)
        code = take_run(&run, reader->history, &reader->why);
    json_decref(run.shop);
    json_decref(run.settings);
    json_decref(run.strategies);
    json_decref(run.stages);
    return code;
}

static struct round *round_of(const struct reader *reader) {
    assert(reader->is_in_round);
    return &reader->history->rounds[reader->history->count];
}

/* Returns the array, which may move, with a zeroed element after its `count` elements. Its capacity
 * follows from `count`: 16, doubled whenever it is full. Returns NULL without memory; then the
 * array is unchanged. */
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

static int read_instances(struct recorder *recorder, const json_t *json, struct why *why) {
    for (size_t i = 0; i < json_array_size(json); i++) {
        const char *name = json_string_value(json_array_get(json, i));

        if (name == NULL || recorder_instance(recorder, name) != (int16_t)i)
            return why_set(why, "its instances cannot be read");
    }
    return 0;
}

static int read_products(struct round *round, const json_t *json, struct why *why) {
    round->items = json_array_size(json);
    if (round->items == 0 || round->items > ITEMS_MAX)
        return why_set(why, "it has no products, or too many");
    round->products = calloc(round->items, sizeof *round->products);
    if (round->products == NULL)
        return why_set(why, "out of memory");
    for (size_t i = 0; i < round->items; i++) {
        const char *id = json_string_value(json_array_get(json, i));

        /* The id is empty in a run without judgement, because that makes no product. */
        if (id == NULL || (id[0] != '\0' && uuid_parse(id, round->products[i].id) != 0))
            return why_set(why, "the id of a product is no UUID");
    }
    return 0;
}

static int begin_round(struct reader *reader, const struct history_round *begin,
                       struct round *round) {
    const struct options *options = &reader->history->options;

    if (begin->round.strategy >= options->list.count || begin->requests > begin->planned)
        return why_set(&reader->why, "its strategy or requests are out of range");
    *round = begin->round;
    round->item = &options->list.items[round->strategy];
    round->faults = &options->fault_list;
    round->late_ns = options->late_ns;
    round->stuck_ns = options->stuck_after_ns;
    round->is_keyless = options->keyless;
    round->recorder = recorder_make_past((size_t)begin->requests, reader->folder);
    if (round->recorder == NULL)
        return why_set(&reader->why, "out of memory");
    round->recorder->planned = (size_t)begin->planned;
    round->recorder->late_launches = (size_t)begin->late_launches;
    round->recorder->start_ns = begin->start_ns;
    if (read_instances(round->recorder, begin->instances, &reader->why) != 0)
        return -1;
    return read_products(round, begin->products, &reader->why);
}

static int read_round(struct reader *reader, struct history_line *line) {
    struct history *history = reader->history;
    struct history_round *begin; /* on the heap: it would take half of a fiber's stack */
    struct round *rounds;
    int code;

    if (!reader->has_run || reader->is_in_round)
        return why_set(&reader->why, reader->has_run ? "the round before it has no end"
                                                     : "the run line is missing");
    rounds = history_read_grow(history->rounds, history->count, sizeof *rounds);
    if (rounds == NULL)
        return why_set(&reader->why, "out of memory");
    history->rounds = rounds;
    begin = calloc(1, sizeof *begin);
    if (begin == NULL)
        return why_set(&reader->why, "out of memory");
    reader->is_in_round = true;
    reader->ledger = NULL;
    reader->products = 0;
    reader->next = 0;
    code = history_line_read(line, history_round, begin, &reader->why);
    if (code == 0)
        code = begin_round(reader, begin, &rounds[history->count]);
    json_decref(begin->instances);
    json_decref(begin->products);
    free(begin);
    return code;
}

static int read_end(struct reader *reader, struct history_line *line) {
    struct round *round = round_of(reader);

    if (history_line_read(line, history_end, round, &reader->why) != 0)
        return -1;
    if (round->steps != NULL && steps_check(round->steps, &reader->why) != 0)
        return -1;
    if (round->recorder->ended != round->recorder->size)
        return why_set(&reader->why, "the round has fewer requests than its first line says");
    if (reader->products != 0 && reader->products != round->items)
        return why_set(&reader->why, "the ledger of a product is missing");
    for (size_t i = 0; i < reader->products; i++)
        ledger_sort(&round->ledgers[i]);
    event_list_sort(&round->events);
    assert(round->item != NULL && round->products != NULL);
    reader->is_in_round = false;
    reader->history->count++;
    return 0;
}

/* ---- requests and events */

static int history_read_request(struct reader *reader, struct history_line *line) {
    struct round *round = round_of(reader);
    struct record record;

    if (round->recorder->ended == round->recorder->size)
        return why_set(&reader->why, "the round has more requests than its first line says");
    line->texts = &round->recorder->texts;
    record.key.room[0] = '\0'; /* the order's id may come first, and is compared with it */
    if (history_line_read(line, history_request, &record, &reader->why) != 0)
        return -1;
    if (record.item >= round->items || record.instance >= (int)round->recorder->instance_count)
        return why_set(&reader->why, "its item or instance is out of range");
    recorder_add(round->recorder, &record);
    return 0;
}

static int read_event(struct reader *reader, struct history_line *line) {
    struct round *round = round_of(reader);
    struct event *event = event_add(&round->events);

    if (event == NULL)
        return why_set(&reader->why, "out of memory");
    if (history_line_read(line, history_event, event, &reader->why) != 0)
        return -1;
    if (event->item >= round->items)
        return why_set(&reader->why, "its item is out of range");
    return 0;
}

static int read_clock(struct reader *reader, struct history_line *line) {
    struct clock_sample *sample = round_add_sample(round_of(reader));

    if (sample == NULL)
        return why_set(&reader->why, "out of memory");
    return history_line_read(line, history_clock, sample, &reader->why);
}

static int read_doubt(struct reader *reader, struct history_line *line) {
    struct round *round = round_of(reader);

    if (round->doubt_count == ROUND_DOUBTS)
        return why_set(&reader->why, "the round has more than %d doubts", ROUND_DOUBTS);
    return history_line_read(line, history_doubt, &round->doubts[round->doubt_count++],
                             &reader->why);
}

/* ---- the ledger */

static int read_product(struct reader *reader, struct history_line *line) {
    struct history_product product = {.item = 0};
    struct round *round = round_of(reader);

    if (history_line_read(line, history_product, &product, &reader->why) != 0)
        return -1;
    if (product.item != (int64_t)reader->products || reader->products == round->items)
        return why_set(&reader->why, "it is not the next product");
    if (round->ledgers == NULL)
        round->ledgers = calloc(round->items, sizeof *round->ledgers);
    if (round->ledgers == NULL)
        return why_set(&reader->why, "out of memory");
    reader->ledger = &round->ledgers[reader->products++];
    *reader->ledger = product.ledger;
    return 0;
}

/* The place of the next row, zeroed; NULL without memory. */
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

/* An order follows the sales, and has most often the id of the sale at its place. */
static const char *find_sale(void *keeper, const char *id) {
    const struct ledger *ledger = ((const struct reader *)keeper)->ledger;
    const char *likely = ledger->order_count < ledger->sale_count
                             ? ledger->sales[ledger->order_count].order_id
                             : NULL;

    return likely != NULL && strcmp(likely, id) == 0 ? likely : NULL;
}

#define STAMP 13 /* characters of a UUID of version 7 that tell its milliseconds */
#define AHEAD 64 /* requests of one millisecond that are looked at */

/* A sale has most often the key of a request. Sales come in the order of their ids, and the keys of
 * requests nearly so: in the order of their milliseconds. */
static const char *find_key(void *keeper, const char *id) {
    struct reader *reader = keeper;
    const struct recorder *recorder = round_of(reader)->recorder;
    size_t *next = &reader->next;

    while (*next < recorder->ended && strncmp(record_key(&recorder->records[*next]), id, STAMP) < 0)
        ++*next;
    for (size_t i = *next; i < recorder->ended && i < *next + AHEAD; i++) {
        const char *key = record_key(&recorder->records[i]);

        if (strcmp(key, id) == 0)
            return key;
        if (strncmp(key, id, STAMP) != 0)
            break;
    }
    return NULL;
}

static void find_ids(struct reader *reader, struct history_line *line,
                     const struct history_rows *rows) {
    line->keeper = reader;
    if (rows->array == offsetof(struct ledger, orders))
        line->find_kept = find_sale;
    else if (round_of(reader)->items == 1) /* each product more would be one more walk */
        line->find_kept = find_key;
}

/* Reads the line into the row. */
static int take_row(struct reader *reader, const struct history_line *line,
                    const struct history_rows *rows, void *row) {
    struct history_sale sale = {.extra.key = NULL};

    if (rows->array != offsetof(struct ledger, sales))
        return history_line_read(line, rows->fields, row, &reader->why);
    if (history_line_read(line, rows->fields, &sale, &reader->why) != 0)
        return -1;
    if (ledger_keep_extra(reader->ledger, &sale.sale, &sale.extra) != 0)
        return why_set(&reader->why, "out of memory");
    memcpy(row, &sale.sale, sizeof sale.sale);
    return 0;
}

static int history_read_row(struct reader *reader, struct history_line *line,
                            const struct history_rows *rows) {
    size_t count;
    void *row;

    if (!reader->is_in_round || reader->ledger == NULL)
        return why_set(&reader->why, "it belongs to no product");
    row = next_row(reader->ledger, rows);
    if (row == NULL)
        return why_set(&reader->why, "out of memory");
    line->texts = &reader->ledger->texts;
    line->ledger = reader->ledger;
    find_ids(reader, line, rows);
    if (take_row(reader, line, rows, row) != 0)
        return -1;
    memcpy(&count, (char *)reader->ledger + rows->count, sizeof count);
    count++;
    memcpy((char *)reader->ledger + rows->count, &count, sizeof count);
    return 0;
}

/* ---- lines */

static const struct {
    const char *type;
    int (*read)(struct reader *reader, struct history_line *line);
    bool is_in_round;
} readers[] = {{"request", history_read_request, true},
               {"event", read_event, true},
               {"clock", read_clock, true},
               {"doubt", read_doubt, true},
               {"product", read_product, true},
               {"round", read_round, false},
               {"end", read_end, true},
               {"run", history_read_run, false}};

static int read_line(struct reader *reader, const char *text, size_t length) {
    struct history_line line;

    if (history_line_cut(&line, text, length, &reader->why) != 0)
        return -1;
    for (size_t i = 0; i < HISTORY_ROWS; i++)
        if (history_line_is(&line, history_rows[i].type))
            return history_read_row(reader, &line, &history_rows[i]);
    for (size_t i = 0; i < sizeof readers / sizeof readers[0]; i++) {
        if (!history_line_is(&line, readers[i].type))
            continue;
        if (readers[i].is_in_round && !reader->is_in_round)
            return why_set(&reader->why, "it is outside of a round");
        return readers[i].read(reader, &line);
    }
    return why_set(&reader->why, "its type is unknown");
}

/* If the last line has no newline, the file was cut while it was written. */
static int read_run(struct reader *reader, struct history_lines *lines, const char *text,
                    size_t length) {
    char *next;
    int code;

    do {
        reader->history->is_cut = lines->is_cut;
        if (!lines->is_cut && read_line(reader, text, length) != 0)
            return -1;
        code = history_lines_next(lines, &next, &length, &reader->why);
        text = next;
    } while (code > 0);
    return code;
}

/* The first line says which kind of history it is. */
static int read_lines(struct reader *reader, struct history_lines *lines) {
    struct history_line line;
    size_t length;
    char *text;
    int code = history_lines_next(lines, &text, &length, &reader->why);

    if (code > 0 && history_line_cut(&line, text, length, &reader->why) == 0 &&
        history_line_is(&line, "load"))
        return load_read(reader->history, lines, &line, reader->folder, &reader->why);
    return code > 0 ? read_run(reader, lines, text, length) : code;
}

static int read_file(struct reader *reader, const char *path, struct why *why) {
    struct history_lines lines = {.from = fopen(path, "re")};
    int code;

    if (lines.from == NULL)
        return why_set(why, "%s: %s", path, strerror(errno));
    code = read_lines(reader, &lines);
    if (code != 0)
        (void)why_set(why, "%s line %zu: %s", path, lines.number, reader->why.text);
    else if (!reader->has_run && !reader->history->is_load)
        code = why_set(why, "%s: its first line must have the type run or load", path);
    history_lines_free(&lines);
    (void)fclose(lines.from);
    return code;
}

int history_load(struct history *history, const char *path, struct why *why) {
    struct reader reader = {.history = history};
    char file[FOLDER_PATH + 20], folder[FOLDER_PATH];
    struct stat status;
    int code;

    memset(history, 0, sizeof *history);
    history->is_file = stat(path, &status) == 0 && !S_ISDIR(status.st_mode);
    snprintf(folder, sizeof folder, "%s", path);
    snprintf(file, sizeof file, history->is_file ? "%s" : "%s/history.ndjson", path);
    reader.folder = history->is_file ? dirname(folder) : folder;
    code = read_file(&reader, file, why);
    if (reader.is_in_round) { /* its last lines are missing */
        history->is_cut = true;
        round_free(&history->rounds[history->count]);
    }
    return code;
}

void history_free(struct history *history) {
    for (size_t i = 0; i < history->count; i++)
        round_free(&history->rounds[i]);
    free(history->rounds);
    option_free(&history->options);
    memset(history, 0, sizeof *history);
}
