/* The reading of a spec such as `redis,ttl=2s,work=2ms`. */
#include "spec.h"

#include "number.h"
#include "strategies.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define TEXT_MAX 200 /* the limit of the column in the database */
#define MS       INT64_C(1000000)

/* The options without fail=. A choice counts as the number of its word. */
enum {
    WORK,
    WAIT,
    TTL,
    SHARDS,
    BORROW,
    DEAL,
    RETURN,
    ACK,
    FENCE,
    REPLICAS,
    HANDOVER,
    CART,
    OPTIONS
};

#define WORDS  2
#define LENGTH number_read_duration, MS
#define IN_MS  " in whole milliseconds"
#define COUNT  number_read_int, 1
#define CHOICE NULL, 1, 0, WORDS - 1

static const struct {
    const char *name;
    int (*parse)(const char *text, int64_t *number); /* or NULL for a choice */
    int64_t unit; /* of the parsed number; the members below are counted in it */
    int64_t least, most, usual;
    const char *range;
    unsigned takes; /* the strategies that have it, 0: all */
    const char *words[WORDS];
} known[OPTIONS] = {
    [WORK] = {"work", LENGTH, 0, 60000, 0, "0ms..60s" IN_MS, 0, {NULL}},
    [WAIT] = {"wait", LENGTH, 0, 60000, 5000, "0ms..60s" IN_MS, 0, {NULL}},
    [TTL] = {"ttl", LENGTH, 10, 3600000, 10000, "10ms..1h" IN_MS, 0, {NULL}},
    [SHARDS] = {"shards", COUNT, 1, 1000, 1, "1..1000", TAKES_SHARDS, {NULL}},
    [BORROW] = {"borrow", CHOICE, 1, "off or on", TAKES_BORROW, {"off", "on"}},
    [DEAL] = {"deal", CHOICE, 0, "even or random", TAKES_DEAL, {"even", "random"}},
    [RETURN] = {"return", CHOICE, 0, "number or count", TAKES_RETURN, {"number", "count"}},
    [ACK] = {"ack", CHOICE, 0, "redis or ledger", TAKES_ACK, {"redis", "ledger"}},
    [FENCE] = {"fence", CHOICE, 0, "off or on", TAKES_FENCE, {"off", "on"}},
    [REPLICAS] = {"replicas", COUNT, 1, 2, 1, "1..2", TAKES_REPLICAS, {NULL}},
    [HANDOVER] = {"handover", COUNT, 0, 1000, 0, "0..1000", TAKES_HANDOVER, {NULL}},
    [CART] = {"cart", CHOICE, 0, "off or on", TAKES_CART, {"off", "on"}},
};

/* A spec while it is read. */
struct reading {
    const char *text;
    struct strategy_spec *spec;
    int64_t values[OPTIONS];
    bool is_given[OPTIONS];
    struct why *why;
};

/* Append a word to a list, unless the word does not fit. */
static void spec_list(char *text, size_t size, const char *word) {
    size_t used = strlen(text);

    if (used + strlen(word) + 2 < size)
        (void)snprintf(text + used, size - used, "%s%s", used > 0 ? ", " : "", word);
}

static int64_t usual_of(const struct strategy *strategy, int which) {
    return which == SHARDS                                           ? strategy->default_shards
           : which == HANDOVER                                       ? strategy->default_handover
           : which == REPLICAS && (strategy->takes & TAKES_ACK) != 0 ? 0
                                                                     : known[which].usual;
}

static bool is_chosen(struct reading *reading, const struct strategy *strategy, const char *name) {
    if (strcmp(name, strategy->name) != 0)
        return false;
    reading->spec->strategy = strategy;
    reading->values[SHARDS] = usual_of(strategy, SHARDS);
    reading->values[HANDOVER] = usual_of(strategy, HANDOVER);
    reading->values[REPLICAS] = usual_of(strategy, REPLICAS);
    return true;
}

/* Find the name in `table`, which ends with NULL, or in `beside`. */
static int read_name(struct reading *reading, const struct strategy *const *table,
                     const struct strategy *beside, const char *name) {
    char names[480] = "";

    for (const struct strategy *const *at = table; *at != NULL; at++) {
        if (is_chosen(reading, *at, name))
            return 0;
        spec_list(names, sizeof names, (*at)->name);
    }
    if (beside != NULL && is_chosen(reading, beside, name))
        return 0;
    if (beside != NULL)
        spec_list(names, sizeof names, beside->name);
    return why_set(reading->why, "unknown strategy \"%.60s\" in \"%.120s\"; strategies: %s", name,
                   reading->text, names);
}

static int parse_choice(const char *const words[WORDS], const char *text, int64_t *number) {
    for (*number = 0; *number < WORDS; ++*number)
        if (strcmp(words[*number], text) == 0)
            return 0;
    return -1;
}

static int parse_value(int which, const char *value, int64_t *number) {
    int64_t unit = known[which].unit;

    assert(unit > 0 && known[which].least <= known[which].most);
    if ((known[which].parse != NULL ? known[which].parse(value, number)
                                    : parse_choice(known[which].words, value, number)) != 0)
        return -1;
    return *number % unit == 0 && *number >= known[which].least * unit &&
                   *number <= known[which].most * unit
               ? 0
               : -1;
}

static int spec_read_value(struct reading *reading, int which, const char *value) {
    const char *name = known[which].name, *range = known[which].range;
    int64_t number;

    if (value == NULL)
        return why_set(reading->why, "option \"%s\" in \"%s\" needs a value: %s", name,
                       reading->text, range);
    if (reading->is_given[which])
        return why_set(reading->why, "option \"%s\" is given twice in \"%s\"", name, reading->text);
    if (parse_value(which, value, &number) != 0)
        return why_set(reading->why, "bad value \"%s\" of option \"%s\" in \"%s\"; it takes %s",
                       value, name, reading->text, range);
    reading->is_given[which] = true;
    reading->values[which] = number / known[which].unit;
    return 0;
}

static bool is_taken(const struct strategy *strategy, int which) {
    return known[which].takes == 0 || (known[which].takes & strategy->takes) != 0;
}

static int read_fail(struct reading *reading, const char *value) {
    struct strategy_spec *spec = reading->spec;
    size_t place = 0;

    while (place < SPEC_FAILPOINTS && spec->failpoints[place].action != FAIL_NOTHING)
        place++;
    if (place == SPEC_FAILPOINTS)
        return why_set(reading->why, "option \"fail\" is given more than %d times in \"%s\"",
                       SPEC_FAILPOINTS, reading->text);
    if (failpoint_parse(value, &spec->failpoints[place], reading->why) != 0)
        return -1;
    assert(strlen(value) < sizeof spec->fail); /* failpoint_parse() has refused a longer one */
    if (place == 0)
        strcpy(spec->fail, value);
    return 0;
}

static int refuse_option(struct reading *reading, const char *name) {
    char names[160] = "";

    for (int i = 0; i < OPTIONS; i++)
        if (is_taken(reading->spec->strategy, i))
            spec_list(names, sizeof names, known[i].name);
    spec_list(names, sizeof names, "fail");
    return why_set(reading->why, "strategy \"%s\" in \"%s\" has no option \"%s\"; its options: %s",
                   reading->spec->strategy->name, reading->text, name, names);
}

static int read_option(struct reading *reading, char *option) {
    const char *name = strsep(&option, "="), *value = option;

    assert(reading->spec->strategy != NULL); /* read_name() came first */
    if (strcmp(name, "fail") == 0)
        return read_fail(reading, value != NULL ? value : "");
    for (int i = 0; i < OPTIONS; i++)
        if (strcmp(name, known[i].name) == 0 && is_taken(reading->spec->strategy, i))
            return spec_read_value(reading, i, value);
    return refuse_option(reading, name);
}

static void take_values(struct reading *reading) {
    const int64_t *values = reading->values;

    reading->spec->options = (struct sale_options){
        .work_ms = values[WORK],
        .wait_ms = values[WAIT],
        .ttl_ms = values[TTL],
        .shards = values[CART] != 0 ? 2 : (int)values[SHARDS],
        .borrows = values[BORROW] != 0,
        .deal = values[DEAL] != 0 ? DEAL_RANDOM : DEAL_EVEN,
        .returns_to_count = values[RETURN] != 0,
        .acknowledges_late = values[ACK] != 0,
        .is_fenced = values[FENCE] != 0,
        .replicas = (int)values[REPLICAS],
        .handover = (int)values[HANDOVER],
        .is_cart = values[CART] != 0,
    };
}

static bool spec_is_printable(const char *text) {
    size_t length = strnlen(text, TEXT_MAX + 1);

    for (size_t i = 0; i < length; i++)
        if (text[i] < ' ' || text[i] > '~')
            return false;
    return length <= TEXT_MAX;
}

static int spec_parse_text(const struct strategy *const *table, const struct strategy *beside,
                           const char *text, struct strategy_spec *spec, struct why *why) {
    struct reading reading = {.text = text, .spec = spec, .why = why};
    char copy[TEXT_MAX + 1];
    char *rest = copy;

    memset(spec, 0, sizeof *spec);
    for (int i = 0; i < OPTIONS; i++)
        reading.values[i] = known[i].usual;
    if (!spec_is_printable(text))
        return why_set(why, "a strategy spec has at most %d characters, all printable ASCII",
                       TEXT_MAX);
    strcpy(copy, text);
    if (read_name(&reading, table, beside, strsep(&rest, ",")) != 0)
        return -1;
    while (rest != NULL)
        if (read_option(&reading, strsep(&rest, ",")) != 0)
            return -1;
    take_values(&reading);
    return 0;
}

int spec_parse(const char *text, struct strategy_spec *spec, struct why *why) {
    return spec_parse_text(strategies, strategies_exercise, text, spec, why);
}

int spec_parse_of(const struct strategy *strategy, const char *text, struct strategy_spec *spec,
                  struct why *why) {
    return spec_parse_text((const struct strategy *const[]){NULL}, strategy, text, spec, why);
}

static void write_option(const struct strategy *strategy, int which, char text[SPEC_OPTION_TEXT]) {
    const char *name = known[which].name;
    int64_t usual = usual_of(strategy, which);

    assert(known[which].parse != NULL || (usual >= 0 && usual < WORDS));
    if (known[which].parse == NULL)
        (void)snprintf(text, SPEC_OPTION_TEXT, "%s=%s", name, known[which].words[usual]);
    else if (known[which].unit == 1)
        (void)snprintf(text, SPEC_OPTION_TEXT, "%s=%" PRId64, name, usual);
    else if (usual > 0 && usual % 1000 == 0)
        (void)snprintf(text, SPEC_OPTION_TEXT, "%s=%" PRId64 "s", name, usual / 1000);
    else
        (void)snprintf(text, SPEC_OPTION_TEXT, "%s=%" PRId64 "ms", name, usual);
}

size_t spec_options(const struct strategy *strategy,
                    char options[SPEC_OPTIONS_MAX][SPEC_OPTION_TEXT]) {
    size_t count = 0;

    static_assert(OPTIONS < SPEC_OPTIONS_MAX, "fail= is one more");
    for (int i = 0; i < OPTIONS; i++)
        if (is_taken(strategy, i))
            write_option(strategy, i, options[count++]);
    (void)snprintf(options[count++], SPEC_OPTION_TEXT, "fail=");
    return count;
}
