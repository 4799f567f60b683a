/* The table of settings, and their form in the JSON of a history and of a summary. */
#include "options.h"

#include "json_text.h"
#include "number.h"
#include "utf8.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define KEY_SIZE   32
#define AMOUNT_MAX INT64_C(1000000000000000) /* far above any amount of a run */

/* The files that contain a setting. A later value includes the files of the values before it. */
enum reach {
    NOWHERE, /* a secret, or the place or the form of a report */
    HISTORY,
    SUMMARY,
    COMPARED, /* in the summary; `diff` names it when two runs differ in it */
};

struct option {
    struct setting flag; /* its `value` is NULL: option_flags() sets it to */
    size_t place;        /* this offset in struct options */
    enum reach reach;
    /* A key of its own in the summary, and the function that makes its value. NULL: the summary
     * has the plain value under the flag's name. */
    const char *key;
    json_t *(*make)(const struct options *options);
};

static json_t *make_stages(const struct options *options) {
    json_t *json = json_array();

    for (size_t i = 0; i < options->shape.stage_count; i++) {
        const struct plan_stage *stage = &options->shape.stages[i];

        json_text_append(&json, json_pack("{s:o, s:f, s:f}", "duration_ms",
                                          json_ms((double)stage->span_ns), "from_rate", stage->from,
                                          "to_rate", stage->to));
    }
    return json;
}

static json_t *make_dup_rate(const struct options *options) {
    return json_real(options->shape.dup_rate);
}

static json_t *make_faults(const struct options *options) {
    json_t *json = json_array();

    for (const char *at = options->fault; *at != '\0'; at += strspn(at, ",\n")) {
        const size_t length = strcspn(at, ",\n");

        json_text_append(&json, json_stringn(at, length));
        at += length;
    }
    return json;
}

static json_t *make_is_judged(const struct options *options) {
    return json_boolean(!options->no_judge);
}

#define ROW_AS(key, make, name, letter, type, member, default_text, range, reach, help)            \
    {                                                                                              \
        {name, letter, SETTING_##type, NULL, default_text, help, range},                           \
            offsetof(struct options, member), reach, key, make                                     \
    }
#define ROW(...) ROW_AS(NULL, NULL, __VA_ARGS__)
static const struct option table[] = {
    ROW("strategy", 0, TEXT, strategy, "none", NULL, HISTORY,
        "strategies to run in turn: none,redis,ttl=2s,atomic"),
    ROW("shop", 0, TEXT, shop, NULL, NULL, NOWHERE,
        "file that describes a shop to attack, instead of the order service (docs/shop-file.md)"),
    ROW("customers", 0, INT, customers, "200", "1..1000000", NOWHERE,
        "number of customers of --shop; each orders once"),
    ROW("witness", 0, FLAG, witness, NULL, NULL, NOWHERE,
        "while customers of --shop order, a trigger in its database notes each change of the count"),
    ROW("rate", 'R', INT, rate, "800", "auto, 1..1000000", COMPARED,
        "requests per second; auto, the default with --shop: three times as many as the shop sells "
        "in turn"),
    ROW("duration", 'd', DURATION, duration_ns, "1s", "1ms..1h", HISTORY, "how long to send"),
    ROW("requests", 0, INT, requests, "0", "0..10000000", COMPARED,
        "number of requests to send, instead of --duration"),
    ROW_AS("stages", make_stages, "stages", 0, TEXT, stages, NULL, NULL, COMPARED,
           "changing rates, instead of --rate and --duration: 5s:0..800,20s:800"),
    ROW("arrival", 0, TEXT, arrival, "poisson", NULL, COMPARED,
        "spacing of the requests: poisson or constant"),
    ROW("seed", 0, INT, seed, "1", NULL, COMPARED,
        "seed of the arrivals, which are the same for every strategy"),
    ROW("repeat", 0, INT, repeat, "1", "1..20", COMPARED,
        "rounds of each strategy; their order rotates, and medians are compared"),
    ROW_AS("dup_rate", make_dup_rate, "dup-rate", 0, TEXT, dup_rate, "1%", NULL, COMPARED,
           "share of the requests to send twice with the same key: 5%"),
    ROW("keyless", 0, FLAG, keyless, NULL, NULL, COMPARED,
        "send no Idempotency-Key; loadgen learns each order's id from its answer"),
    ROW("timeout", 0, DURATION, timeout_ns, "10s", "1ms..1h", COMPARED, "timeout of each request"),
    ROW("connections", 'c', INT, connections, "8192", "1..60000", COMPARED,
        "most connections to open"),
    ROW("max-in-flight", 0, INT, max_in_flight, "0", "0..1000000", COMPARED,
        "most unanswered requests at a time; further ones are sent late and counted; 0: no limit"),
    ROW("parts", 0, INT, parts, "1", "1..64", COMPARED,
        "sending processes that share one plan, for a rate that one cannot keep"),
    ROW("part", 0, TEXT, part, NULL, NULL, NOWHERE,
        "part of the plan that `send` sends, such as 2/3: the second of three"),
    ROW("plan", 0, TEXT, plan, NULL, NULL, NOWHERE,
        "file that loadgen plan wrote, for `send`; or -: a run of --parts or --hosts gives the plan "
        "and the start on stdin, and takes the history from stdout"),
    ROW("at", 0, TEXT, at, NULL, NULL, NOWHERE,
        "moment at which `send` sends the first request: 2026-11-27T21:00:00Z"),
    ROW("hosts", 0, TEXT, hosts, NULL, NULL, COMPARED,
        "hosts that send one part each, by ssh: a,user@b; each needs loadgen, the --target and the "
        "database inventory"),
    ROW("ssh", 0, TEXT, ssh, "ssh", NULL, NOWHERE,
        "command that reaches the --hosts, words with spaces between them: 'ssh -F file'"),
    ROW("remote-loadgen", 0, TEXT, remote_loadgen, "loadgen", NULL, NOWHERE,
        "program on the --hosts"),
    ROW("target", 0, TEXT, target, "http://127.0.0.1:8000", NULL, SUMMARY, "URL of order-svc"),
    ROW("path", 0, TEXT, path, "/orders", NULL, COMPARED, "path of the POST requests"),
    ROW("no-realtime", 0, FLAG, no_realtime, NULL, NULL, HISTORY,
        "send without real-time priority. By default loadgen takes it where it may and --parts is "
        "below the number of cores; it gives it back after 200 ms without a pause, or 400 ms "
        "behind on a full core"),
    ROW("product", 0, TEXT, product, NULL, NULL, NOWHERE,
        "id of a product to attack, instead of new ones; it must be unsold so far"),
    ROW("stock", 0, INT, stock, "500", "0..1000000000", COMPARED, "units for sale of each product"),
    ROW("this-shop-is-mine", 0, FLAG, this_shop_is_mine, NULL, NULL, NOWHERE,
        "also order from a shop with a public address"),
    ROW("items", 0, INT, items, "1", "1..1000", COMPARED, "products for sale at a time"),
    ROW("skew", 0, TEXT, skew, "uniform", NULL, COMPARED,
        "how requests spread over the products: uniform, zipf:1.1"),
    ROW("work", 0, TEXT, work, "2ms", NULL, COMPARED,
        "business time between reading and writing the stock, for strategies without work="),
    ROW("wait", 0, TEXT, wait, NULL, NULL, COMPARED,
        "how long a sale waits for a lock, for strategies without wait="),
    ROW("ttl", 0, TEXT, ttl, NULL, NULL, COMPARED, "TTL of a lease, for strategies without ttl="),
    ROW("expect", 0, TEXT, expect, NULL, NULL, HISTORY,
        "expected verdicts, VALID if none is named: none=OVERSELL+TWIN+LEAK?,mutex=VIOLATED; any "
        "other anomaly is unexpected; an anomaly with a ? may be missing"),
    ROW("threshold", 0, LIST, threshold, NULL, NULL, HISTORY,
        "limit to keep, such as 'oversell==0' or 'p(99)<250ms'; may be repeated"),
    ROW("abort-on-fail", 0, FLAG, abort_on_fail, NULL, NULL, HISTORY,
        "stop as soon as a threshold is missed"),
    ROW_AS(
        "faults", make_faults, "fault", 0, LIST, fault, NULL, NULL, COMPARED,
        "fault of each round: of a server at a moment, redis:kill@2s, inventory-1:pause=2s@1s; or "
        "at a failpoint, after-read:pause=4s@100; may be repeated"),
    ROW("stack", 0, TEXT, stack, NULL, NULL, NOWHERE,
        "path of the script that starts servers, for a --fault of a server and for `claims`; the script loadgen sets it"),
    ROW("drain", 0, DURATION, drain_ns, "20s", "0..1h", SUMMARY,
        "how long to wait after the last answer until the ledger settles and servers are up "
        "again"),
    ROW("late", 0, DURATION, late_ns, "10ms", "1ms..1h", SUMMARY,
        "a request sent later than this is late; with more than 5 % late the run proves nothing"),
    ROW("stuck-after", 0, DURATION, stuck_after_ns, "300ms", "1ms..1h", COMPARED,
        "a product is STUCK if it sold nothing for this long at the end of its demand and units "
        "are left; demand shorter than twice this is not judged"),
    ROW_AS(
        "is_judged", make_is_judged, "no-judge", 0, FLAG, no_judge, NULL, NULL, COMPARED,
        "measure only latency and schedule; needs any endpoint that takes POST, and no database"),
    ROW("name", 0, TEXT, name, NULL, NULL, HISTORY, "label for the report and the results folder"),
    ROW("results", 0, TEXT, results, "results", NULL, NOWHERE, "folder of all results folders"),
    ROW("no-results", 0, FLAG, no_results, NULL, NULL, NOWHERE, "write no results folder"),
    ROW("output-format", 0, TEXT, output_format, "text", NULL, NOWHERE, "text or json"),
    ROW("output", 'o', TEXT, output, NULL, NULL, NOWHERE, "file for the report, instead of stdout"),
    ROW("jepsen", 0, FLAG, jepsen, NULL, NULL, NOWHERE, "export in the form of Jepsen's histories"),
    ROW("round", 0, INT, round, "0", "0..1280", NOWHERE,
        "which round to export, from 1; 0: the only one"),
    ROW("limit", 0, LIST, limit, NULL, NULL, NOWHERE,
        "a limit that run B must keep: 'p(99)<+20%' against A, 'oversell==0' alone; may be given "
        "again"),
    ROW("junit", 0, TEXT, junit, NULL, NULL, NOWHERE,
        "file for the verdicts and thresholds as tests, in the XML of JUnit"),
    ROW("markdown", 0, TEXT, markdown, NULL, NULL, NOWHERE,
        "file for a summary in Markdown, for a pull request"),
    ROW("no-tui", 0, FLAG, no_tui, NULL, NULL, NOWHERE,
        "print a plain line a second instead of the live view on a terminal"),
    ROW("json-progress", 0, FLAG, json_progress, NULL, NULL, NOWHERE,
        "print a line of JSON four times a second instead of the live view, for programs"),
    ROW("no-progress", 0, FLAG, no_progress, NULL, NULL, NOWHERE, "print no progress"),
    ROW("listen", 0, TEXT, listen, "127.0.0.1", NULL, NOWHERE, "address that `serve` listens on"),
    ROW("class", 0, FLAG, class, NULL, NULL, NOWHERE,
        "also serve a page that runs strategies in front of a class"),
    ROW("port", 0, INT, port, "8080", "1..65535", NOWHERE, "port that `serve` listens on"),
    ROW("port-base", 0, INT, port_base, "8200", "1..65443", NOWHERE,
        "first port of the stack of `claims`"),
    ROW("run-dir", 0, TEXT, run_dir, NULL, NULL, NOWHERE,
        "folder of the stack of `claims`, instead of .run/claims"),
    ROW("keep", 0, FLAG, keep, NULL, NULL, NOWHERE,
        "leave the stack of `claims` running, and keep the results folder of each run"),
    ROW("list-strategies", 0, FLAG, list_strategies, NULL, NULL, NOWHERE,
        "print the strategies that the target knows, and exit"),
    ROW("inventory-db", 0, SECRET, inventory_db, NULL, NULL, NOWHERE,
        "connection string of the database inventory"),
    ROW("orders-db", 0, SECRET, orders_db, NULL, NULL, NOWHERE,
        "connection string of the database orders"),
    /* The last row is no flag: quote_command() makes its value. */
    ROW("command", 0, TEXT, command_line, NULL, NULL, HISTORY, NULL)};
#define ROWS (sizeof table / sizeof table[0])

struct setting *option_flags(struct options *options) {
    static struct setting flags[ROWS]; /* the last has no name */

    for (size_t i = 0; i + 1 < ROWS; i++) {
        flags[i] = table[i].flag;
        flags[i].value = (char *)options + table[i].place;
    }
    return flags;
}

/* ---- JSON */

/* "dup-rate" becomes dup_rate; a duration gets its unit: timeout_ns. */
static const char *option_table_key_of(const struct option *option, const char *unit,
                                       char key[KEY_SIZE]) {
    int length = snprintf(key, KEY_SIZE, "%s%s", option->flag.name,
                          option->flag.type == SETTING_DURATION ? unit : "");

    assert(length > 0 && length < KEY_SIZE);
    for (char *at = key; *at != '\0'; at++)
        if (*at == '-')
            *at = '_';
    return key;
}

static const char *summary_key(const struct option *option, char key[KEY_SIZE]) {
    return option->key != NULL ? option->key : option_table_key_of(option, "_ms", key);
}

static json_t *write_value(const struct option *option, const struct options *options) {
    const void *at = (const char *)options + option->place;
    const char *text;

    assert(option->flag.type != SETTING_SECRET);
    switch (option->flag.type) {
    case SETTING_INT:
    case SETTING_DURATION:
        return json_integer(*(const int64_t *)at);
    case SETTING_FLAG:
        return json_boolean(*(const bool *)at);
    case SETTING_TEXT:
    case SETTING_LIST:
    case SETTING_SECRET:
        break;
    }
    text = *(char *const *)at;
    return json_text(text != NULL ? text : "");
}

json_t *option_history(const struct options *options) {
    json_t *json = json_object();
    char key[KEY_SIZE];

    for (size_t i = 0; i < ROWS; i++)
        if (table[i].reach >= HISTORY)
            json_text_set(&json, option_table_key_of(&table[i], "_ns", key),
                          write_value(&table[i], options));
    return json;
}

static json_t *write_summary(const struct option *option, const struct options *options) {
    const void *at = (const char *)options + option->place;

    if (option->make != NULL)
        return option->make(options);
    if (option->flag.type == SETTING_DURATION)
        return json_ms((double)*(const int64_t *)at);
    return write_value(option, options);
}

json_t *option_summary(const struct options *options) {
    json_t *json = json_object();
    char key[KEY_SIZE];

    for (size_t i = 0; i < ROWS; i++)
        if (table[i].reach >= SUMMARY)
            json_text_set(&json, summary_key(&table[i], key), write_summary(&table[i], options));
    return json;
}

bool option_is_compared(const char *key) {
    char own[KEY_SIZE];

    for (size_t i = 0; i < ROWS; i++)
        if (table[i].reach == COMPARED && strcmp(summary_key(&table[i], own), key) == 0)
            return true;
    return false;
}

/* ---- back from a history; another version may have written it, with other bounds */

/* A list has a line break between its elements: each is made printable by itself. */
static void option_table_make_printable(char *text, enum setting_type type) {
    char *end = type == SETTING_LIST ? strchr(text, '\n') : NULL;

    for (; end != NULL; text = end + 1, end = strchr(text, '\n')) {
        *end = '\0';
        utf8_make_printable(text);
        *end = '\n';
    }
    utf8_make_printable(text);
}

static int option_table_read_value(const json_t *json, const struct option *option,
                                   struct options *options) {
    void *at = (char *)options + option->place;
    json_int_t number;
    char *text;

    switch (option->flag.type) {
    case SETTING_INT:
    case SETTING_DURATION:
        number = json_integer_value(json);
        if (!json_is_integer(json) ||
            (option->flag.range != NULL && (number < 0 || number > AMOUNT_MAX)))
            return -1;
        *(int64_t *)at = number;
        return 0;
    case SETTING_FLAG:
        *(bool *)at = json_is_true(json);
        return json_is_boolean(json) ? 0 : -1;
    case SETTING_TEXT:
    case SETTING_LIST:
    case SETTING_SECRET:
        break;
    }
    text = json_is_string(json) ? strdup(json_string_value(json)) : NULL;
    if (text != NULL)
        option_table_make_printable(text, option->flag.type);
    *(char **)at = text;
    return text != NULL ? 0 : -1;
}

static int read_default(const struct option *option, struct options *options) {
    void *at = (char *)options + option->place;
    const char *text = option->flag.default_text != NULL ? option->flag.default_text : "";

    switch (option->flag.type) {
    case SETTING_INT:
        return number_read_int(text[0] != '\0' ? text : "0", at);
    case SETTING_DURATION:
        return number_read_duration(text, at);
    case SETTING_FLAG:
        *(bool *)at = false;
        return 0;
    case SETTING_TEXT:
    case SETTING_LIST:
    case SETTING_SECRET:
        break;
    }
    *(char **)at = strdup(text);
    return *(char **)at != NULL ? 0 : -1;
}

int option_read_history(const json_t *json, struct options *options, struct why *why) {
    char key[KEY_SIZE];

    for (size_t i = 0; i < ROWS; i++) {
        const json_t *value;

        if (table[i].reach < HISTORY)
            continue;
        value = json_object_get(json, option_table_key_of(&table[i], "_ns", key));
        if (value == NULL && read_default(&table[i], options) != 0)
            return why_set(why, "out of memory");
        if (value != NULL && option_table_read_value(value, &table[i], options) != 0)
            return why_set(why, "its \"%s\" is of another type or out of range", key);
    }
    return 0;
}

int option_read_defaults(struct options *options) {
    for (size_t i = 0; i < ROWS; i++)
        if (table[i].reach >= HISTORY && read_default(&table[i], options) != 0)
            return -1;
    return 0;
}

void option_lend(struct options *options, const struct options *from) {
    static const size_t sizes[] = {
        [SETTING_TEXT] = sizeof(char *),   [SETTING_LIST] = sizeof(char *),
        [SETTING_SECRET] = sizeof(char *), [SETTING_FLAG] = sizeof(bool),
        [SETTING_INT] = sizeof(int64_t),   [SETTING_DURATION] = sizeof(int64_t)};

    for (size_t i = 0; i < ROWS; i++)
        if (table[i].reach < HISTORY)
            memcpy((char *)options + table[i].place, (const char *)from + table[i].place,
                   sizes[table[i].flag.type]);
    options->program = from->program;
}

void option_free(struct options *options) {
    shop_about_free(&options->about);
    for (size_t i = 0; i < ROWS; i++) {
        char **text = (char **)(void *)((char *)options + table[i].place);
        enum setting_type type = table[i].flag.type;

        if (table[i].reach < HISTORY || (type != SETTING_TEXT && type != SETTING_LIST))
            continue;
        free(*text);
        *text = NULL;
    }
}
