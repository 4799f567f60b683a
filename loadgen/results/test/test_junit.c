/* --junit: failed tests, errors and skipped tests; and text that stays text. */
#include "junit.h"
#include "report_fixture.h"

static json_t *environment;

static int write_junit(const struct summary *written, FILE *to) {
    return junit_write(written, environment, to);
}

static void look_for_xml(const char *words, bool is_wanted) {
    char *text = printed(write_junit);

    if ((strstr(text, words) != NULL) != is_wanted)
        fail_msg("%s: %s\n%s", is_wanted ? "not there" : "there", words, text);
    free(text);
}

static void assert_xml(const char *words) {
    look_for_xml(words, true);
}

static void assert_no_xml(const char *words) {
    look_for_xml(words, false);
}

#define VERDICT_OF(name) "<testcase classname=\"loadgen.verdict\" name=\"" name "\" time=\"1.000\""

/* The fixture expects TWIN of none, and finds it; redis is INCONCLUSIVE. */
static void test_verdicts_are_tests(void **state) {
    assert_xml("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n");
    assert_xml(" tests=\"4\" failures=\"0\" errors=\"1\" skipped=\"0\"");
    assert_xml(VERDICT_OF("none") "/>\n");
    assert_xml(VERDICT_OF("atomic") "/>\n");
    assert_xml(VERDICT_OF("redis,ttl=2s,fail=after-read:pause=4s@100") ">\n      <error "
                                                                       "type=\"INCONCLUSIVE\" "
                                                                       "message=\"the schedule was "
                                                                       "missed\">");
    assert_xml("classname=\"loadgen.run\" name=\"the run came to its end\" time=\"0.000\"/>");
    assert_xml("<property name=\"seed\" value=\"1\"/>");
    assert_xml("<property name=\"rate\" value=\"800\"/>");
    assert_xml("<property name=\"exit_code\" value=\"2\"/>");
}

static void test_the_properties_name_the_shop(void **state) {
    assert_no_xml("name=\"shop");
    sell_by_shop();
    assert_xml("<property name=\"shop\" value=\"Vendure\"/>\n");
    assert_xml("<property name=\"shop_version\" value=\"3.7.3\"/>\n");
    assert_xml("<property name=\"shop_config\" value=\"row ?locks\"/>\n");
    assert_xml("<property name=\"shop_bases\" value=\"2 processes: http://127.0.0.1:9701, ");
    assert_xml("<property name=\"customers\" value=\"200\"/>\n");
    assert_xml("Vendure 3.7.3, 2 processes: sold 800 of 50 units");
    results[0].verdict.not_asked[ANOMALY_STALE] = "of a <reason>";
    assert_xml("; not asked: STALE, because of a &lt;reason&gt;\n</system-out>");
}

static void test_a_violation_that_was_not_expected_is_a_failure_with_its_proof(void **state) {
    rounds[0].verdict.found[ANOMALY_GHOST] = (struct anomaly_found){.count = 2};
    results[0].verdict.found[ANOMALY_GHOST].count = 2;
    rounds[0].verdict.counterexamples = 1;
    rounds[0].verdict.counterexample[0] =
        (struct counterexample){.anomaly = ANOMALY_GHOST, .lines = 1, .line = {"A and B"}};
    assert_xml(" failures=\"1\" errors=\"1\"");
    assert_xml("<failure type=\"VIOLATED\" message=\"VIOLATED TWIN +3: GHOST was not "
               "expected\">none: ");
    assert_xml("counterexample 1 of 1: GHOST\n    A and B\n");
}

static void test_an_expected_anomaly_that_is_missing_is_a_failure(void **state) {
    options.expectations[2].must = 1U << ANOMALY_LEAK;
    assert_xml(VERDICT_OF("atomic") ">\n      <failure type=\"VALID\" message=\"VALID: LEAK was "
                                    "expected\">");
}

/* A round may lack the expected anomaly. All rounds together may not. */
static void test_rounds_are_tests_of_their_own(void **state) {
    options.repeat = 3;
    results[0].count = 2;
    results[0].rounds[1] = &rounds[1];
    rounds[1].repeat = 1;
    rounds[1].verdict.kind = VERDICT_VALID;
    summary.round_count = 9;
    assert_xml(VERDICT_OF("none, round 1 of 3") "/>");
    assert_xml(VERDICT_OF("none, round 2 of 3") "/>");
    assert_xml("name=\"none, round 3 of 3\" time=\"0.000\">\n      <skipped message=\"this round "
               "has no result\"/>");
    assert_xml("name=\"none, all rounds\" time=\"0.000\"/>");
    assert_no_xml("atomic, all rounds");
    results[0].verdict.found[ANOMALY_TWIN].count = 0;
    assert_xml("name=\"none, all rounds\" time=\"0.000\">\n      <failure");
}

static void test_thresholds_are_tests(void **state) {
    static struct threshold threshold = {
        .text = "p(99)<250ms", .metric = "p", .percentile = 99, .value = 250 * MS};
    static struct threshold open = {.text = "twin==0", .metric = "twin"};
    static struct threshold_outcome outcomes[3];

    outcomes[0] = (struct threshold_outcome){&threshold, &results[2], 99 * MS, true};
    outcomes[1] = (struct threshold_outcome){&threshold, &results[0], 251 * MS, false};
    outcomes[2] = (struct threshold_outcome){&open, &results[1], 0, true};
    summary.outcomes = outcomes;
    summary.outcome_count = 3;
    assert_xml(" tests=\"7\" failures=\"1\" errors=\"1\" skipped=\"1\"");
    assert_xml("classname=\"loadgen.threshold\" name=\"atomic: p(99)&lt;250ms\" time=\"0.000\"/>");
    assert_xml("<failure type=\"MISSED\" message=\"measured: 251 ms\">none: p(99)&lt;250ms, "
               "measured: 251 ms</failure>");
    assert_xml("@100: twin==0\" time=\"0.000\">\n      <skipped");
}

static void test_text_stays_text(void **state) {
    static char name[] = "<&\"'> \t\n\033\x01 \xff \xef\xbf\xbe \xef\xbf\xbf 黄 ]]>";

    options.name = name;
    assert_xml(" name=\"&lt;&amp;&quot;'&gt; &#9;&#10;\xef\xbf\xbd\xef\xbf\xbd \xef\xbf\xbd "
               "\xef\xbf\xbd \xef\xbf\xbd 黄 ]]&gt;\"");
    snprintf(rounds[1].verdict.reason[0], VERDICT_TEXT, "server: <x>\r\n\f&");
    assert_xml("  inconclusive: server: &lt;x&gt;&#13;\n\xef\xbf\xbd&amp;\n");
}

/* A character at each place where a part may end, and bytes that are no character. */
static void test_long_texts_stay_whole(void **state) {
    static char name[5000], expected[3 * 5000 + 16];

    options.name = name;
    for (size_t shift = 0; shift < 4; shift++) {
        size_t used = shift;

        memset(name, 'a', shift);
        while (used + 3 < sizeof name)
            used = (size_t)(stpcpy(name + used, "黄") - name);
        snprintf(expected, sizeof expected, " name=\"%s\"", name);
        assert_xml(expected);
    }
    memset(name, 0xbf, sizeof name - 1);
    strcpy(expected, " name=\"");
    for (size_t i = 0; i < sizeof name - 1; i++)
        strcat(expected + 3 * i, "\xef\xbf\xbd");
    assert_xml(expected);
}

static void test_a_strategy_that_is_given_twice_has_two_names(void **state) {
    strcpy(options.list.items[2].given, "none");
    assert_xml(VERDICT_OF("none") "/>");
    assert_xml(VERDICT_OF("none (2)") "/>");
}

static void test_a_run_without_a_round_is_an_error(void **state) {
    struct summary whole = summary;

    summary = (struct summary){.options = &options, .exit_code = 69};
    assert_xml(" tests=\"4\" failures=\"0\" errors=\"1\" skipped=\"3\"");
    assert_xml("<error type=\"ENDED\" message=\"the target or a database was not reached\">exit "
               "code 69, results of 0 rounds; ");
    options.command = COMMAND_CHECK;
    assert_xml(" tests=\"1\" failures=\"0\" errors=\"1\" skipped=\"0\"");
    summary = whole;
}

static void test_an_interrupted_run_is_an_error(void **state) {
    summary.is_interrupted = true;
    summary.exit_code = 130;
    assert_xml("<error type=\"ENDED\" message=\"interrupted; ");
    assert_xml(" tests=\"4\" failures=\"0\" errors=\"2\" skipped=\"0\"");
}

static void test_the_revision_is_told_where_it_is_known(void **state) {
    assert_xml("<property name=\"revision\" value=\"\"/>");
    environment = json_pack("{s:{s:s}}", "revision", "git", "0123abc");
    assert_xml("<property name=\"revision\" value=\"0123abc\"/>");
    json_decref(environment);
    environment = NULL;
}

static void test_a_full_disk_is_told(void **state) {
    FILE *full = fopen("/dev/full", "w");

    assert_non_null(full);
    assert_int_equal(junit_write(&summary, NULL, full), -1);
    (void)fclose(full);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        REPORTED(test_verdicts_are_tests),
        REPORTED(test_the_properties_name_the_shop),
        REPORTED(test_a_violation_that_was_not_expected_is_a_failure_with_its_proof),
        REPORTED(test_an_expected_anomaly_that_is_missing_is_a_failure),
        REPORTED(test_rounds_are_tests_of_their_own),
        REPORTED(test_thresholds_are_tests),
        REPORTED(test_text_stays_text),
        REPORTED(test_long_texts_stay_whole),
        REPORTED(test_a_strategy_that_is_given_twice_has_two_names),
        REPORTED(test_a_run_without_a_round_is_an_error),
        REPORTED(test_an_interrupted_run_is_an_error),
        REPORTED(test_the_revision_is_told_where_it_is_known),
        REPORTED(test_a_full_disk_is_told),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
