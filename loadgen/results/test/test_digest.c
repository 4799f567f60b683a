/* --markdown: the view of a pull request; no foreign text makes markup. */
#include "digest.h"
#include "report_fixture.h"

static json_t *environment;

static int write_digest(const struct summary *written, FILE *to) {
    return digest_write(written, environment, to);
}

static void look_for_line(const char *words, bool is_wanted) {
    char *text = printed(write_digest);

    if ((strstr(text, words) != NULL) != is_wanted)
        fail_msg("%s: %s\n%s", is_wanted ? "not there" : "there", words, text);
    free(text);
}

static void assert_line(const char *words) {
    look_for_line(words, true);
}

static void assert_no_line(const char *words) {
    look_for_line(words, false);
}

static void test_each_strategy_has_a_row_and_a_sentence(void **state) {
    assert_line("### ⚠️ a verdict is open, ");
    assert_line("(loadgen ended with 2)\n\n| strategy | verdict |");
    assert_line(
        "| `none` | VIOLATED: TWIN 431, EARLY-SOLD-OUT 3, LEAK 31 | ✅ yes | 800 / 1000 | 50 ms "
        "| 99 ms | 800 |\n");
    assert_line("| INCONCLUSIVE | ⚠️ open |");
    assert_line("| `atomic` | VALID | ✅ yes |");
    assert_line("\n- `none`: sold 800 of 1000 units, ");
    assert_line("is inconclusive:\n\n- `the schedule was missed`\n\n");
    assert_line("- seed: `1`\n");
    assert_line("- load: `3 strategies in turn, each under the same 800 requests at 800/s");
    assert_no_line("<details>"); /* all was expected */
    assert_no_line("machine");
}

static void test_the_first_violation_that_was_not_expected_is_folded(void **state) {
    rounds[0].verdict.found[ANOMALY_GHOST] =
        (struct anomaly_found){.count = 2, .examples = 1, .example = {"a </details> example"}};
    results[0].verdict.found[ANOMALY_GHOST].count = 2;
    assert_line("❌ no: GHOST was not expected |");
    assert_line("How `none` was violated:\n\n<details>\n<summary>Counterexample</summary>\n\n"
                "```text\nGHOST, 2 times: ");
    assert_line("\n  a </details> example\n```\n\n</details>\n");
    rounds[0].verdict.counterexamples = 2;
    rounds[0].verdict.counterexample[0] = (struct counterexample){.anomaly = ANOMALY_TWIN};
    rounds[0].verdict.counterexample[1] =
        (struct counterexample){.anomaly = ANOMALY_GHOST, .lines = 1, .line = {"A and ``` B"}};
    assert_line("\n````text\n  counterexample 2 of 2: GHOST\n    A and ``` B\n````\n");
}

static void test_thresholds_have_a_table(void **state) {
    static struct threshold threshold = {
        .text = "p(99)<250ms", .metric = "p", .percentile = 99, .value = 250 * MS};
    static struct threshold open = {.text = "twin==0", .metric = "twin"};
    static struct threshold_outcome outcomes[3];

    assert_no_line("| threshold |");
    outcomes[0] = (struct threshold_outcome){&threshold, &results[2], 99 * MS, true};
    outcomes[1] = (struct threshold_outcome){&threshold, &results[0], 251 * MS, false};
    outcomes[2] = (struct threshold_outcome){&open, &results[1], 0, true};
    summary.outcomes = outcomes;
    summary.outcome_count = 3;
    assert_line("| `p(99)<250ms` | `atomic` | ✅ kept | 99 ms |\n");
    assert_line("| `p(99)<250ms` | `none` | ❌ missed | 251 ms |\n");
    assert_line("| `twin==0` | `redis,ttl=2s,fail=after-read:pause=4s@100` | ⚠️ open | 0 |\n");
}

static void test_a_shop_is_named_with_its_settings(void **state) {
    sell_by_shop();
    assert_line("| shop | verdict |");
    assert_line("| `none` | VIOLATED: TWIN 431");
    assert_line("\n- `Vendure 3.7.3, 2 processes`: sold 800 of 50 units, ");
    assert_line("; one round proves that it happens, not how often\n");
    assert_line("- shop: `Vendure 3.7.3`\n- base URLs: `2 processes: http://127.0.0.1:9701, "
                "http://127.0.0.1:9702`\n- settings of the shop: `row ?locks`\n- load: `200 "
                "customers at 20/s, poisson, seed 1, stock 50, by shops/vendure.shop`\n");
}

static void test_anomalies_that_were_not_asked_are_named(void **state) {
    assert_no_line("Not asked");
    results[2].verdict.not_asked[ANOMALY_TWIN] = results[2].verdict.not_asked[ANOMALY_STALE] =
        "the sales do not tell how many units they left";
    assert_line("Asked of `atomic`: OVERSELL, UNDERSELL, ");
    assert_line(
        "Not asked of `atomic`: TWIN and STALE, because the sales do not tell how many units "
        "they left.\n\n");
}

static void test_rounds_that_differ_are_counted(void **state) {
    results[0].count = 2;
    results[0].rounds[1] = &rounds[2];
    assert_line("| VIOLATED in 1 of 2 rounds: TWIN 431");
    assert_line("| 800 / 2000 |");
}

static void test_text_of_others_is_code(void **state) {
    static char name[] = "**x**|<b>`@you";
    struct strategy_item *item = &options.list.items[2];

    options.name = name;
    strcpy(item->given, "a|b](http://x)`<i>");
    snprintf(rounds[1].verdict.reason[0], VERDICT_TEXT, "server: ```<x> @you");
    snprintf(results[1].verdict.reason[0], VERDICT_TEXT, "server: ```<x> @you");
    assert_line("### ⚠️ `` **x**|<b>`@you ``: ");
    assert_line("| `` a\\|b](http://x)`<i> `` | VALID");
    assert_line("- `` a|b](http://x)`<i> ``: sold ");
    assert_line("\n- ```` server: ```<x> @you ````\n");
}

static void test_a_run_without_a_round_says_so(void **state) {
    struct summary whole = summary;

    summary = (struct summary){.options = &options, .exit_code = 69};
    assert_line(
        "### ❌ the target or a database was not reached (loadgen ended with 69)\n\nThere are no results.");
    assert_no_line("| strategy |");
    assert_line("- load: ");
    options.command = COMMAND_CHECK;
    assert_no_line("- load: ");
    summary = whole;
}

static void test_an_interrupted_run_says_so(void **state) {
    summary.is_interrupted = true;
    summary.exit_code = 130;
    assert_line("### ⚠️ interrupted; ");
    assert_line("| `none` |");
}

static void test_machine_and_revision_are_told(void **state) {
    environment = json_pack("{s:{s:s, s:b}, s:{s:s, s:i, s:I, s:s, s:s}}", "revision", "git",
                            "0123abc", "is_dirty", 1, "machine", "cpu", "A `B`", "cores", 2,
                            "memory_bytes", (json_int_t)8 << 30, "system", "Linux", "kernel", "6");
    assert_line("- machine: `` A `B`, 2 cores, 8.0 GiB, Linux 6 ``\n");
    assert_line("- loadgen's revision: `0123abc, with changes`\n");
    json_decref(environment);
    environment = NULL;
}

static void test_a_full_disk_is_told(void **state) {
    FILE *full = fopen("/dev/full", "w");

    assert_non_null(full);
    assert_int_equal(digest_write(&summary, NULL, full), -1);
    (void)fclose(full);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        REPORTED(test_each_strategy_has_a_row_and_a_sentence),
        REPORTED(test_the_first_violation_that_was_not_expected_is_folded),
        REPORTED(test_thresholds_have_a_table),
        REPORTED(test_a_shop_is_named_with_its_settings),
        REPORTED(test_anomalies_that_were_not_asked_are_named),
        REPORTED(test_rounds_that_differ_are_counted),
        REPORTED(test_text_of_others_is_code),
        REPORTED(test_a_run_without_a_round_says_so),
        REPORTED(test_an_interrupted_run_says_so),
        REPORTED(test_machine_and_revision_are_told),
        REPORTED(test_a_full_disk_is_told),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
