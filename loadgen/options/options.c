/* What has to fit together in the settings, and what follows from them. */
#include "options.h"

#include "number.h"
#include "table.h"

#include <assert.h>
#include <jansson.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#define REQUESTS_MAX        10000000
#define NAME_CHARACTERS     200 /* as the table product takes: it is the name of each */
#define FILES_RESERVED      64  /* for the databases, the loop and the standard streams */
#define RATE_DEFAULT        800 /* as in the table */
#define DURATION_DEFAULT_NS 1000000000

static struct options set;

__attribute__((format(printf, 1, 2))) static enum options_result refuse(const char *format, ...) {
    va_list arguments;

    fprintf(stderr, "loadgen: ");
    va_start(arguments, format);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    fputc('\n', stderr);
    return OPTIONS_BAD;
}

static enum options_result check_thresholds(void) {
    char why[THRESHOLD_WHY];

    if (threshold_parse(set.thresholds, &set.threshold_list, why, sizeof why) != 0)
        return refuse("%s", why);
    for (size_t i = 0; i < set.threshold_list.count && set.is_unjudged; i++) {
        const struct threshold *threshold = &set.threshold_list.items[i];

        if (threshold_needs_verdict(threshold))
            return refuse("--threshold '%s' needs a verdict, and --no-judge gives none",
                          threshold->text);
    }
    if (set.is_aborting && set.threshold_list.count == 0)
        return refuse("--abort-on-fail needs a --threshold that can fail");
    return OPTIONS_OK;
}

/* UTF-8 without control characters, which reach files of lines and terminals. */
static bool is_plain_text(const char *text) {
    json_t *utf8 = json_string(text);
    bool is_plain = utf8 != NULL;

    for (const unsigned char *at = (const unsigned char *)text; *at != '\0'; at++)
        is_plain = is_plain && *at >= 0x20 && *at != 0x7f && !(*at == 0xc2 && at[1] < 0xa0);
    json_decref(utf8);
    return is_plain;
}

static enum options_result check_texts(void) {
    if (!is_plain_text(set.name))
        return refuse("--name is text in UTF-8 without control characters");
    if (table_width(set.name) > NAME_CHARACTERS)
        return refuse("--name has more than 200 characters");
    if (!is_plain_text(set.strategies))
        return refuse("--strategy is text in UTF-8 without control characters");
    if (set.path[0] != '/' || !is_plain_text(set.path) || strchr(set.path, ' ') != NULL)
        return refuse("--path starts with a / and has neither spaces nor control characters");
    return OPTIONS_OK;
}

static enum options_result check_words(void) {
    if (plan_parse_arrival(set.arrival, &set.shape.arrival) != 0)
        return refuse("--arrival is poisson or constant");
    if (plan_parse_skew(set.skew, &set.shape.zipf) != 0)
        return refuse("--skew is uniform, or zipf: with an exponent, such as zipf:1.1");
    if (number_read_part(set.dup_rate, &set.shape.dup_rate) != 0)
        return refuse("--dup-rate is a part of the requests, such as 5%% or 0.05");
    if (set.is_keyless && set.shape.dup_rate > 0)
        return refuse("--keyless sends no key that --dup-rate could repeat");
    if (strcmp(set.output_format, "text") != 0 && strcmp(set.output_format, "json") != 0)
        return refuse("--output-format is text or json");
    if (set.is_unjudged && set.expect[0] != '\0')
        return refuse("--expect needs a verdict, and --no-judge gives none");
    return check_texts() == OPTIONS_OK ? check_thresholds() : OPTIONS_BAD;
}

static enum options_result shape_stages(void) {
    struct plan_shape *shape = &set.shape;
    char why[256];

    if (set.requests > 0)
        return refuse("--stages and --requests exclude each other");
    if (set.rate != RATE_DEFAULT || set.duration_ns != DURATION_DEFAULT_NS)
        return refuse("--stages says the rates and their durations: leave out --rate and "
                      "--duration");
    if (plan_parse_stages(set.stages, shape, why, sizeof why) != 0)
        return refuse("%s", why);
    set.duration_ns = plan_span_ns(shape);
    return OPTIONS_OK;
}

/* The shape of the load: the stages, or one stage of constant rate. */
static enum options_result shape_load(void) {
    struct plan_shape *shape = &set.shape;
    double planned;

    shape->seed = (uint64_t)set.seed;
    shape->items = (uint32_t)set.items;
    shape->stage_count = 1;
    shape->stages[0] = (struct plan_stage){set.duration_ns, (double)set.rate, (double)set.rate};
    if (set.requests > 0)
        shape->stages[0].span_ns = (int64_t)((double)set.requests / (double)set.rate * 1e9);
    if (set.stages[0] != '\0' && shape_stages() != OPTIONS_OK)
        return OPTIONS_BAD;
    planned = set.requests > 0 ? (double)set.requests : plan_expected(shape) + 0.5;
    if (planned < 1 || planned > REQUESTS_MAX)
        return refuse("--rate times --duration, or --stages, is to be 1 to 10,000,000 requests");
    set.requests = (int64_t)planned;
    shape->count = (size_t)set.requests;
    return OPTIONS_OK;
}

static enum options_result make_list(void) {
    const struct strategy_option common[] = {
        {"work", set.work}, {"wait", set.wait}, {"ttl", set.ttl}, {NULL, NULL}};
    char why[256];
    int64_t ns;

    for (const struct strategy_option *option = common; option->name != NULL; option++)
        if (option->value[0] != '\0' && settings_parse_duration(option->value, &ns) != 0)
            return refuse("--%s %.40s is no duration; write it like 2ms or 1.5s", option->name,
                          option->value);
    if (strategy_list_parse(set.strategies, common, &set.list, why, sizeof why) != 0 ||
        expect_parse(set.expect, &set.list, set.expectations, why, sizeof why) != 0)
        return refuse("%s", why);
    if (set.command == COMMAND_CREATE && set.list.count != 1)
        return refuse("create makes one product: name one --strategy");
    return OPTIONS_OK;
}

/* Each connection is a file; the soft limit is often 1,024, and the hard one is ours to use. */
static void fit_connections(void) {
    struct rlimit files;
    int64_t most;

    if (getrlimit(RLIMIT_NOFILE, &files) != 0)
        return;
    files.rlim_cur = files.rlim_max;
    (void)setrlimit(RLIMIT_NOFILE, &files);
    if (files.rlim_max == RLIM_INFINITY || files.rlim_max > INT32_MAX)
        return;
    most = (int64_t)files.rlim_max - FILES_RESERVED;
    if (set.connections > most)
        set.connections = most > 1 ? most : 1;
}

static const struct {
    const char *word;
    int least, most; /* arguments after it */
    const char *usage;
} commands[] = {
#define X(id, word, text, least, most, usage) [COMMAND_##id] = {word, least, most, "loadgen" usage},
    COMMANDS(X)
#undef X
};
#define COMMAND_COUNT (sizeof commands / sizeof commands[0])

static enum options_result check_command(int argc, char **argv) {
    size_t command = COMMAND_FIRE;

    set.arguments = argc > 1 ? argv + 2 : argv + 1;
    set.argument_count = argc > 1 ? argc - 2 : 0;
    if (argc > 1)
        for (command++; command < COMMAND_COUNT; command++)
            if (strcmp(argv[1], commands[command].word) == 0)
                break;
    if (command == COMMAND_COUNT)
        return refuse("there is no command \"%.40s\"; see loadgen --help", argv[1]);
    assert(command < COMMAND_COUNT);
    set.command = (enum command)command;
    if (set.argument_count >= commands[command].least &&
        set.argument_count <= commands[command].most)
        return OPTIONS_OK;
    return refuse("usage: %s", commands[command].usage);
}

static bool is_plain_word(const char *word) {
    return word[0] != '\0' && strspn(word, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                           "0123456789-_=+.,:/@%") == strlen(word);
}

/* The command as one would type it again. */
static char *quote_command(int argc, char **argv) {
    char *line = NULL;
    size_t size;
    FILE *to = open_memstream(&line, &size);

    if (to == NULL)
        return NULL;
    for (int i = 0; i < argc; i++) {
        if (i > 0)
            fputc(' ', to);
        if (is_plain_word(argv[i])) {
            fputs(argv[i], to);
            continue;
        }
        fputc('\'', to);
        for (const char *at = argv[i]; *at != '\0'; at++)
            fputs(*at == '\'' ? "'\\''" : (char[]){*at, '\0'}, to);
        fputc('\'', to);
    }
    return fclose(to) == 0 ? line : NULL;
}

static const char about[] =
    "loadgen: fire a flash sale at the order service, on time whatever the answers, and judge the "
    "ledger.\n\n"
#define X(id, word, text, least, most, usage) "  loadgen " word " " text "\n"
    COMMANDS(X)
#undef X
        "\n"
        "A run is INCONCLUSIVE, and ends with 2, when it proves nothing:\n"
        "  more than 5 % of the requests were sent over 10 ms late, or any not at all;\n"
        "  fewer than 30 pairs of attempts overlapped in which one got a unit (a race that\n"
        "  strikes one pair in ten hides in 30 with a chance of 4 %);\n"
        "  requests were not answered, and the ledger did not settle within --drain.\n"
        "Exit codes: 0 each verdict as expected, 1 not so, 2 inconclusive, 64 bad usage,\n"
        "69 target or database not reached, 70 internal, 99 only a --threshold missed, 130 "
        "interrupted.";

enum options_result options_read(struct options **options, int argc, char **argv) {
    enum options_result result;

    set.command_line = quote_command(argc, argv);
    if (set.command_line == NULL)
        return refuse("out of memory");
    switch (settings_read(option_flags(&set), about, "LOADGEN", "[COMMAND]", &argc, argv)) {
    case SETTINGS_OK:
        break;
    case SETTINGS_HELP:
        return OPTIONS_HELP;
    case SETTINGS_ERROR:
        return OPTIONS_BAD;
    }
    *options = &set;
    fit_connections();
    result = check_command(argc, argv);
    if (result == OPTIONS_OK)
        result = check_words();
    if (result == OPTIONS_OK)
        result = shape_load();
    if (result == OPTIONS_OK)
        result = make_list();
    return result;
}

void options_free(void) {
    free(set.command_line);
    set.command_line = NULL;
    settings_free(option_flags(&set));
}
