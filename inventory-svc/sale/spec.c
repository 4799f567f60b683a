/* The reading of a spec such as `redis,ttl=2s,work=2ms`. */
#include "spec.h"

#include "settings.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define TEXT_MAX 200 /* as the database has it */
#define MS       INT64_C(1000000)

/* The options with a number. */
enum { WORK, WAIT, TTL, SHARDS, NUMBERS };

static const struct {
    const char *name;
    int (*parse)(const char *text, int64_t *number);
    int64_t unit; /* of the number that is parsed; what follows is counted in it */
    int64_t least, most;
    const char *range;
} numbers[NUMBERS] = {
    [WORK] = {"work", settings_parse_duration, MS, 0, 60000, "0ms..60s in whole milliseconds"},
    [WAIT] = {"wait", settings_parse_duration, MS, 0, 60000, "0ms..60s in whole milliseconds"},
    [TTL] = {"ttl", settings_parse_duration, MS, 10, 3600000, "10ms..1h in whole milliseconds"},
    [SHARDS] = {"shards", settings_parse_int, 1, 1, 1000, "1..1000"},
};

/* A spec while it is read. */
struct reading {
    const char *text;
    struct strategy_spec *spec;
    int64_t values[NUMBERS];
    bool is_given[NUMBERS];
    char *message;
};

__attribute__((format(printf, 2, 3))) static int refuse(struct reading *reading, const char *format,
                                                        ...) {
    va_list args;

    va_start(args, format);
    (void)vsnprintf(reading->message, MESSAGE_BYTES, format, args);
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
    const char *name = numbers[which].name, *range = numbers[which].range;
    int64_t unit = numbers[which].unit, number;

    if (value == NULL)
        return refuse(reading, "option \"%s\" in \"%s\" needs a value: %s", name, reading->text,
                      range);
    if (reading->is_given[which])
        return refuse(reading, "option \"%s\" is given twice in \"%s\"", name, reading->text);
    if (numbers[which].parse(value, &number) != 0 || number % unit != 0 ||
        number < numbers[which].least * unit || number > numbers[which].most * unit)
        return refuse(reading, "bad value \"%s\" of option \"%s\" in \"%s\"; it takes %s", value,
                      name, reading->text, range);
    reading->is_given[which] = true;
    reading->values[which] = number / unit;
    return 0;
}

static int read_fail(struct reading *reading, const char *value) {
    struct strategy_spec *spec = reading->spec;

    if (spec->fail[0] != '\0')
        return refuse(reading, "option \"fail\" is given twice in \"%s\"", reading->text);
    if (failpoint_parse(value, &spec->failpoint, reading->message) != 0)
        return -1;
    strcpy(spec->fail, value); /* failpoint_parse() has refused what is too long */
    return 0;
}

static int read_option(struct reading *reading, char *option) {
    const char *name = strsep(&option, "="), *value = option;

    for (int i = 0; i < NUMBERS; i++)
        if (strcmp(name, numbers[i].name) == 0)
            return read_number(reading, i, value);
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

int spec_parse(const char *text, struct strategy_spec *spec, char message[MESSAGE_BYTES]) {
    struct reading reading = {
        .text = text, .spec = spec, .values = {[WAIT] = 5000, [TTL] = 10000}, .message = message};
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
