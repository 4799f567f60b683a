/* The settings: read from flags, written to a history and a summary, and read back. */
#include "options.h"
#include "test.h"

#include "fault.h"
#include "host_list.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#define SCHEMA "loadgen/report/summary.schema.json"

static struct options *options, read_back;
static struct why why;
static json_t *told, *expected; /* of a test; its tear-down frees them */

static int tear_down(void **state) {
    json_decref(told);
    json_decref(expected);
    told = expected = NULL;
    option_free(&read_back);
    memset(&read_back, 0, sizeof read_back);
    options_free();
    options = NULL;
    return 0;
}

/* Takes up to five arguments. Frees the options before. */
static enum options_result read_flags(const char *const arguments[5]) {
    char copies[6][64] = {"loadgen"}, *argv[7] = {copies[0]};
    int argc = 1;

    options_free();
    for (; argc <= 5 && arguments[argc - 1] != NULL; argc++) {
        strcpy(copies[argc], arguments[argc - 1]);
        argv[argc] = copies[argc];
    }
    return options_read(&options, argc, argv);
}

#define READ(...) read_flags((const char *const[5]){__VA_ARGS__})

static void assert_refused(const char *const cases[][5], size_t count) {
    for (size_t i = 0; i < count; i++)
        if (read_flags(cases[i]) != OPTIONS_BAD)
            fail_msg("taken: %s, case %zu of %zu", cases[i][0], i + 1, count);
}

/* Each case, {"--flag", "value"}, must be refused. */
#define REFUSED(...)                                                                               \
    do {                                                                                           \
        static const char *const cases_[][5] = {__VA_ARGS__};                                      \
        assert_refused(cases_, sizeof cases_ / sizeof cases_[0]);                                  \
    } while (0)

static void test_flags_and_defaults_are_read(void **state) {
    assert_int_equal(READ("--timeout=2s", "-R", "1k", "--no-judge", NULL), OPTIONS_OK);
    assert_int_equal(options->timeout_ns, INT64_C(2000000000));
    assert_int_equal(options->rate, 1000);
    assert_true(options->no_judge);
    assert_int_equal(options->duration_ns, INT64_C(1000000000));
    assert_string_equal(options->skew, "uniform");
    assert_string_equal(options->command_line, "loadgen --timeout=2s -R 1k --no-judge");
    assert_int_equal(options->command, COMMAND_FIRE);
    assert_int_equal(options->shape.count, 1000);
}

static void test_stages_stand_for_rate_and_duration(void **state) {
    assert_int_equal(READ("--stages", "2s:0..800", NULL), OPTIONS_OK);
    assert_int_equal(options->shape.count, 800);
    assert_int_equal(options->duration_ns, INT64_C(2000000000));
    REFUSED({"--stages", "2s:0..800", "--rate", "801"},
            {"--stages", "2s:0..800", "--duration", "2s"});
}

static void test_settings_without_effect_are_refused(void **state) {
    REFUSED({"--requests=3", "--duration=1s"}, {"--stages=1s:5", "--rate=800"},
            {"--stages=1s:800", "--requests=1"}, {"--skew=zipf:1.1", "--items=1"},
            {"--skew=uniform"}, {"--no-judge", "--stock=5"}, {"--no-judge", "--drain=5s"},
            {"--no-judge", "--items=2", "--skew=zipf:1"}, {"--no-judge", "--ttl=1s"},
            {"--no-results", "--results=x"}, {"--max-in-flight=9", "-c", "8"},
            {"serve", "x", "--results=y"});
    assert_int_equal(READ("--no-results=false", "--results=x", "--max-in-flight=8", "-c8", NULL),
                     OPTIONS_OK);
}

static void test_a_flag_goes_before_what_the_environment_contradicts(void **state) {
    assert_int_equal(setenv("LOADGEN_RESULTS", "/results", 1), 0);
    assert_int_equal(setenv("LOADGEN_REQUESTS", "5", 1), 0);
    assert_int_equal(READ("--no-results", "--stages=1s:80", NULL), OPTIONS_OK);
    assert_int_equal(options->requests, 80);
    REFUSED({"--duration=1s"});
    assert_int_equal(unsetenv("LOADGEN_RESULTS"), 0);
    assert_int_equal(unsetenv("LOADGEN_REQUESTS"), 0);
}

static void test_without_keys_none_is_sent_twice(void **state) {
    assert_int_equal(READ("--keyless", NULL), OPTIONS_OK);
    assert_true(options->keyless);
    assert_float_equal(options->shape.dup_rate, 0, 0);
    assert_string_equal(options->dup_rate, "0");
    REFUSED({"--keyless", "--dup-rate", "5%"});
}

static void test_failpoints_go_into_each_spec_and_servers_to_the_script(void **state) {
    assert_int_equal(READ("--strategy=none,redis,fail=after-lock:error", "--work=0",
                          "--fault=redis:kill@1ms,after-read:error@2",
                          "--fault=inventory-1/after-write:crash", "--stack=/bin/true"),
                     OPTIONS_OK);
    assert_int_equal(options->fault_list.count, 1);
    assert_string_equal(options->list.items[0].spec,
                        "none,work=0,fail=after-read:error@2,fail=inventory-1/after-write:crash");
    assert_string_equal(
        options->list.items[1].spec,
        "redis,fail=after-lock:error,work=0,fail=after-read:error@2,fail=inventory-1/"
        "after-write:crash");
    assert_string_equal(options->list.items[1].given, "redis,fail=after-lock:error");
    told = option_summary(options);
    assert_int_equal(json_array_size(json_object_get(told, "faults")), 3);
    assert_string_equal(json_string_value(json_array_get(json_object_get(told, "faults"), 2)),
                        "inventory-1/after-write:crash");
}

static void test_faults_that_nothing_can_carry_out_are_refused(void **state) {
    REFUSED({"--fault=redis:kill@1ms"}, {"--fault=redis:kill@1ms", "--stack=/nowhere"},
            {"--fault=redis:kill@2s", "--stack=/bin/true"},
            {"--fault=redis:kill@2ms", "--stack=/bin/true", "--requests=1"},
            {"--fault=after-read:error", "--no-judge"},
            {"--fault=after-read:error", "--product=01900000-0000-7000-8000-000000000001"},
            {"create", "--fault=after-read:error"});
    assert_int_equal(READ("--fault=redis:kill@1ms", "--stack=/bin/true", "--no-judge", NULL),
                     OPTIONS_OK);
}

static void test_a_command_has_its_arguments(void **state) {
    assert_int_equal(READ("diff", "a", "b", NULL), OPTIONS_OK);
    assert_int_equal(options->command, COMMAND_DIFF);
    assert_int_equal(options->argument_count, 2);
    assert_string_equal(options->arguments[1], "b");
    assert_int_equal(READ("shop", "new", "a", NULL), OPTIONS_OK);
    assert_int_equal(options->command, COMMAND_SHOP);
    REFUSED({"diff", "a"}, {"check", "a", "b"}, {"shop", "new"}, {"shop", "new", "a", "--seed=1"},
            {"judge"}, {""});
}

static void test_a_part_is_one_of_a_number_at_a_moment(void **state) {
    static const char *const wrong[] = {"--part=0/3", "--part=4/3", "--part=2",
                                        "--part=2/",  "--part=a/3", "--part=1/65"};

    assert_int_equal(READ("send", "--part=2/3", "--plan=a", "--at=2026-11-27T21:00:00.5Z", "b"),
                     OPTIONS_OK);
    assert_int_equal(options->part_number, 2);
    assert_int_equal(options->parts, 3);
    assert_int_equal(options->at_us, INT64_C(1795813200500000));
    assert_int_equal(READ("send", "--part=64/64", "--plan=-"), OPTIONS_OK);
    assert_int_equal(options->at_us, 0);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        assert_int_equal(READ("send", wrong[i], "--plan=-"), OPTIONS_BAD);
    REFUSED({"send", "--part=2/3", "--at=2026-11-27T21:00:00Z", "b"},
            {"send", "--part=2/3", "--plan=a", "b"},
            {"send", "--part=2/3", "--plan=a", "--at=21:00", "b"},
            {"send", "--part=2/3", "--plan=a", "--at=2026-11-27T21:00:00Z"},
            {"send", "--part=2/3", "--plan=-", "b"},
            {"send", "--part=2/3", "--plan=-", "--at=2026-11-27T21:00:00Z"}, {"--part", "2/3"},
            {"plan", "--strategy=none,redis", "a"}, {"merge"});
}

static void test_each_host_is_a_part(void **state) {
    char many[2 * (HOST_LIST_MAX + 1) + 8] = "--hosts=a", name[HOST_TEXT];

    assert_int_equal(READ("--hosts=a,root@b,[fe80::1%eth0],ssh://c:22"), OPTIONS_OK);
    assert_int_equal(options->parts, 4);
    host_list_name(options->hosts, 0, name);
    assert_string_equal(name, "a");
    host_list_name(options->hosts, 3, name);
    assert_string_equal(name, "ssh://c:22");
    for (size_t i = 1; i < HOST_LIST_MAX; i++)
        strcat(many, ",a");
    assert_int_equal(READ(many), OPTIONS_OK);
    strcat(many, ",a");
    assert_int_equal(READ(many), OPTIONS_BAD);
    REFUSED({"--hosts=a,"}, {"--hosts=,a"}, {"--hosts=a,,b"}, {"--hosts=-oProxyCommand=id"},
            {"--hosts=a,-v"}, {"--hosts=a b"}, {"--hosts=$(id)"}, {"--hosts=a", "--parts=2"},
            {"--hosts=a,b", "-c1"}, {"--hosts=a", "--ssh= "}, {"--hosts=a", "--remote-loadgen="},
            {"plan", "--hosts=a", "x"});
}

static void test_a_flag_is_refused_where_it_does_nothing(void **state) {
    REFUSED({"check", "x", "--rate=5"}, {"diff", "--seed=1", "x"}, {"report", "x", "--results=x"},
            {"serve", "--no-tui"}, {"create", "--rate=5"}, {"--listen=::1"}, {"--limit=rate>-5%"},
            {"check", "x", "--limit=rate>-5%"}, {"diff", "a", "b", "--junit=x"},
            {"create", "--markdown=x"}, {"--list-strategies", "--junit=x"},
            {"diff", "a", "b", "--limit="});
    assert_int_equal(READ("diff", "a", "b", "--limit=rate>-5%", "--markdown=x"), OPTIONS_OK);
    assert_int_equal(options->limit_list.count, 1);
    assert_int_equal(READ("check", "a", "--junit=x", "--markdown=y", NULL), OPTIONS_OK);
    assert_int_equal(setenv("LOADGEN_RATE", "5", 1), 0); /* the environment serves all commands */
    REFUSED({"check", "--rate", "6", "x"});
    REFUSED({"export", "x"}, {"export", "--jepsen"}, {"export", "--jepsen", "x", "--rate=5"},
            {"export", "--jepsen", "x", "--output-format=xml"}, {"--jepsen"});
    assert_int_equal(READ("export", "--jepsen", "x", "--output-format=edn", NULL), OPTIONS_OK);
    assert_int_equal(READ("--output-format=json", "check", "x", NULL), OPTIONS_OK);
    assert_int_equal(unsetenv("LOADGEN_RATE"), 0);
}

#define ID "--product=01900000-0000-7000-8000-00000000000A"

static void test_a_product_to_attack_says_the_rest(void **state) {
    assert_int_equal(READ(ID, "--expect=redis=TWIN", NULL), OPTIONS_OK);
    assert_string_equal(options->product, "01900000-0000-7000-8000-00000000000a");
    assert_int_equal(options_attack(options, "redis,ttl=2s", 7, &why), 0);
    assert_int_equal(options->stock, 7);
    assert_string_equal(options->list.items[0].spec, "redis,ttl=2s");
    assert_int_equal(options->expectations[0].must, 1U << ANOMALY_TWIN);
    assert_int_equal(options_attack(options, "atomic", 7, &why), -1);
    assert_non_null(strstr(why.text, "redis"));
    REFUSED({"--product=7"}, {ID, "--strategy=none"}, {ID, "--stock=7"});
}

/* ---- in a summary */

static bool is_listed(const json_t *names, const char *name) {
    const json_t *one;
    size_t i;

    json_array_foreach (names, i, one)
        if (strcmp(json_string_value(one), name) == 0)
            return true;
    return false;
}

static const char *type_of(const json_t *value) {
    static const char *const types[] = {
        [JSON_ARRAY] = "array",  [JSON_STRING] = "string", [JSON_INTEGER] = "integer",
        [JSON_REAL] = "number",  [JSON_TRUE] = "boolean",  [JSON_FALSE] = "boolean",
        [JSON_OBJECT] = "object"};

    return types[json_typeof(value)];
}

/* The schema describes each setting of the summary, and no other. */
static void test_a_shop_has_its_own_defaults(void **state) {
    assert_int_equal(READ("--shop", "a.shop", "--rate", "20", NULL), OPTIONS_OK);
    assert_int_equal(options->requests, 200);
    assert_int_equal(options->stock, 50);
    assert_int_equal(options->timeout_ns, INT64_C(30000000000));
    assert_int_equal(options->shape.count, 200);
    assert_int_equal(options->list.count, 1);
    assert_int_equal(READ("--shop", "a.shop", "--rate", "auto", NULL), OPTIONS_OK);
    assert_int_equal(options->rate, 0);
    assert_int_equal(options_pace(options, 40, &why), 0);
    assert_int_equal(options->shape.count, 200);
    assert_int_equal(READ("--shop", "a.shop", "--duration=5s", NULL), OPTIONS_OK);
    assert_int_equal(options_pace(options, 40, &why), 0);
    assert_int_equal(options->shape.count, 200);
    assert_int_equal(READ("--shop", "a.shop", "--stages=2s:0..60", NULL), OPTIONS_OK);
    assert_int_equal(options->shape.count, 60);
    REFUSED({"--rate", "auto"}, {"--customers", "5"}, {"--this-shop-is-mine"}, {"--witness"},
            {"--shop", "a.shop", "--stock", "0"},
            {"--shop", "a.shop", "--duration=5s", "--customers=9"},
            {"--shop", "a.shop", "--stages=2s:0..60", "--customers=9"});
}

static void test_a_shop_is_no_place_for_settings_of_the_own_services(void **state) {
    static const char *const settings[] = {
        "--strategy=none",  "--requests=9",
        "--dup-rate=5%",    "--keyless",
        "--connections=9",  "--max-in-flight=9",
        "--parts=2",        "--target=http://a",
        "--path=/a",        "--product=00000000-0000-7000-8000-000000000000",
        "--items=2",        "--skew=zipf:1.1",
        "--work=1ms",       "--wait=1ms",
        "--ttl=1ms",        "--fault=redis:kill@1s",
        "--stack=a",        "--no-judge",
        "--list-strategies"};

    for (size_t i = 0; i < sizeof settings / sizeof *settings; i++)
        assert_int_equal(READ("--shop", "a.shop", settings[i], NULL), OPTIONS_BAD);
}

/* The environment serves all runs. */
static void test_a_shop_takes_no_setting_of_the_own_services_from_the_environment(void **state) {
    static const char *const set[][2] = {
        {"LOADGEN_PRODUCT", "00000000-0000-7000-8000-000000000000"},
        {"LOADGEN_ITEMS", "3"},
        {"LOADGEN_PARTS", "2"},
        {"LOADGEN_KEYLESS", "true"},
        {"LOADGEN_NO_JUDGE", "true"},
        {"LOADGEN_LIST_STRATEGIES", "true"},
        {"LOADGEN_FAULT", "redis:kill@1s"},
        {"LOADGEN_WORK", "1ms"},
        {"LOADGEN_DUP_RATE", "5%"},
        {"LOADGEN_REQUESTS", "7"},
        {"LOADGEN_MAX_IN_FLIGHT", "9"},
        {"LOADGEN_STRATEGY", "a,b"}};

    for (size_t i = 0; i < sizeof set / sizeof *set; i++)
        assert_int_equal(setenv(set[i][0], set[i][1], 1), 0);
    assert_int_equal(READ("--shop", "a.shop", "--rate=20", "--repeat=2", "--expect=shop=VALID"),
                     OPTIONS_OK);
    for (size_t i = 0; i < sizeof set / sizeof *set; i++)
        assert_int_equal(unsetenv(set[i][0]), 0);
    assert_string_equal(options->product, "");
    assert_int_equal(options->items, 1);
    assert_int_equal(options->repeat, 2);
    assert_int_equal(options->parts, 1);
    assert_int_equal(options->requests, 200);
    assert_int_equal(options->max_in_flight, 0);
    assert_int_equal(options->fault_list.count, 0);
    assert_int_equal(options->list.count, 1);
    assert_false(options->keyless || options->no_judge || options->list_strategies);
    assert_true(options->shape.dup_rate == 0);
    assert_string_equal(options->work, "");
}

static void test_a_shop_of_the_environment_is_for_runs_alone(void **state) {
    assert_int_equal(setenv("LOADGEN_SHOP", "a.shop", 1), 0);
    assert_int_equal(READ("create", "--strategy", "atomic", "--stock=0", NULL), OPTIONS_OK);
    assert_string_equal(options->list.items[0].name, "atomic");
    REFUSED({"--strategy", "atomic"});
    assert_int_equal(unsetenv("LOADGEN_SHOP"), 0);
}

static void test_a_summary_tells_what_its_schema_describes(void **state) {
    const json_t *settings, *described;
    json_t *value;
    const char *key;

    assert_int_equal(READ("--dup-rate", "5%", NULL), OPTIONS_OK);
    told = option_summary(options);
    expected = json_load_file(SCHEMA, 0, NULL);
    settings = json_object_get(json_object_get(expected, "properties"), "settings");
    described = json_object_get(settings, "properties");
    assert_non_null(told);
    assert_non_null(described);
    json_object_foreach (told, key, value) {
        const json_t *one = json_object_get(described, key);
        const json_t *words = json_object_get(one, "enum");

        if (one == NULL || !is_listed(json_object_get(settings, "required"), key))
            fail_msg("%s does not describe and require \"%s\"", SCHEMA, key);
        if (words != NULL)
            assert_true(is_listed(words, json_string_value(value)));
        else
            assert_string_equal(type_of(value), json_string_value(json_object_get(one, "type")));
    }
    assert_int_equal(json_object_size(told), json_object_size(described));
}

static void test_a_summary_tells_what_follows(void **state) {
    json_t *summary;

    assert_int_equal(
        READ("--stages=1s:0..80", "--dup-rate=5%", "--no-judge", "--timeout=1.5s", NULL),
        OPTIONS_OK);
    expected = json_pack("{s:[{s:f, s:f, s:f}], s:f, s:b, s:f}", "stages", "duration_ms", 1000.0,
                         "from_rate", 0.0, "to_rate", 80.0, "dup_rate", 0.05, "is_judged", 0,
                         "timeout_ms", 1500.0);
    summary = option_summary(options);
    told = json_copy(expected);
    assert_int_equal(json_object_update_existing(told, summary), 0);
    assert_true(json_equal(told, expected));
    json_decref(summary);
}

static void test_what_makes_runs_unequal_is_told_in_a_summary(void **state) {
    static const char *const alike[] = {"target",   "drain_ms", "late_ms", "name",
                                        "strategy", "timeout",  ""};
    size_t compared = 0;
    json_t *value;
    const char *key;

    assert_int_equal(READ(NULL), OPTIONS_OK);
    told = option_summary(options);
    json_object_foreach (told, key, value)
        compared += option_is_compared(key);
    assert_int_equal(compared, json_object_size(told) - 3);
    assert_true(option_is_compared("timeout_ms"));
    assert_true(option_is_compared("is_judged"));
    for (size_t i = 0; i < sizeof alike / sizeof alike[0]; i++)
        assert_false(option_is_compared(alike[i]));
}

/* ---- in a history */

static void test_a_history_is_read_back(void **state) {
    assert_int_equal(READ("--name=\xc3\xa4", "--threshold=sold>=1", "--threshold=busy<1%",
                          "--timeout=3s", "--no-realtime"),
                     OPTIONS_OK);
    expected = option_history(options);
    assert_int_equal(option_read_history(expected, &read_back, &why), 0);
    told = option_history(&read_back);
    assert_true(json_equal(expected, told));
    assert_int_equal(json_integer_value(json_object_get(expected, "timeout_ns")), 3000000000);
    assert_string_equal(read_back.threshold, "sold>=1\nbusy<1%");
    assert_string_equal(read_back.command_line, options->command_line);
    assert_true(read_back.no_realtime);
    assert_null(read_back.results);
}

static void assert_unread(const json_t *history, const char *key, const char *text) {
    assert_int_equal(option_read_history(history, &read_back, &why), -1);
    assert_non_null(strstr(why.text, key));
    assert_non_null(strstr(why.text, text));
    option_free(&read_back);
}

static void test_a_setting_that_is_younger_than_a_history_gets_its_default(void **state) {
    json_t *value;
    const char *key;

    assert_int_equal(READ(NULL), OPTIONS_OK);
    told = json_object();
    assert_int_equal(option_read_history(told, &read_back, &why), 0);
    json_decref(told);
    told = option_history(options);
    expected = option_history(&read_back);
    assert_int_equal(json_integer_value(json_object_get(expected, "parts")), 1);
    json_object_foreach (told, key, value) {
        const bool is_fitted = strcmp(key, "requests") == 0 || strcmp(key, "connections") == 0 ||
                               strcmp(key, "command") == 0 || strcmp(key, "target") == 0;

        assert_true(is_fitted || json_equal(value, json_object_get(expected, key)));
    }
    assert_string_equal(read_back.target, "http://127.0.0.1:8000");
}

static void test_a_setting_of_another_type_is_refused(void **state) {
    json_t *copy, *value;
    const char *key;

    assert_int_equal(READ(NULL), OPTIONS_OK);
    told = option_history(options);
    json_object_foreach (told, key, value) {
        copy = json_copy(told);
        assert_int_equal(json_object_set_new(copy, key, json_null()), 0);
        assert_unread(copy, key, "is of another type or out of range");
        json_decref(copy);
    }
    assert_int_equal(json_object_set_new(told, "rate", json_integer(-1)), 0);
    assert_unread(told, "\"rate\"", "out of range");
    assert_int_equal(json_object_set_new(told, "rate", json_integer(2000000)), 0);
    assert_int_equal(json_object_set_new(told, "seed", json_integer(-1)), 0);
    assert_int_equal(option_read_history(told, &read_back, &why), 0);
}

static void test_no_secret_is_told(void **state) {
    char *text;

    assert_int_equal(setenv("LOADGEN_ORDERS_DB", "host=x password=hush", 1), 0);
    assert_int_equal(READ(NULL), OPTIONS_OK);
    assert_int_equal(unsetenv("LOADGEN_ORDERS_DB"), 0);
    assert_string_equal(options->orders_db, "host=x password=hush");
    told = json_pack("[o, o]", option_history(options), option_summary(options));
    text = json_dumps(told, 0);
    assert_non_null(text);
    assert_null(strstr(text, "hush"));
    free(text);
}

static void read_and_free(void *history) {
    const int code = option_read_history(history, &read_back, &why);

    assert_true(code == 0 || strstr(why.text, "is of another type") != NULL);
    option_free(&read_back);
}

static void test_no_memory_for_a_text_is_told(void **state) {
    assert_int_equal(READ(NULL), OPTIONS_OK);
    told = option_history(options);
    fault_each_allocation(read_and_free, told);
}

#define READING(test) cmocka_unit_test_teardown(test, tear_down)

int main(void) {
    const struct CMUnitTest tests[] = {
        READING(test_flags_and_defaults_are_read),
        READING(test_stages_stand_for_rate_and_duration),
        READING(test_settings_without_effect_are_refused),
        READING(test_a_flag_goes_before_what_the_environment_contradicts),
        READING(test_without_keys_none_is_sent_twice),
        READING(test_failpoints_go_into_each_spec_and_servers_to_the_script),
        READING(test_faults_that_nothing_can_carry_out_are_refused),
        READING(test_a_command_has_its_arguments),
        READING(test_a_part_is_one_of_a_number_at_a_moment),
        READING(test_each_host_is_a_part),
        READING(test_a_flag_is_refused_where_it_does_nothing),
        READING(test_a_product_to_attack_says_the_rest),
        READING(test_a_shop_has_its_own_defaults),
        READING(test_a_shop_is_no_place_for_settings_of_the_own_services),
        READING(test_a_shop_takes_no_setting_of_the_own_services_from_the_environment),
        READING(test_a_shop_of_the_environment_is_for_runs_alone),
        READING(test_a_summary_tells_what_its_schema_describes),
        READING(test_a_summary_tells_what_follows),
        READING(test_what_makes_runs_unequal_is_told_in_a_summary),
        READING(test_a_history_is_read_back),
        READING(test_a_setting_that_is_younger_than_a_history_gets_its_default),
        READING(test_a_setting_of_another_type_is_refused),
        READING(test_no_secret_is_told),
        READING(test_no_memory_for_a_text_is_told),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
