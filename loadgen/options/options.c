/* The checks of settings against each other, and the values made from settings. */
#include "options.h"

#include "command.h"
#include "complain.h"
#include "host_list.h"
#include "iso_time.h"
#include "number.h"
#include "reference.h"
#include "shell_word.h"
#include "table.h"
#include "user_command.h"
#include "utf8.h"
#include "uuid.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#define REQUESTS_MAX    10000000
#define SHOP_STOCK      50 /* the defaults of a run against a shop */
#define SHOP_TIMEOUT_NS INT64_C(30000000000)
#define NAME_CHARACTERS 200 /* limit of the table product, which stores the name */
#define FILES_USUAL     1024
#define FLAGS_MOST      128
#define PARTS_MOST      64
#define FILES_RESERVED  64 /* for the databases, the loop and the standard streams */

static struct options set;
static struct settings_given given;
static struct why refusal;

/* All flags. --help prints only the command's own. */
static const struct setting *flags_of(enum command command) {
    struct setting *flags = option_flags(&set);

    assert(command < COMMAND_COUNT);
    for (size_t i = 0; flags[i].name != NULL; i++)
        if (!command_has(command, flags[i].name))
            flags[i].help = NULL;
    return flags;
}

/* ---- settings that must fit together */

static int check_thresholds(void) {
    if (threshold_parse(set.threshold, &set.threshold_list, &refusal) != 0 ||
        threshold_parse_limits(set.limit, &set.limit_list, &refusal) != 0)
        return -1;
    for (size_t i = 0; i < set.threshold_list.count && set.no_judge; i++) {
        const struct threshold *threshold = &set.threshold_list.items[i];

        if (threshold_needs_verdict(threshold))
            return why_set(&refusal, "--threshold '%s' needs a verdict, and --no-judge gives none",
                           threshold->text);
    }
    if (set.abort_on_fail && set.threshold_list.count == 0)
        return why_set(&refusal, "--abort-on-fail needs a --threshold that can fail");
    return 0;
}

/* These texts reach terminals and files of lines; --name is also part of a path. */
static int check_texts(void) {
    if (!utf8_is_printable(set.name))
        return why_set(&refusal,
                       "--name must be printable UTF-8, without control characters or marks that "
                       "turn the direction of writing");
    if (table_width(set.name) > NAME_CHARACTERS)
        return why_set(&refusal, "--name has more than 200 characters");
    if (!utf8_is_printable(set.strategy))
        return why_set(&refusal, "--strategy must be printable UTF-8 without control characters");
    if (set.path[0] != '/' || !utf8_is_printable(set.path) || strchr(set.path, ' ') != NULL)
        return why_set(&refusal,
                       "--path must start with / and have neither spaces nor control characters");
    return 0;
}

static bool is_attack(void) {
    return set.command == COMMAND_FIRE && set.product[0] != '\0';
}

/* "text" is the default of the flag; loadgen export has no such form. */
static const char *formats_of(enum command command) {
    if (command == COMMAND_CLAIMS)
        return "text, json or markdown";
    return command == COMMAND_EXPORT ? "edn or json" : "text or json";
}

static bool is_format(const char *name) {
    return strcmp(name, "text") == 0 || strcmp(name, "json") == 0 ||
           (set.command == COMMAND_CLAIMS && strcmp(name, "markdown") == 0) ||
           (set.command == COMMAND_EXPORT && strcmp(name, "edn") == 0);
}

/* Reads "2/3". Returns 0, or -1. */
static int read_part(void) {
    char *slash = strchr(set.part, '/');
    int code;

    if (slash == NULL)
        return -1;
    *slash = '\0';
    code = number_read_int(set.part, &set.part_number) == 0 &&
                   number_read_int(slash + 1, &set.parts) == 0
               ? 0
               : -1;
    *slash = '/';
    return code == 0 && set.part_number >= 1 && set.part_number <= set.parts &&
                   set.parts <= PARTS_MOST
               ? 0
               : -1;
}

static int check_send(void) {
    const bool is_given = strcmp(set.plan, "-") == 0; /* a run starts this process */

    set.at_us = 0;
    if (read_part() != 0)
        return why_set(&refusal,
                       "--part must be I/N, such as 2/3: the second of three, of at most 64");
    if (set.plan[0] == '\0')
        return why_set(&refusal, "--plan must be the file that loadgen plan wrote");
    if (is_given && (set.at[0] != '\0' || set.argument_count > 0))
        return why_set(&refusal, "--plan - goes without --at and DIR");
    if (!is_given && iso_time_read(set.at, &set.at_us) != 0)
        return why_set(&refusal,
                       "--at must be a moment, such as 2026-11-27T21:00:00Z, the same for "
                       "all parts");
    if (!is_given && set.argument_count == 0)
        return why_set(&refusal, "send needs the folder of its part; see loadgen send --help");
    return 0;
}

static int check_words(void) {
    if (plan_parse_arrival(set.arrival, &set.shape.arrival) != 0)
        return why_set(&refusal, "--arrival must be poisson or constant");
    if (plan_parse_skew(set.skew, &set.shape.zipf) != 0)
        return why_set(&refusal,
                       "--skew must be uniform, or zipf: with an exponent, such as zipf:1.1");
    if (number_read_part(set.dup_rate, &set.shape.dup_rate) != 0)
        return why_set(&refusal, "--dup-rate must be a share of the requests, such as 5%% or 0.05");
    if (set.keyless) { /* without keys, no request can be repeated */
        set.shape.dup_rate = 0;
        strcpy(set.dup_rate, "0");
    }
    if (!is_format(set.output_format))
        return why_set(&refusal, "--output-format must be %s", formats_of(set.command));
    if (set.command == COMMAND_EXPORT && !set.jepsen)
        return why_set(&refusal, "export needs --jepsen, the only form that it writes");
    if (set.no_judge && set.expect[0] != '\0')
        return why_set(&refusal, "--expect needs a verdict, and --no-judge gives none");
    if (is_attack()) {
        set.items = set.repeat = 1;
        if (uuid_parse(set.product, set.product) != 0)
            return why_set(&refusal,
                           "--product must be the id of a product, which loadgen create prints");
    }
    if (set.command == COMMAND_SEND && check_send() != 0)
        return -1;
    return check_texts() == 0 ? check_thresholds() : -1;
}

static size_t place_of(const char *name) {
    const struct setting *flags = flags_of(set.command);
    size_t i = 0;

    while (strcmp(flags[i].name, name) != 0)
        i++;
    return i;
}

/* Whether a setting is among `places`, and a flag is on. */
static bool is_in(settings_rows places, const char *name) {
    const struct setting *flags = flags_of(set.command);
    const size_t i = place_of(name);

    return (places >> i & 1) != 0 &&
           (flags[i].type != SETTING_FLAG || *(const bool *)flags[i].value);
}

static bool is_shop_run(void) {
    return set.command == COMMAND_FIRE && set.shop[0] != '\0';
}

/* check_pairs() refuses these flags beside --shop, so only the environment has set them. */
static void forget_own_services(void) {
    char *const texts[] = {set.product, set.fault, set.work, set.wait, set.ttl};

    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        texts[i][0] = '\0';
    set.keyless = set.no_judge = set.list_strategies = false;
    set.hosts[0] = '\0';
    set.items = set.parts = 1;
    set.requests = set.max_in_flight = 0;
    strcpy(set.dup_rate, "0");
}

/* The settings of a run against a shop, and its own defaults. */
static int fit_shop(void) {
    static const char *const of_shop[] = {"customers", "witness", "this-shop-is-mine"};
    const settings_rows any = given.by_flag | given.by_environment;

    for (size_t i = 0; i < sizeof of_shop / sizeof *of_shop && set.shop[0] == '\0'; i++)
        if (is_in(given.by_flag, of_shop[i]))
            return why_set(&refusal, "--%s has no effect without --shop", of_shop[i]);
    if (set.shop[0] == '\0')
        return set.rate > 0 ? 0 : why_set(&refusal, "--rate auto needs --shop");
    if (!is_in(any, "stock"))
        set.stock = SHOP_STOCK;
    if (!is_in(any, "timeout"))
        set.timeout_ns = SHOP_TIMEOUT_NS;
    if (!is_in(any, "rate") && set.stages[0] == '\0')
        set.rate = 0;
    if (!is_in(any, "duration") && set.stages[0] == '\0')
        set.requests = set.customers;
    return set.stock > 0 ? 0 : why_set(&refusal, "--stock must be at least 1 with --shop");
}

/* The shape of the load: the stages, or one stage of constant rate. Without a rate options_pace()
 * does it later. */
static int shape_load(void) {
    struct plan_shape *shape = &set.shape;
    double planned;

    if (set.rate == 0 && set.stages[0] == '\0')
        return 0;
    shape->seed = (uint64_t)set.seed;
    shape->items = (uint32_t)set.items;
    shape->stage_count = 1;
    shape->stages[0] = (struct plan_stage){set.duration_ns, (double)set.rate, (double)set.rate};
    if (set.requests > 0)
        shape->stages[0].span_ns = (int64_t)((double)set.requests / (double)set.rate * 1e9);
    if (set.stages[0] != '\0') {
        set.requests = 0;
        if (plan_parse_stages(set.stages, shape, &refusal) != 0)
            return -1;
        set.duration_ns = plan_span_ns(shape);
    }
    planned = set.requests > 0 ? (double)set.requests : plan_expected(shape) + 0.5;
    if (planned < 1 || planned > REQUESTS_MAX)
        return why_set(&refusal,
                       "--rate times --duration, or --stages, must give 1 to 10,000,000 requests");
    set.requests = (int64_t)planned;
    shape->count = (size_t)set.requests;
    return 0;
}

/* Faults of servers go through the script; failpoints are part of the products of a round. */
static int check_faults(void) {
    const struct fault_list *faults = &set.fault_list;

    if (fault_list_parse(set.fault, plan_span_ns(&set.shape), &set.fault_list, &refusal) != 0)
        return -1;
    if (faults->failpoint_count > 0 && (is_attack() || set.no_judge))
        return why_set(&refusal, "--fault %s has no effect with --%s: no product is made",
                       faults->failpoints[0], set.no_judge ? "no-judge" : "product");
    if (faults->count > 0 && set.stack[0] == '\0')
        return why_set(&refusal,
                       "--fault %s needs the script that starts servers: call %s, "
                       "or give the script's path with --stack",
                       faults->items[0].text, user_command(USER_LOADGEN));
    if (fault_list_needs_mending(faults) && set.stack[0] != '\0' && access(set.stack, X_OK) != 0)
        return why_set(&refusal, "--stack %.300s: %s", set.stack, strerror(errno));
    return 0;
}

/* A shop stands in the list like a strategy. Its file has the name for reports. */
static int list_shop(void) {
    struct strategy_item *item = &set.list.items[0];

    set.list.count = 1;
    strcpy(item->name, "shop");
    strcpy(item->given, "shop");
    return expect_parse(set.expect, &set.list, set.expectations, &refusal);
}

static int make_list(void) {
    struct strategy_option common[4 + FAULT_LIST_MAX] = {
        {"work", set.work, false}, {"wait", set.wait, false}, {"ttl", set.ttl, false}};
    int64_t ns;

    if (is_shop_run())
        return list_shop();
    for (size_t i = 0; i < set.fault_list.failpoint_count; i++)
        common[3 + i] = (struct strategy_option){"fail", set.fault_list.failpoints[i], true};
    for (const struct strategy_option *option = common; option < common + 3; option++)
        if (option->value[0] != '\0' && number_read_duration(option->value, &ns) != 0)
            return why_set(&refusal, "--%s %.40s is no duration; write for example 2ms or 1.5s",
                           option->name, option->value);
    if (is_attack() && !set.no_judge)
        return 0; /* options_attack() does it */
    if (strategy_list_parse(set.strategy, common, &set.list, &refusal) != 0 ||
        expect_parse(set.expect, &set.list, set.expectations, &refusal) != 0)
        return -1;
    if ((set.command == COMMAND_CREATE || set.command == COMMAND_PLAN) && set.list.count != 1)
        return why_set(&refusal, "%s makes one product: name one --strategy",
                       command_table[set.command].word);
    return 0;
}

/* Each connection is a file. The soft limit is often 1,024; we may raise it to the hard one. */
static void fit_connections(bool is_told) {
    struct rlimit files;
    int64_t most;

    if (getrlimit(RLIMIT_NOFILE, &files) != 0)
        return;
    files.rlim_cur = files.rlim_max;
    (void)setrlimit(RLIMIT_NOFILE, &files);
    if (files.rlim_max == RLIM_INFINITY || files.rlim_max > INT32_MAX)
        return;
    most = (int64_t)files.rlim_max - FILES_RESERVED;
    if (set.connections <= most)
        return;
    set.connections = most > 1 ? most : 1;
    if (is_told && files.rlim_max < FILES_USUAL)
        fprintf(stderr,
                "loadgen: this shell allows %lld open files (ulimit -n), enough for %lld "
                "connections\n",
                (long long)files.rlim_max, (long long)set.connections);
}

/* The weak setting has no effect beside the strong one. */
static const struct {
    const char *strong, *weak;
} pairs[] = {
    {"requests", "duration"},
    {"stages", "rate"},
    {"stages", "duration"},
    {"stages", "requests"},
    {"no-judge", "drain"},
    {"no-judge", "stock"},
    {"no-judge", "items"},
    {"no-judge", "skew"},
    {"no-judge", "work"},
    {"no-judge", "wait"},
    {"no-judge", "ttl"},
    {"no-results", "results"},
    {"product", "strategy"},
    {"product", "stock"},
    {"product", "items"},
    {"product", "skew"},
    {"product", "repeat"},
    {"product", "work"},
    {"product", "wait"},
    {"product", "ttl"},
    {"keyless", "dup-rate"},
    {"shop", "strategy"},
    {"shop", "requests"},
    {"shop", "dup-rate"},
    {"shop", "keyless"},
    {"shop", "connections"},
    {"shop", "max-in-flight"},
    {"shop", "parts"},
    {"shop", "hosts"},
    {"hosts", "parts"},
    {"shop", "target"},
    {"shop", "path"},
    {"shop", "product"},
    {"shop", "items"},
    {"shop", "skew"},
    {"shop", "work"},
    {"shop", "wait"},
    {"shop", "ttl"},
    {"shop", "fault"},
    {"shop", "stack"},
    {"shop", "no-judge"},
    {"shop", "list-strategies"},
    {"duration", "customers"},
    {"stages", "customers"},
    {"list-strategies", "junit"},
    {"list-strategies", "markdown"},
};

/* The settings that have no effect beside --shop. */
static settings_rows places_beside_shop(void) {
    settings_rows places = 0;

    for (size_t i = 0; i < sizeof pairs / sizeof pairs[0] && is_shop_run(); i++)
        if (strcmp(pairs[i].strong, "shop") == 0)
            places |= (settings_rows)1 << place_of(pairs[i].weak);
    return places;
}

/* Each host sends a part. */
static int check_hosts(void) {
    size_t count;

    if (set.command != COMMAND_FIRE || set.hosts[0] == '\0')
        return 0;
    if (host_list_count(set.hosts, &count, &refusal) != 0)
        return -1;
    if (set.ssh[strspn(set.ssh, " ")] == '\0' || set.remote_loadgen[0] == '\0')
        return why_set(&refusal, "--ssh and --remote-loadgen must not be empty");
    if (strchr(set.inventory_db, '\n') != NULL)
        return why_set(&refusal, "--inventory-db must be one line with --hosts");
    set.parts = (int64_t)count;
    return 0;
}

/* A flag wins over the environment, so only a flag can contradict. */
static int check_pairs(void) {
    const settings_rows any = given.by_flag | (given.by_environment & ~places_beside_shop());

    for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++)
        if (command_has(set.command, pairs[i].strong) && is_in(any, pairs[i].strong) &&
            is_in(given.by_flag, pairs[i].weak))
            return why_set(&refusal, "--%s has no effect with --%s", pairs[i].weak,
                           pairs[i].strong);
    if (set.limit[0] == '\0' && is_in(given.by_flag, "limit"))
        return why_set(&refusal, "--limit is empty, so it would limit nothing");
    if (set.items == 1 && is_in(given.by_flag, "skew"))
        return why_set(&refusal, "--skew has no effect on one product; add --items");
    if (set.max_in_flight > set.connections && is_in(given.by_flag, "max-in-flight"))
        return why_set(&refusal,
                       "--max-in-flight has no effect above --connections, which is %lld here",
                       (long long)set.connections);
    if (check_hosts() != 0)
        return -1;
    if (set.parts > set.connections)
        return why_set(&refusal,
                       "--parts %lld need a connection each, and --connections is %lld here",
                       (long long)set.parts, (long long)set.connections);
    if (set.max_in_flight > 0 && set.parts > set.max_in_flight)
        return why_set(&refusal, "--parts %lld must share --max-in-flight, which is %lld here",
                       (long long)set.parts, (long long)set.max_in_flight);
    if (set.command == COMMAND_SERVE && set.argument_count > 0 && is_in(given.by_flag, "results"))
        return why_set(&refusal, "--results has no effect when serve is given a folder");
    return 0;
}

/* A flag without effect is a mistake. The environment serves all commands. */
static int check_flags(void) {
    const struct setting *flags = flags_of(set.command);
    const char *word = command_table[set.command].word;

    for (size_t i = 0; flags[i].name != NULL; i++) {
        if ((given.by_flag >> i & 1) == 0 || command_has(set.command, flags[i].name))
            continue;
        if (set.command == COMMAND_FIRE)
            return why_set(&refusal, "--%s has no effect on a run; see loadgen --help",
                           flags[i].name);
        return why_set(&refusal, "--%s has no effect with %s; see loadgen %s --help", flags[i].name,
                       word, word);
    }
    return 0;
}

static int check_command(int argc, char **argv) {
    const struct command_words *words;

    set.command = COMMAND_FIRE;
    if (argc > 1 && command_find(argv[1], &set.command) != 0)
        return why_set(&refusal, "there is no command \"%.40s\"; see loadgen --help", argv[1]);
    set.arguments = argc > 1 ? argv + 2 : argv + 1;
    set.argument_count = argc > 1 ? argc - 2 : 0;
    words = &command_table[set.command];
    if (set.argument_count < words->least || set.argument_count > words->most)
        return why_set(&refusal, "usage: loadgen %s", words->rest);
    if (check_flags() != 0 || check_pairs() != 0)
        return -1;
    if (is_shop_run())
        forget_own_services();
    return 0;
}

/* The command line, quoted so that a shell takes it again. */
static char *quote_command(int argc, char **argv) {
    char *line = NULL;
    size_t size;
    FILE *to = open_memstream(&line, &size);

    if (to == NULL)
        return NULL;
    for (int i = 0; i < argc; i++) {
        if (i > 0)
            fputc(' ', to);
        shell_word_print(argv[i], strlen(argv[i]), to);
    }
    return fclose(to) == 0 ? line : NULL;
}

/* Each command, with the flags that it shows. Returns what reference_asked() returns: -1 or an exit
 * code. */
static int options_reference(int argc, char **argv) {
    static struct setting tables[COMMAND_COUNT][FLAGS_MOST];
    struct settings_program programs[COMMAND_COUNT];
    struct reference_command rows[COMMAND_COUNT];
    const struct reference reference = {
        "loadgen", 1, ".Xr lab 1 ,\n.Xr inventory-svc 8 ,\n.Xr order-svc 8\n", rows, COMMAND_COUNT};

    for (size_t i = 0; i < COMMAND_COUNT; i++) {
        const struct setting *flags = flags_of((enum command)i);

        for (size_t j = 0; flags[j].name != NULL; j++) {
            assert(j + 1 < FLAGS_MOST);
            tables[i][j] = flags[j];
        }
        programs[i] = (struct settings_program){
            .about = command_table[i].about, .prefix = "LOADGEN", .rest = command_table[i].rest};
        rows[i] = (struct reference_command){command_table[i].word, &programs[i], tables[i]};
    }
    return reference_asked(&reference, argc, argv);
}

enum options_result options_read(struct options **options, int argc, char **argv) {
    const int told = options_reference(argc, argv);
    struct settings_program program = {.prefix = "LOADGEN"};
    enum command named = COMMAND_FIRE; /* the command of --help; flags may precede its word */

    if (told >= 0)
        return told == 0 ? OPTIONS_HELP : OPTIONS_BAD;
    for (int i = 1; i < argc && command_find(argv[i], &named) != 0; i++)
        ;
    program.about = command_table[named].about;
    program.rest = command_table[named].rest;
    set.program = strdup(argv[0]);
    set.command_line = quote_command(argc, argv);
    if (set.program == NULL || set.command_line == NULL) {
        complain("loadgen", "out of memory");
        return OPTIONS_BAD;
    }
    switch (settings_read(flags_of(named), &program, &argc, argv, &given)) {
    case SETTINGS_OK:
        break;
    case SETTINGS_HELP:
        return OPTIONS_HELP;
    case SETTINGS_ERROR:
        return OPTIONS_BAD;
    }
    *options = &set;
    fit_connections(named == COMMAND_FIRE);
    if (check_command(argc, argv) == 0 && check_words() == 0 &&
        (set.command != COMMAND_FIRE || fit_shop() == 0) && shape_load() == 0 &&
        check_faults() == 0 && make_list() == 0)
        return OPTIONS_OK;
    complain("loadgen", "%s", refusal.text);
    return OPTIONS_BAD;
}

int options_pace(struct options *options, int64_t rate, struct why *why) {
    assert(options == &set && rate > 0);
    set.rate = rate;
    if (shape_load() == 0)
        return 0;
    *why = refusal;
    return -1;
}

int options_attack(struct options *options, const char *spec, int64_t stock, struct why *why) {
    static const struct strategy_option as_it_is[] = {{NULL, NULL, false}};
    char *strategies = strdup(spec);

    if (strategies == NULL)
        return why_set(why, "out of memory");
    free(options->strategy);
    options->strategy = strategies;
    options->stock = stock;
    options->work[0] = options->wait[0] = options->ttl[0] = '\0'; /* the spec already has them */
    if (strategy_list_parse(spec, as_it_is, &options->list, why) != 0)
        return -1;
    return expect_parse(options->expect, &options->list, options->expectations, why);
}

void options_free(void) {
    free(set.program);
    free(set.command_line);
    set.program = set.command_line = NULL;
    shop_about_free(&set.about);
    settings_free(flags_of(set.command));
}
