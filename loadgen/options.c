/* The table of settings, and what has to fit together in them. */
#include "options.h"

#include "settings.h"

#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

#define REQUESTS_MAX   10000000
#define FILES_RESERVED 64 /* for the databases, the loop and the standard streams */

static struct options set;

static const struct setting table[] = {
    {"strategy", 0, SETTING_TEXT, &set.strategies, "none",
     "what guards the stock, one after the other: none,redis,ttl=2s,atomic", NULL},
    {"rate", 'R', SETTING_INT, &set.rate, "800", "requests per second", "1..1000000"},
    {"duration", 'd', SETTING_DURATION, &set.duration_ns, "1s", "of sending", "1ms..1h"},
    {"requests", 0, SETTING_INT, &set.requests, "0", "how many to send, instead of a duration",
     "0..10000000"},
    {"stock", 0, SETTING_INT, &set.stock, "1000", "units for sale", "0..1000000000"},
    {"work", 0, SETTING_TEXT, &set.work, "2ms",
     "business time between reading and writing the stock, for strategies without a work=", NULL},
    {"wait", 0, SETTING_TEXT, &set.wait, NULL,
     "how long a sale waits for a lock, for those without", NULL},
    {"ttl", 0, SETTING_TEXT, &set.ttl, NULL, "TTL of a lease, for strategies without a ttl=", NULL},
    {"seed", 0, SETTING_INT, &set.seed, "1", "of the arrivals: the same for every strategy", NULL},
    {"arrival", 0, SETTING_TEXT, &set.arrival, "poisson", "poisson or constant", NULL},
    {"timeout", 0, SETTING_DURATION, &set.timeout_ns, "10s", "of each request", "1ms..1h"},
    {"drain", 0, SETTING_DURATION, &set.drain_ns, "20s",
     "how long to wait for the ledger to settle after the last answer", "0..1h"},
    {"connections", 'c', SETTING_INT, &set.connections, "8192", "the most to open", "1..60000"},
    {"expect", 0, SETTING_TEXT, &set.expect, NULL,
     "verdicts that are right: none=TWIN,mutex=VIOLATED; VALID for the others", NULL},
    {"target", 0, SETTING_TEXT, &set.target, "http://127.0.0.1:8000", "where order-svc listens",
     NULL},
    {"path", 0, SETTING_TEXT, &set.path, "/orders", "of the POST requests", NULL},
    {"name", 0, SETTING_TEXT, &set.name, NULL, "a label for the report", NULL},
    {"output-format", 0, SETTING_TEXT, &set.output_format, "text", "text or json", NULL},
    {"output", 'o', SETTING_TEXT, &set.output, NULL, "file for the report, instead of stdout",
     NULL},
    {"no-progress", 0, SETTING_FLAG, &set.is_quiet, NULL, "no progress bar on a terminal", NULL},
    {"no-realtime", 0, SETTING_FLAG, &set.is_ordinary, NULL,
     "send without real-time priority (else taken where permitted, for 200 ms at a stretch at "
     "most)",
     NULL},
    {"list-strategies", 0, SETTING_FLAG, &set.is_listing, NULL,
     "print what the target knows, and exit", NULL},
    {"no-judge", 0, SETTING_FLAG, &set.is_unjudged, NULL,
     "measure latency and schedule only, against any endpoint, without databases", NULL},
    {"inventory-db", 0, SETTING_SECRET, &set.inventory_db, NULL,
     "connection string of the database inventory", NULL},
    {"orders-db", 0, SETTING_SECRET, &set.orders_db, NULL,
     "connection string of the database orders", NULL},
    {.name = NULL}};

static enum options_result refuse(const char *why) {
    fprintf(stderr, "loadgen: %s\n", why);
    return OPTIONS_BAD;
}

static enum options_result check_durations(void) {
    const struct {
        const char *name, *value;
    } texts[] = {{"work", set.work}, {"wait", set.wait}, {"ttl", set.ttl}};
    int64_t ns;
    char why[128];

    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        if (texts[i].value[0] == '\0' || settings_parse_duration(texts[i].value, &ns) == 0)
            continue;
        snprintf(why, sizeof why, "--%s %.40s is no duration; write it like 2ms or 1.5s",
                 texts[i].name, texts[i].value);
        return refuse(why);
    }
    return OPTIONS_OK;
}

static enum options_result check_words(void) {
    if (plan_parse_arrival(set.arrival, &set.arrival_kind) != 0)
        return refuse("--arrival is poisson or constant");
    if (strcmp(set.output_format, "text") != 0 && strcmp(set.output_format, "json") != 0)
        return refuse("--output-format is text or json");
    if (set.path[0] != '/')
        return refuse("--path starts with a /");
    if (set.is_unjudged && set.expect[0] != '\0')
        return refuse("--expect needs a verdict, and --no-judge gives none");
    return check_durations();
}

static enum options_result count_requests(void) {
    double planned = (double)set.rate * (double)set.duration_ns / 1e9 + 0.5;

    if (set.requests == 0) {
        if (planned < 1 || planned > REQUESTS_MAX)
            return refuse("--rate times --duration is to be 1 to 10,000,000 requests");
        set.requests = (int64_t)planned;
    }
    return OPTIONS_OK;
}

static enum options_result make_list(void) {
    const struct strategy_option common[] = {
        {"work", set.work}, {"wait", set.wait}, {"ttl", set.ttl}, {NULL, NULL}};
    char why[256];

    if (strategy_list_parse(set.strategies, common, &set.list, why, sizeof why) != 0 ||
        expect_parse(set.expect, &set.list, set.expectations, why, sizeof why) != 0)
        return refuse(why);
    if (set.is_creating && set.list.count != 1)
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

static enum options_result check_command(int argc, char **argv) {
    char why[128];

    if (argc == 1)
        return OPTIONS_OK;
    set.is_creating = argc == 2 && strcmp(argv[1], "create") == 0;
    if (set.is_creating)
        return OPTIONS_OK;
    snprintf(why, sizeof why, "there is no command \"%.40s\"; see loadgen --help", argv[argc - 1]);
    return refuse(why);
}

enum options_result options_read(struct options **options, int argc, char **argv) {
    enum options_result result;

    switch (
        settings_read(table,
                      "loadgen: fire a flash sale at the order service, on time whatever the "
                      "answers, and judge the ledger.\n`loadgen create` makes one product and "
                      "prints its id.\n"
                      "\n"
                      "A run is INCONCLUSIVE, and ends with 2, when it proves nothing:\n"
                      "  more than 5 % of the requests were sent over 10 ms late, or any not at "
                      "all;\n"
                      "  fewer than 30 pairs of attempts overlapped in which one got a unit "
                      "(a race that\n  strikes one pair in ten hides in 30 with a chance of "
                      "4 %);\n"
                      "  requests were not answered, and the ledger did not settle within "
                      "--drain.\n"
                      "Exit codes: 0 each verdict as expected, 1 not so, 2 inconclusive, 64 bad "
                      "usage,\n69 target or database not reached, 70 internal, 130 "
                      "interrupted.",
                      "LOADGEN", "[create]", &argc, argv)) {
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
        result = count_requests();
    if (result == OPTIONS_OK)
        result = make_list();
    return result;
}

void options_free(void) {
    settings_free(table);
}
