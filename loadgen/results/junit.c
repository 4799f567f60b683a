/* Writes XML: the tests into memory first, because their numbers stand before them. */
#include "junit.h"

#include "exit_code.h"
#include "folder_files.h"
#include "iso_time.h"
#include "report.h"
#include "sentence.h"
#include "shop_lines.h"
#include "summary_read.h"
#include "xml_text.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define CASE_NAME   (STRATEGY_SPEC_SIZE + THRESHOLD_TEXT + 64)
#define ANY_ANOMALY ((UINT32_C(1) << ANOMALY_COUNT) - 1)

struct junit {
    const struct summary *summary;
    FILE *tests;
    size_t count, failures, errors, skipped;
};

/* ---- text */

/* ` name="value"` */
static void put_attribute(const char *name, const char *value, FILE *to) {
    fprintf(to, " %s=\"", name);
    xml_text_put(value, true, to);
    putc('"', to);
}

/* ---- tests */

static void test_begin(struct junit *junit, const char *class, const char *name, double seconds) {
    fputs("    <testcase", junit->tests);
    put_attribute("classname", class, junit->tests);
    put_attribute("name", name, junit->tests);
    fprintf(junit->tests, " time=\"%.3f\"", seconds);
    junit->count++;
}

static void test_end_passed(struct junit *junit) {
    fputs("/>\n", junit->tests);
}

static void test_end_skipped(struct junit *junit, const char *why) {
    fputs(">\n      <skipped", junit->tests);
    put_attribute("message", why, junit->tests);
    fputs("/>\n    </testcase>\n", junit->tests);
    junit->skipped++;
}

/* `element` is failure or error. */
static void test_end_bad(struct junit *junit, const char *element, const char *type,
                         const char *message, const char *text) {
    fprintf(junit->tests, ">\n      <%s", element);
    put_attribute("type", type, junit->tests);
    put_attribute("message", message, junit->tests);
    putc('>', junit->tests);
    xml_text_put(text, false, junit->tests);
    fprintf(junit->tests, "</%s>\n    </testcase>\n", element);
    *(strcmp(element, "error") == 0 ? &junit->errors : &junit->failures) += 1;
}

/* ---- verdicts */

/* The sentence of the strategy, and then its round; or all of its rounds for NULL. */
static char *evidence(const struct summary *summary, const struct result *result,
                      const struct round *round) {
    char sentence[SENTENCE_TEXT], *text = NULL;
    size_t size;
    FILE *to = open_memstream(&text, &size);

    if (to == NULL)
        return NULL;
    fprintf(to, "%s\n\n", sentence_make(result, summary->options, sentence));
    for (size_t i = 0; i < result->count; i++)
        if (round == NULL || result->rounds[i] == round)
            violations_print_round(result->rounds[i], to);
    if (fclose(to) == 0)
        return text;
    free(text);
    return NULL;
}

/* Compares the verdict of one round, or of all rounds for NULL, and ends its test. */
static void test_end_judged(struct junit *junit, const struct result *result,
                            const struct round *round, const struct expectation *expectation) {
    const struct verdict *verdict = round != NULL ? &round->verdict : &result->verdict;
    const char *kind = verdict_kind_name(verdict->kind);
    char found[TABLE_CELL], miss[EXPECT_MISS], message[TABLE_CELL + EXPECT_MISS], *text;

    if (verdict->kind == VERDICT_UNJUDGED) {
        test_end_skipped(junit, "nothing was judged, because of --no-judge");
        return;
    }
    text = evidence(junit->summary, result, round);
    switch (expect_hold(expectation, verdict)) {
    case EXPECT_MET:
        test_end_passed(junit);
        break;
    case EXPECT_FAILED:
        snprintf(message, sizeof message, "%s: %s", report_verdict(verdict, found),
                 expect_tell(expectation, verdict, miss));
        test_end_bad(junit, "failure", kind, message, text != NULL ? text : "out of memory");
        break;
    case EXPECT_OPEN:
        test_end_bad(junit, "error", kind,
                     verdict->reasons > 0 ? verdict->reason[0] : "the run proves nothing",
                     text != NULL ? text : "out of memory");
        break;
    }
    free(text);
}

static double seconds_of(const struct round *round) {
    if (round->started_us > 0 && round->ended_us > round->started_us)
        return (double)(round->ended_us - round->started_us) / 1e6;
    return (double)round->recorder->last_ns / 1e9;
}

/* A strategy that is listed twice gets two names, so that both tests are kept. */
static void name_strategy(const struct strategy_list *list, size_t strategy, char name[CASE_NAME]) {
    size_t same = 1;

    for (size_t i = 0; i < strategy; i++)
        same += strcmp(list->items[i].given, list->items[strategy].given) == 0;
    snprintf(name, CASE_NAME, same > 1 ? "%s (%zu)" : "%s", list->items[strategy].given, same);
}

static const struct result *result_of(const struct summary *summary, size_t strategy) {
    for (size_t i = 0; i < summary->count; i++)
        if (summary->results[i].rounds[0]->strategy == strategy)
            return &summary->results[i];
    return NULL;
}

static const struct round *round_of(const struct result *result, size_t repeat) {
    for (size_t i = 0; result != NULL && i < result->count; i++)
        if (result->rounds[i]->repeat == repeat)
            return result->rounds[i];
    return NULL;
}

static void add_round(struct junit *junit, const struct result *result, const struct round *round,
                      const char *name, bool is_only) {
    const struct expectation *expected;
    struct expectation allowed;

    test_begin(junit, "loadgen.verdict", name, round != NULL ? seconds_of(round) : 0);
    if (round == NULL) {
        test_end_skipped(junit, "this round has no result");
        return;
    }
    expected = result->expectation;
    allowed = (struct expectation){.may = expected->is_any ? ANY_ANOMALY
                                                           : expected->must | expected->may};
    test_end_judged(junit, result, round, is_only ? expected : &allowed);
}

/* With several rounds, an expected anomaly may appear in any of them. */
static void add_expected(struct junit *junit, const struct result *result, const char *name) {
    struct expectation expectation = *result->expectation;
    char all[CASE_NAME + 16];

    if (!expectation.is_any && expectation.must == 0)
        return;
    expectation.may = ANY_ANOMALY & ~expectation.must;
    snprintf(all, sizeof all, "%s, all rounds", name);
    test_begin(junit, "loadgen.verdict", all, 0);
    test_end_judged(junit, result, NULL, &expectation);
}

static void add_strategy(struct junit *junit, size_t strategy) {
    const struct options *options = junit->summary->options;
    const struct result *result = result_of(junit->summary, strategy);
    const size_t repeats = options->repeat > 0 ? (size_t)options->repeat : 1;
    char name[CASE_NAME], numbered[CASE_NAME + 64];

    name_strategy(&options->list, strategy, name);
    if (repeats == 1) {
        add_round(junit, result, round_of(result, 0), name, true);
        return;
    }
    for (size_t i = 0; i < repeats; i++) {
        snprintf(numbered, sizeof numbered, "%s, round %zu of %zu", name, i + 1, repeats);
        add_round(junit, result, round_of(result, i), numbered, false);
    }
    if (result != NULL)
        add_expected(junit, result, name);
}

/* ---- thresholds, and the run */

static void add_threshold(struct junit *junit, const struct threshold_outcome *outcome) {
    const struct strategy_list *list = &junit->summary->options->list;
    char strategy[CASE_NAME], name[2 * CASE_NAME], value[THRESHOLD_VALUE], message[128];
    char text[2 * CASE_NAME + sizeof message + 2];

    name_strategy(list, outcome->result->rounds[0]->strategy, strategy);
    snprintf(name, sizeof name, "%s: %s", strategy, outcome->threshold->text);
    snprintf(message, sizeof message, "%s %s",
             outcome->result->count > 1 ? "worst round:" : "measured:",
             threshold_value(outcome->threshold, outcome->measured, value));
    snprintf(text, sizeof text, "%s, %s", name, message);
    test_begin(junit, "loadgen.threshold", name, 0);
    if (threshold_outcome_is_open(outcome))
        test_end_skipped(junit, "open: the run proves nothing about it");
    else if (outcome->holds)
        test_end_passed(junit);
    else
        test_end_bad(junit, "failure", "MISSED", message, text);
}

/* A run that a threshold stopped has a test that says so. */
static bool is_whole(const struct summary *summary) {
    const struct options *options = summary->options;
    const size_t planned = options->list.count * (size_t)options->repeat;

    switch (summary->exit_code) {
    case EXIT_AS_EXPECTED:
    case EXIT_UNEXPECTED:
    case EXIT_INCONCLUSIVE:
    case EXIT_THRESHOLD:
        return summary->round_count > 0 && !summary->is_interrupted && !summary->is_left_down &&
               (options->abort_on_fail || summary->round_count >= planned);
    default:
        return false;
    }
}

static void add_run(struct junit *junit) {
    const struct summary *summary = junit->summary;
    char text[128];

    test_begin(junit, "loadgen.run", "the run came to its end", 0);
    if (is_whole(summary)) {
        test_end_passed(junit);
        return;
    }
    snprintf(text, sizeof text, "exit code %d, results of %zu rounds; loadgen said why on stderr",
             summary->exit_code, summary->round_count);
    test_end_bad(junit, "error", "ENDED", summary_meaning(summary), text);
}

/* ---- the file */

static void put_property(const char *name, const char *value, FILE *to) {
    fputs("      <property", to);
    put_attribute("name", name, to);
    put_attribute("value", value, to);
    fputs("/>\n", to);
}

static void put_number(const char *name, int64_t value, FILE *to) {
    fprintf(to, "      <property name=\"%s\" value=\"%" PRId64 "\"/>\n", name, value);
}

static void junit_put_shop(const struct options *options, FILE *to) {
    const struct shop_about *about = &options->about;
    char *bases = shop_lines_bases(about);

    put_property("shop", about->name, to);
    put_property("shop_version", about->version, to);
    put_property("shop_config", about->config, to);
    put_property("shop_file", about->file, to);
    put_property("shop_bases", bases != NULL ? bases : "out of memory", to);
    put_number("customers", options->requests, to);
    free(bases);
}

static void put_properties(const struct summary *summary, const json_t *environment, FILE *to) {
    const struct options *options = summary->options;

    fputs("    <properties>\n", to);
    put_number("seed", options->seed, to);
    put_number("rate", options->rate, to);
    if (options->stages != NULL && options->stages[0] != '\0')
        put_property("stages", options->stages, to);
    put_number("requests", options->requests, to);
    put_property("revision", summary_text(json_object_get(environment, "revision"), "git"), to);
    put_number("exit_code", summary->exit_code, to);
    if (options->about.name != NULL)
        junit_put_shop(options, to);
    if (options->command_line != NULL)
        put_property("command", options->command_line, to);
    if (summary->folder != NULL)
        put_property("folder", summary->folder, to);
    fputs("    </properties>\n", to);
}

/* The schema wants the time without milliseconds and without a Z. */
static void put_suite(const struct junit *junit, FILE *to) {
    const struct summary *summary = junit->summary;
    const char *name = summary->options->name;
    char started[ISO_TIME];

    fputs("  <testsuite id=\"0\" package=\"loadgen\"", to);
    put_attribute("name", name != NULL && name[0] != '\0' ? name : "run", to);
    fprintf(to,
            " timestamp=\"%.19s\" hostname=\"localhost\" tests=\"%zu\" failures=\"%zu\" "
            "errors=\"%zu\" skipped=\"%zu\" time=\"%.3f\">\n",
            iso_time(started, summary->started_us), junit->count, junit->failures, junit->errors,
            junit->skipped, (double)(summary->ended_us - summary->started_us) / 1e6);
}

static void put_sentences(const struct summary *summary, FILE *to) {
    char sentence[SENTENCE_TEXT], not_asked[VERDICT_NOT_ASKED];

    fputs("    <system-out>", to);
    for (size_t i = 0; i < summary->count; i++) {
        xml_text_put(sentence_make(&summary->results[i], summary->options, sentence), false, to);
        if (verdict_not_asked(&summary->results[i].verdict, not_asked) != NULL) {
            fputs("; not asked: ", to);
            xml_text_put(not_asked, false, to);
        }
        putc('\n', to);
    }
    fputs("</system-out>\n    <system-err></system-err>\n", to);
}

static void add_all(struct junit *junit) {
    const struct summary *summary = junit->summary;
    const bool has_plan = summary->options->command == COMMAND_FIRE;

    add_run(junit);
    /* A `check` that found no history knows nothing of the run's strategies. */
    for (size_t i = 0; i < summary->options->list.count && has_plan; i++)
        add_strategy(junit, i);
    for (size_t i = 0; i < summary->outcome_count; i++)
        add_threshold(junit, &summary->outcomes[i]);
}

int junit_write(const struct summary *summary, const json_t *environment, FILE *to) {
    struct junit junit = {.summary = summary};
    char *tests = NULL;
    size_t size;

    junit.tests = open_memstream(&tests, &size);
    if (junit.tests == NULL)
        return -1;
    add_all(&junit);
    if (fclose(junit.tests) != 0) {
        free(tests);
        return -1;
    }
    fputs("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n", to);
    put_suite(&junit, to);
    put_properties(summary, environment, to);
    fputs(tests, to);
    put_sentences(summary, to);
    fputs("  </testsuite>\n</testsuites>\n", to);
    free(tests);
    return fflush(to) == 0 && !ferror(to) ? 0 : -1;
}
