/* Writes Markdown. */
#include "digest.h"

#include "duration.h"
#include "exit_code.h"
#include "folder_files.h"
#include "markdown.h"
#include "report.h"
#include "sentence.h"
#include "shop_lines.h"
#include "summary_read.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define GOOD "✅"
#define BAD  "❌"
#define OPEN "⚠️"

/* ---- the table of verdicts */

/* "VIOLATED in 2 of 3 rounds: TWIN 431, LEAK 31" */
static void put_verdict(const struct result *result, FILE *to) {
    const struct verdict *verdict = &result->verdict;
    const char *before = ": ";
    size_t same = 0;

    for (size_t i = 0; i < result->count; i++)
        same += result->rounds[i]->verdict.kind == verdict->kind;
    fputs(verdict_kind_name(verdict->kind), to);
    if (same < result->count)
        fprintf(to, " in %zu of %zu rounds", same, result->count);
    for (int i = 0; i < ANOMALY_COUNT; i++)
        if (verdict->found[i].count > 0) {
            fprintf(to, "%s%s %" PRId64, before, anomaly_name((enum anomaly)i),
                    verdict->found[i].count);
            before = ", ";
        }
}

static void put_expected(const struct result *result, FILE *to) {
    char miss[EXPECT_MISS];

    if (result->verdict.kind == VERDICT_UNJUDGED) {
        putc('-', to);
        return;
    }
    switch (expect_hold(result->expectation, &result->verdict)) {
    case EXPECT_MET:
        fputs(GOOD " yes", to);
        break;
    case EXPECT_FAILED:
        fprintf(to, BAD " no: %s", expect_tell(result->expectation, &result->verdict, miss));
        break;
    case EXPECT_OPEN:
        fputs(OPEN " open", to);
        break;
    }
}

static void put_figures(const struct summary *summary, const struct result *result, FILE *to) {
    const struct verdict *verdict = &result->verdict;
    const struct options *options = summary->options;
    char p50[DURATION_TEXT], p99[DURATION_TEXT];

    if (verdict->distinct == 0 && verdict->left == 0) /* no ledger was read */
        fputs("-", to);
    else
        fprintf(to, "%" PRId64 " / %" PRId64, verdict->sold,
                options->stock * options->items * (int64_t)result->count);
    if (result->total->latency.count == 0) /* stopped before the first answer */
        fputs(" | - | - | -", to);
    else
        fprintf(to, " | %s | %s | %.0f", duration_ms(p50, result->p50_ms.median),
                duration_ms(p99, result->p99_ms.median), result->rate.median);
}

static void put_table(const struct summary *summary, FILE *to) {
    fprintf(to,
            "| %s | verdict | as expected | sold / stock | p50 | p99 | answers/s |\n"
            "|---|---|---|--:|--:|--:|--:|\n",
            summary->options->about.name != NULL ? "shop" : "strategy");
    for (size_t i = 0; i < summary->count; i++) {
        const struct result *result = &summary->results[i];

        fputs("| ", to);
        markdown_cell(result->item->given, to);
        fputs(" | ", to);
        put_verdict(result, to);
        fputs(" | ", to);
        put_expected(result, to);
        fputs(" | ", to);
        put_figures(summary, result, to);
        fputs(" |\n", to);
    }
    putc('\n', to);
}

/* ---- a sentence for each, and why it is open */

/* The sentence begins with its subject, which stands in code. */
static void digest_put_sentence(const struct summary *summary, const struct result *result,
                                FILE *to) {
    char subject[SENTENCE_SUBJECT], sentence[SENTENCE_TEXT];
    const size_t length = strlen(sentence_subject(result, summary->options, subject));

    fputs("- ", to);
    markdown_code(subject, to);
    fprintf(to, "%s%s\n", sentence_make(result, summary->options, sentence) + length,
            shop_lines_is_one_round(result, summary->options) ? "; " SHOP_LINES_ONE_ROUND : "");
}

/* A reason may repeat a server's message. */
static void put_reasons(const struct result *result, FILE *to) {
    const struct verdict *verdict = &result->verdict;

    if (verdict->kind != VERDICT_INCONCLUSIVE || verdict->reasons == 0)
        return;
    fputs("Why ", to);
    markdown_code(result->item->given, to);
    fputs(" is inconclusive:\n\n", to);
    for (size_t i = 0; i < verdict->reasons; i++) {
        fputs("- ", to);
        markdown_code(verdict->reason[i], to);
        putc('\n', to);
    }
    putc('\n', to);
}

/* ---- thresholds */

static void put_thresholds(const struct summary *summary, FILE *to) {
    if (summary->outcome_count == 0)
        return;
    fputs("| threshold | strategy | | measured |\n|---|---|---|--:|\n", to);
    for (size_t i = 0; i < summary->outcome_count; i++) {
        const struct threshold_outcome *outcome = &summary->outcomes[i];
        char value[THRESHOLD_VALUE];

        fputs("| ", to);
        markdown_cell(outcome->threshold->text, to);
        fputs(" | ", to);
        markdown_cell(outcome->result->item->given, to);
        fprintf(to, " | %s | %s%s |\n",
                threshold_outcome_is_open(outcome) ? OPEN " open"
                : outcome->holds                   ? GOOD " kept"
                                                   : BAD " missed",
                outcome->result->count > 1 ? "worst round: " : "",
                threshold_value(outcome->threshold, outcome->measured, value));
    }
    putc('\n', to);
}

/* ---- the proof */

static bool is_unexpected(const struct expectation *expected, enum anomaly anomaly) {
    return !expected->is_any && ((expected->must | expected->may) >> anomaly & 1) == 0;
}

/* The first counterexample of an anomaly that was not expected; or, without any, its examples. */
static bool put_proof_of_round(const struct result *result, const struct round *round, FILE *to) {
    const struct verdict *verdict = &round->verdict;

    for (size_t i = 0; i < verdict->counterexamples; i++)
        if (is_unexpected(result->expectation, verdict->counterexample[i].anomaly)) {
            violations_print_counterexample(round, i, to);
            return true;
        }
    for (int i = 0; i < ANOMALY_COUNT; i++) {
        const struct anomaly_found *found = &verdict->found[i];

        if (found->count == 0 || !is_unexpected(result->expectation, (enum anomaly)i))
            continue;
        fprintf(to, "%s, %" PRId64 " times: %s\n", anomaly_name((enum anomaly)i), found->count,
                anomaly_text((enum anomaly)i));
        for (size_t e = 0; e < found->examples; e++)
            fprintf(to, "  %s\n", found->example[e]);
        return true;
    }
    return false;
}

static const struct result *first_violation(const struct summary *summary, FILE *to) {
    for (size_t i = 0; i < summary->count; i++)
        for (size_t r = 0; r < summary->results[i].count; r++)
            if (put_proof_of_round(&summary->results[i], summary->results[i].rounds[r], to))
                return &summary->results[i];
    return NULL;
}

static void put_proof(const struct summary *summary, FILE *to) {
    const struct result *result;
    char *text = NULL;
    size_t size;
    FILE *proof = open_memstream(&text, &size);

    if (proof == NULL)
        return;
    result = first_violation(summary, proof);
    if (fclose(proof) == 0 && result != NULL) {
        fputs("How ", to);
        markdown_code(result->item->given, to);
        fputs(" was violated:\n\n<details>\n<summary>Counterexample</summary>\n", to);
        markdown_block(text + strspn(text, "\n"), to);
        fputs("</details>\n\n", to);
    }
    free(text);
}

/* ---- how the run was made */

static void put_line(const char *title, const char *text, FILE *to) {
    fprintf(to, "- %s: ", title);
    markdown_code(text, to);
    putc('\n', to);
}

static void put_machine(const json_t *environment, FILE *to) {
    const json_t *machine = json_object_get(environment, "machine");
    char text[512];

    if (machine == NULL)
        return;
    snprintf(text, sizeof text, "%.200s, %lld cores, %.1f GiB, %.100s %.100s",
             summary_text(machine, "cpu"),
             (long long)json_integer_value(json_object_get(machine, "cores")),
             json_number_value(json_object_get(machine, "memory_bytes")) / (1 << 30),
             summary_text(machine, "system"), summary_text(machine, "kernel"));
    put_line("machine", text, to);
}

static void digest_put_shop(const struct shop_about *about, FILE *to) {
    char text[600], *bases = shop_lines_bases(about);

    snprintf(text, sizeof text, "%s%s%s", about->name, about->version[0] != '\0' ? " " : "",
             about->version);
    put_line("shop", text, to);
    put_line("base URLs", bases != NULL ? bases : "out of memory", to);
    if (about->config[0] != '\0')
        put_line("settings of the shop", about->config, to);
    free(bases);
}

static void put_load(const struct options *options, FILE *to) {
    char seed[32], *what = report_what(options);

    if (options->about.name != NULL)
        digest_put_shop(&options->about, to);
    put_line("load", what != NULL ? what : "out of memory", to);
    free(what);
    snprintf(seed, sizeof seed, "%" PRId64, options->seed);
    put_line("seed", seed, to);
}

static void put_conditions(const struct summary *summary, const json_t *environment, FILE *to) {
    const json_t *revision = json_object_get(environment, "revision");
    const struct options *options = summary->options;
    char text[64];

    if (options->command == COMMAND_FIRE) /* else it was not read from a history */
        put_load(options, to);
    put_machine(environment, to);
    if (revision != NULL) {
        snprintf(text, sizeof text, "%.40s%s", summary_text(revision, "git"),
                 json_is_true(json_object_get(revision, "is_dirty")) ? ", with changes" : "");
        put_line("loadgen's revision", text, to);
    }
    if (options->command_line != NULL && options->command_line[0] != '\0')
        put_line("command", options->command_line, to);
}

/* ---- all of it */

static void put_not_asked(const struct result *result, FILE *to) {
    char text[VERDICT_NOT_ASKED], asked[SENTENCE_TEXT];
    const char *not_asked = verdict_not_asked(&result->verdict, text);

    if (not_asked == NULL)
        return;
    if (sentence_asked(&result->verdict, asked) != NULL) {
        fputs("Asked of ", to);
        markdown_code(result->item->given, to);
        fprintf(to, ": %s.\n\n", asked);
    }
    fputs("Not asked of ", to);
    markdown_code(result->item->given, to);
    fprintf(to, ": %s.\n\n", not_asked);
}

static const char *mark_of(int exit_code) {
    if (exit_code == EXIT_AS_EXPECTED)
        return GOOD;
    return exit_code == EXIT_INCONCLUSIVE || exit_code == EXIT_INTERRUPTED ? OPEN : BAD;
}

static void put_head(const struct summary *summary, FILE *to) {
    const char *name = summary->options->name;

    fprintf(to, "### %s ", mark_of(summary->exit_code));
    if (name != NULL && name[0] != '\0') {
        markdown_code(name, to);
        fputs(": ", to);
    }
    fprintf(to, "%s (loadgen ended with %d)\n\n", summary_meaning(summary), summary->exit_code);
}

int digest_write(const struct summary *summary, const json_t *environment, FILE *to) {
    put_head(summary, to);
    if (summary->count > 0)
        put_table(summary, to);
    else
        fputs("There are no results. loadgen said why on stderr: see the log of the job.\n\n", to);
    for (size_t i = 0; i < summary->count; i++)
        digest_put_sentence(summary, &summary->results[i], to);
    fputs(summary->count > 0 ? "\n" : "", to);
    for (size_t i = 0; i < summary->count; i++)
        put_reasons(&summary->results[i], to);
    for (size_t i = 0; i < summary->count; i++)
        put_not_asked(&summary->results[i], to);
    put_thresholds(summary, to);
    put_proof(summary, to);
    put_conditions(summary, environment, to);
    return fflush(to) == 0 && !ferror(to) ? 0 : -1;
}
