/* The table of strategies, and the reading of a spec such as `redis,ttl=2s,work=2ms`. */
#include "failpoint.h"
#include "settings.h"
#include "strategy.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define TEXT_MAX 200 /* as the database has it */
#define MS       INT64_C(1000000)

extern const struct strategy strategy_none, strategy_mutex, strategy_redis, strategy_sharded,
    strategy_atomic;

const struct strategy *const strategies[] = {&strategy_none,    &strategy_mutex,  &strategy_redis,
                                             &strategy_sharded, &strategy_atomic, NULL};

const char *outcome_text(enum outcome outcome) {
    static const char *const texts[] = {
#define X(name, text) text,
        OUTCOMES(X)
#undef X
    };

    return texts[outcome];
}

const char *outcome_name(enum outcome outcome) {
    static const char *const names[] = {
#define X(name, text) #name,
        OUTCOMES(X)
#undef X
    };

    return names[outcome];
}

/* The options with a number. */
enum { WORK, WAIT, TTL, SHARDS, NUMBERS };

static const struct {
    const char *name;
    int64_t unit; /* nanoseconds, 0 for a count */
    int64_t least, most;
    const char *range;
} numbers[NUMBERS] = {
    [WORK] = {"work", MS, 0, 60000, "0ms..60s in whole milliseconds"},
    [WAIT] = {"wait", MS, 0, 60000, "0ms..60s in whole milliseconds"},
    [TTL] = {"ttl", MS, 10, 3600000, "10ms..1h in whole milliseconds"},
    [SHARDS] = {"shards", 0, 1, 1000, "1..1000"},
};

/* A spec while it is read. */
struct reading {
    const char *text;
    struct strategy_spec *spec;
    int64_t values[NUMBERS];
    bool is_given[NUMBERS];
    char *why;
    size_t why_size;
};

__attribute__((format(printf, 2, 3))) static int refuse(struct reading *reading, const char *format,
                                                        ...) {
    va_list args;

    va_start(args, format);
    (void)vsnprintf(reading->why, reading->why_size, format, args);
    va_end(args);
    return -1;
}

static int read_name(struct reading *reading, const char *name) {
    char list[160] = "";

    for (const struct strategy *const *at = strategies; *at != NULL; at++) {
        size_t used = strlen(list);

        if (strcmp(name, (*at)->name) == 0) {
            reading->spec->strategy = *at;
            reading->values[SHARDS] = (*at)->default_shards;
            return 0;
        }
        (void)snprintf(list + used, sizeof list - used, "%s%s", used ? ", " : "", (*at)->name);
    }
    return refuse(reading, "unknown strategy \"%s\" in \"%s\"; strategies: %s", name, reading->text,
                  list);
}

static int read_number(struct reading *reading, int which, const char *value) {
    int64_t number;
    int result = numbers[which].unit != 0 ? settings_parse_duration(value, &number)
                                          : settings_parse_int(value, &number);

    if (reading->is_given[which])
        return refuse(reading, "option \"%s\" is given twice in \"%s\"", numbers[which].name,
                      reading->text);
    if (result == 0 && numbers[which].unit != 0) {
        result = number % numbers[which].unit == 0 ? 0 : -1;
        number /= numbers[which].unit;
    }
    if (result != 0 || number < numbers[which].least || number > numbers[which].most)
        return refuse(reading, "bad value \"%s\" of option \"%s\" in \"%s\"; it takes %s", value,
                      numbers[which].name, reading->text, numbers[which].range);
    reading->is_given[which] = true;
    reading->values[which] = number;
    return 0;
}

static int read_fail(struct reading *reading, const char *value) {
    struct failpoint ignored;

    if (reading->spec->fail[0] != '\0')
        return refuse(reading, "option \"fail\" is given twice in \"%s\"", reading->text);
    if (failpoint_parse(value, &ignored, reading->why, reading->why_size) != 0)
        return -1;
    strcpy(reading->spec->fail, value); /* failpoint_parse() has refused what is too long */
    return 0;
}

static int read_option(struct reading *reading, char *name) {
    char *value = strchr(name, '=');

    if (value != NULL)
        *value++ = '\0';
    for (int i = 0; i < NUMBERS; i++)
        if (strcmp(name, numbers[i].name) == 0)
            return value != NULL ? read_number(reading, i, value)
                                 : refuse(reading, "option \"%s\" in \"%s\" needs a value: %s",
                                          name, reading->text, numbers[i].range);
    if (strcmp(name, "fail") == 0)
        return read_fail(reading, value != NULL ? value : "");
    return refuse(reading,
                  "unknown option \"%s\" in \"%s\"; options: work, wait, ttl, shards, fail", name,
                  reading->text);
}

static int take_values(struct reading *reading) {
    const struct strategy *strategy = reading->spec->strategy;

    if (strategy->default_shards == 1 && reading->values[SHARDS] != 1)
        return refuse(reading, "strategy \"%s\" in \"%s\" sells from one row: shards must be 1",
                      strategy->name, reading->text);
    reading->spec->options = (struct sale_options){
        .work_ms = reading->values[WORK],
        .wait_ms = reading->values[WAIT],
        .ttl_ms = reading->values[TTL],
        .shards = (int)reading->values[SHARDS],
    };
    return 0;
}

static bool is_printable(const char *text) {
    size_t length = strnlen(text, TEXT_MAX + 1);

    for (size_t i = 0; i < length; i++)
        if (text[i] < ' ' || text[i] > '~')
            return false;
    return length <= TEXT_MAX;
}

int strategy_parse(const char *text, struct strategy_spec *spec, char *why, size_t why_size) {
    struct reading reading = {.text = text,
                              .spec = spec,
                              .values = {[WAIT] = 5000, [TTL] = 10000},
                              .why = why,
                              .why_size = why_size};
    char copy[TEXT_MAX + 1];
    char *rest = copy;

    memset(spec, 0, sizeof *spec);
    if (!is_printable(text))
        return refuse(&reading, "a strategy spec has at most %d characters, all printable ASCII",
                      TEXT_MAX);
    strcpy(copy, text);
    if (read_name(&reading, strsep(&rest, ",")) != 0)
        return -1;
    while (rest != NULL)
        if (read_option(&reading, strsep(&rest, ",")) != 0)
            return -1;
    return take_values(&reading);
}
