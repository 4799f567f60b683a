/* Reads a history line by line. A history of a million orders has three million lines, so a line is
 * cut into its members without a tree of JSON. jansson reads only nested values, texts with escapes
 * or beyond ASCII, and broken JSON, for its error message. */
#include "history.h"

#include "history_fields.h"
#include "json_read.h"
#include "ledger.h"
#include "number.h"
#include "utf8.h"
#include "uuid.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define ITEMS_MAX       1000
#define RATE_MAX        1000000
#define SPAN_MAX_NS     (INT64_C(100) * 24 * 3600 * 1000000000)

#define HISTORY_MEMBERS 24

/* The members of a line, inside its text: keys without their quotes, values with them. */
struct history_member {
    const char *key, *value;
    size_t key_length, length;
};
struct history_line {
    size_t count;
    const struct history_member *type; /* one of `members` */
    struct history_member members[HISTORY_MEMBERS];
};

/* Stores a number, a word or a flag. */
static void history_line_set_number(const struct history_field *field, int64_t value, void *at) {
    if (field->size == sizeof(bool))
        *(bool *)at = value != 0;
    else if (field->size == sizeof(int16_t))
        *(int16_t *)at = (int16_t)value;
    else if (field->size == sizeof(uint32_t))
        *(uint32_t *)at = (uint32_t)value;
    else
        *(int64_t *)at = value;
}

/* ---- cutting a line into members */

static const char *skip_space(const char *at) {
    while (*at == ' ' || *at == '\t' || *at == '\n' || *at == '\r')
        at++;
    return at;
}

/* Returns the place after the string at `at`, or NULL. An even number of backslashes precedes its
 * last quote. */
static const char *string_end(const char *at) {
    bool is_escaped;

    do {
        at = strchr(at + 1, '"');
        is_escaped = false;
        for (const char *before = at; before != NULL && before[-1] == '\\'; before--)
            is_escaped = !is_escaped;
    } while (is_escaped);
    return at != NULL ? at + 1 : NULL;
}

/* Returns the place after the value at `at`, or NULL. The reader of its field checks the value. */
static const char *value_end(const char *at) {
    int depth = 0;

    while (depth > 0 ? *at != '\0' : *at > ' ' && *at != ',' && *at != '}') {
        depth += (*at == '{' || *at == '[') - (*at == '}' || *at == ']');
        at = *at == '"' ? string_end(at) : at + 1;
        if (at == NULL)
            return NULL;
    }
    return at;
}

/* Returns the place after the member at `at`, or NULL. */
static const char *cut_member(struct history_member *member, const char *at) {
    const char *end = *at == '"' ? string_end(at) : NULL;

    if (end == NULL)
        return NULL;
    member->key = at + 1;
    member->key_length = (size_t)(end - at) - 2;
    at = skip_space(end);
    if (*at != ':')
        return NULL;
    member->value = skip_space(at + 1);
    end = value_end(member->value);
    member->length = end != NULL ? (size_t)(end - member->value) : 0;
    return end;
}

/* Returns the place after the object. NULL: it is no object, or has more members than any line. */
static const char *cut_object(struct history_line *line, const char *at) {
    line->count = 0;
    at = skip_space(at);
    if (*at != '{')
        return NULL;
    do {
        if (line->count == HISTORY_MEMBERS)
            return NULL;
        at = cut_member(&line->members[line->count++], skip_space(at + 1));
        if (at == NULL)
            return NULL;
        at = skip_space(at);
    } while (*at == ',');
    return *at == '}' ? skip_space(at + 1) : NULL;
}

static bool is_text_of(const struct history_member *member, const char *text) {
    const size_t length = strlen(text);

    return member->length == length + 2 && member->value[0] == '"' &&
           member->value[length + 1] == '"' && memcmp(member->value + 1, text, length) == 0;
}

static bool is_key_of(const struct history_member *member, const char *key) {
    return *member->key == *key && strncmp(member->key, key, member->key_length) == 0 &&
           key[member->key_length] == '\0';
}

/* Cuts the line into members, which stay in `text`. text[length] must be a NUL. */
static int history_line_cut(struct history_line *line, const char *text, size_t length,
                            struct why *why) {
    const bool is_whole = cut_object(line, text) == text + length;
    json_error_t error;
    json_t *json;

    assert(text[length] == '\0');
    for (size_t i = 0; is_whole && i < line->count; i++)
        if (is_key_of(&line->members[i], "type")) {
            line->type = &line->members[i];
            return 0;
        }
    json = json_read_as_is(text, length, &error);
    if (json == NULL)
        return why_set(why, "it is no JSON: %.100s", error.text);
    json_decref(json);
    return why_set(why,
                   line->count == HISTORY_MEMBERS ? "it has too many members" : "it has no type");
}

static bool history_line_is(const struct history_line *line, const char *type) {
    return is_text_of(line->type, type);
}

/* ---- reading members */

/* Copies plain text; jansson reads text with escapes or beyond ASCII. */
static bool history_line_read_string(const struct history_member *member, char *to, size_t size) {
    const char *text = member->value + 1;
    size_t plain = 0;
    json_t *json;

    if (*member->value != '"')
        return false;
    while (text[plain] >= ' ' && text[plain] <= '~' && text[plain] != '"' && text[plain] != '\\')
        plain++;
    if (plain + 2 == member->length && plain < size) {
        *(char *)mempcpy(to, text, plain) = '\0';
        return true;
    }
    json = json_read_string(member->value, member->length);
    if (json == NULL)
        return false;
    (void)snprintf(to, size, "%s", json_string_value(json));
    utf8_make_printable(to);
    json_decref(json);
    return true;
}

/* Copies a text of exactly this length; its own reader checks the content. */
static bool read_exact(const struct history_member *member, char *to, size_t length) {
    if (member->length != length + 2 || *member->value != '"')
        return false;
    *(char *)mempcpy(to, member->value + 1, length) = '\0';
    return true;
}

static bool read_moment(const struct history_member *member, char to[LEDGER_TIME]) {
    if (read_exact(member, to, 0))
        return true;
    return read_exact(member, to, LEDGER_TIME - 1) && ledger_is_time(to);
}

/* Sums up below zero: the negative range has one more number. */
static bool history_line_read_number(const struct history_field *field,
                                     const struct history_member *member, void *to) {
    const char *at = member->value, *end = at + member->length;
    const bool is_negative = *at == '-';
    int64_t sum = 0;

    at += is_negative;
    if (at == end || (*at == '0' && end - at > 1))
        return false;
    for (; at < end; at++)
        if (*at < '0' || *at > '9' || __builtin_mul_overflow(sum, 10, &sum) ||
            __builtin_sub_overflow(sum, *at - '0', &sum))
            return false;
    if (!is_negative && __builtin_sub_overflow(0, sum, &sum))
        return false;
    history_line_set_number(field, sum, to);
    return sum >= field->low && sum <= field->high;
}

static bool read_word(const struct history_field *field, const struct history_member *member,
                      void *to) {
    for (int64_t i = 0; i <= field->high; i++)
        if (is_text_of(member, field->words[i])) {
            history_line_set_number(field, i, to);
            return true;
        }
    return false;
}

static bool history_line_is_word(const struct history_member *member, const char *word) {
    return member->length == strlen(word) && memcmp(member->value, word, member->length) == 0;
}

static bool history_line_read_value(const struct history_field *field,
                                    const struct history_member *member, void *to) {
    switch (field->type) {
    case HISTORY_STRING:
        return history_line_read_string(member, to, field->size);
    case HISTORY_MOMENT:
        return read_moment(member, to);
    case HISTORY_UUID:
        return read_exact(member, to, UUID_TEXT - 1) && uuid_parse(to, to) == 0;
    case HISTORY_NUMBER:
        return history_line_read_number(field, member, to);
    case HISTORY_WORD:
        return read_word(field, member, to);
    case HISTORY_FLAG:
        *(bool *)to = history_line_is_word(member, "true");
        return *(bool *)to || history_line_is_word(member, "false");
    case HISTORY_JSON:
        *(json_t **)to = json_read_as_is(member->value, member->length, NULL);
        return *(json_t **)to != NULL;
    }
    return false;
}

/* Most lines follow the order of the table, so the search begins at `next`. */
static const struct history_field *find_field(const struct history_field *fields,
                                              const struct history_field *next,
                                              const struct history_member *member) {
    for (const struct history_field *field = next; field->key != NULL; field++)
        if (is_key_of(member, field->key))
            return field;
    for (const struct history_field *field = fields; field < next; field++)
        if (is_key_of(member, field->key))
            return field;
    return NULL;
}

static int blame(struct why *why, const char *key, size_t length, const char *what) {
    (void)why_set(why, "its \"%.*s\" %s", (int)(length < 64 ? length : 64), key, what);
    utf8_make_printable(why->text);
    return -1;
}

/* Refuses a member that is missing, given twice, unknown, of another type or out of range. */
static int history_line_read(const struct history_line *line, const struct history_field *fields,
                             void *to, struct why *why) {
    const struct history_field *next = fields;
    uint32_t given = 0; /* a bit for each field */

    for (size_t i = 0; i < line->count; i++) {
        const struct history_member *member = &line->members[i];
        const struct history_field *field = find_field(fields, next, member);
        const uint32_t bit = field != NULL ? UINT32_C(1) << (field - fields) : 0;

        if (member == line->type)
            continue;
        if (field == NULL || (given & bit) != 0)
            return blame(why, member->key, member->key_length,
                         field == NULL ? "is unknown" : "is given twice");
        given |= bit;
        next = field + 1;
        if (!history_line_read_value(field, member, (char *)to + field->offset))
            return blame(why, member->key, member->key_length,
                         "is of another type or out of range");
    }
    for (const struct history_field *field = fields; field->key != NULL; field++) {
        if ((given & UINT32_C(1) << (field - fields)) != 0)
            continue;
        if (!field->is_optional)
            return blame(why, field->key, strlen(field->key), "is missing");
        if (history_field_is_text(field))
            ((char *)to)[field->offset] = '\0';
        else
            history_line_set_number(field, field->usual, (char *)to + field->offset);
    }
    return 0;
}

/* ---- the history so far: each reader of a line adds to it; 0, or -1 and reader->why */

struct reader {
    struct history *history;
    const char *folder;
    bool has_run;
    bool is_in_round;      /* history->rounds[history->count] is being read */
    struct ledger *ledger; /* of the last product line, or NULL */
    size_t products;       /* product lines in this round */
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
        threshold_parse(options->threshold, &options->threshold_list, why) != 0)
        return -1;
    return fault_list_parse(options->fault, INT64_MAX, &options->fault_list, why);
}

static int history_read_run(struct reader *reader, const struct history_line *line) {
    struct history_run run = {.settings = NULL};
    int code;

    if (reader->has_run)
        return why_set(&reader->why, "a run line came before");
    reader->has_run = true;
    code = history_line_read(line, history_run, &run, &reader->why);
    if (code == 0)
        code = take_run(&run, reader->history, &reader->why);
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
 * follows from `count`: 16, doubled whenever it is full. Returns NULL without memory; then the array
 * is unchanged. */
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
    /* Like the run: many requests go to disk, beside the history, or else stay in memory. */
    if (begin->requests > RECORD_MEMORY)
        round->recorder = recorder_make_long((size_t)begin->requests, reader->folder);
    if (round->recorder == NULL)
        round->recorder = recorder_make((size_t)begin->requests);
    if (round->recorder == NULL)
        return why_set(&reader->why, "out of memory");
    round->recorder->planned = (size_t)begin->planned;
    round->recorder->late_launches = (size_t)begin->late_launches;
    if (read_instances(round->recorder, begin->instances, &reader->why) != 0)
        return -1;
    return read_products(round, begin->products, &reader->why);
}

static int read_round(struct reader *reader, const struct history_line *line) {
    struct history *history = reader->history;
    struct history_round begin = {.requests = 0};
    struct round *rounds;
    int code;

    if (!reader->has_run || reader->is_in_round)
        return why_set(&reader->why, reader->has_run ? "the round before it has no end"
                                                     : "the run line is missing");
    rounds = history_read_grow(history->rounds, history->count, sizeof *rounds);
    if (rounds == NULL)
        return why_set(&reader->why, "out of memory");
    history->rounds = rounds;
    reader->is_in_round = true;
    reader->ledger = NULL;
    reader->products = 0;
    code = history_line_read(line, history_round, &begin, &reader->why);
    if (code == 0)
        code = begin_round(reader, &begin, &rounds[history->count]);
    json_decref(begin.instances);
    json_decref(begin.products);
    return code;
}

static int read_end(struct reader *reader, const struct history_line *line) {
    struct round *round = round_of(reader);

    if (history_line_read(line, history_end, round, &reader->why) != 0)
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

static int history_read_request(struct reader *reader, const struct history_line *line) {
    struct round *round = round_of(reader);
    struct record record;

    if (round->recorder->ended == round->recorder->size)
        return why_set(&reader->why, "the round has more requests than its first line says");
    if (history_line_read(line, history_request, &record, &reader->why) != 0)
        return -1;
    if (record.item >= round->items || record.instance >= (int)round->recorder->instance_count)
        return why_set(&reader->why, "its item or instance is out of range");
    recorder_add(round->recorder, &record);
    return 0;
}

static int read_event(struct reader *reader, const struct history_line *line) {
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

/* ---- the ledger */

static int read_product(struct reader *reader, const struct history_line *line) {
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

static int history_read_row(struct reader *reader, const struct history_line *line,
                            const struct history_rows *rows) {
    size_t count;
    void *row;

    if (!reader->is_in_round || reader->ledger == NULL)
        return why_set(&reader->why, "it belongs to no product");
    row = next_row(reader->ledger, rows);
    if (row == NULL)
        return why_set(&reader->why, "out of memory");
    if (history_line_read(line, rows->fields, row, &reader->why) != 0)
        return -1;
    memcpy(&count, (char *)reader->ledger + rows->count, sizeof count);
    count++;
    memcpy((char *)reader->ledger + rows->count, &count, sizeof count);
    return 0;
}

/* ---- lines */

static const struct {
    const char *type;
    int (*read)(struct reader *reader, const struct history_line *line);
    bool is_in_round;
} readers[] = {{"request", history_read_request, true},
               {"event", read_event, true},
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
static int read_lines(struct reader *reader, FILE *from, const char *path, struct why *why) {
    char *line = NULL;
    size_t size = 0, number = 0;
    ssize_t length;
    int code = 0;

    while (code == 0 && (length = getline(&line, &size, from)) > 0) {
        number++;
        reader->history->is_cut = line[length - 1] != '\n';
        if (!reader->history->is_cut)
            code = read_line(reader, line, (size_t)length);
    }
    free(line);
    if (code != 0)
        return why_set(why, "%s line %zu: %s", path, number, reader->why.text);
    if (ferror(from))
        return why_set(why, "%s: %s", path, strerror(errno));
    if (!reader->has_run)
        return why_set(why, "%s: its first line must have the type run", path);
    return 0;
}

int history_load(struct history *history, const char *folder, struct why *why) {
    struct reader reader = {.history = history, .folder = folder};
    char path[1100];
    FILE *from;
    int rc;

    memset(history, 0, sizeof *history);
    snprintf(path, sizeof path, "%s/history.ndjson", folder);
    from = fopen(path, "re");
    if (from == NULL)
        return why_set(why, "%s: %s", path, strerror(errno));
    rc = read_lines(&reader, from, path, why);
    (void)fclose(from);
    if (reader.is_in_round) { /* its last lines are missing */
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
