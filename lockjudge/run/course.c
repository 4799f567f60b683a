/* A trial in which the machine stalled for a part of the TTL shows nothing of the lock: it is
 * repeated, and if all of them are like that, the row says so. */
#include "course.h"

#include "command.h"
#include "expect.h"
#include "plan.h"
#include "proxy.h"
#include "servers.h"
#include "trial.h"

#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#define AGAIN_MAX    3
#define CALM_WORKERS 4
#define LINE         256
#define LOCK_NAME    (REPORT_ROW_NAME + 48)

/* ---- expectations: the last line that names a row counts */

/* Copies the next line. NULL: there is none. */
static const char *next_line(const char *text, char line[LINE]) {
    const size_t length = strcspn(text, "\n");

    if (*text == '\0')
        return NULL;
    (void)snprintf(line, LINE, "%.*s", (int)(length < LINE ? length : LINE - 1), text);
    return text + length + (text[length] == '\n');
}

int course_check_expect(const struct report *report, const char *expect, struct why *why) {
    char line[LINE];

    while ((expect = next_line(expect, line)) != NULL) {
        bool is_known = false;

        if (strlen(line) == LINE - 1)
            return why_set(why, "--expect %.40s...: it is longer than %d bytes", line, LINE - 2);
        for (size_t i = 0; i < report->count; i++) {
            struct expectation expectation;
            const int code = expect_read(line, report->rows[i].name, &expectation, why);

            if (code < 0)
                return -1;
            is_known = is_known || code > 0;
        }
        if (!is_known)
            return why_set(why, "--expect %.100s: no row of this run has this name", line);
    }
    return 0;
}

static struct expectation row_expectation(const struct report_row *row, const char *expect,
                                          unsigned caps) {
    struct expectation expectation = expect_model(row->cases, caps);
    struct why why;
    char line[LINE];

    while ((expect = next_line(expect, line)) != NULL)
        (void)expect_read(line, row->name, &expectation, &why);
    return expectation;
}

static void row_expect(struct report_row *row, const char *expect, unsigned caps) {
    const struct expectation expectation = row_expectation(row, expect, caps);

    row->is_unexpected = !expect_hold(&expectation, row);
    expect_text(&expectation, row->expected, sizeof row->expected);
}

/* The row of one fault of a pair; NULL: it is not in this run, or was not judged. */
static const struct report_row *row_alone(const struct report *report,
                                          const struct fault_case *one) {
    for (size_t i = 0; i < report->count; i++) {
        const struct report_row *row = &report->rows[i];

        if (row->cases[0].fault == one->fault && row->cases[0].moment == one->moment &&
            row->cases[1].fault == NULL && row->trials > 0)
            return row;
    }
    return NULL;
}

/* Its verdict is worse than those of its faults alone, or it has a word that the model does not
 * allow and that they do not have. */
static bool shows_more(const struct report *report, const struct report_row *pair) {
    const uint32_t never = expect_model(pair->cases, report->caps).never;
    const struct report_row *first, *second;

    if (pair->cases[1].fault == NULL || pair->verdict > ORACLE_UNTOLD)
        return false;
    first = row_alone(report, &pair->cases[0]);
    second = row_alone(report, &pair->cases[1]);
    if (first == NULL || second == NULL)
        return false;
    for (int i = 0; i < ORACLE_WORD_COUNT; i++)
        if (never >> i & 1 && pair->oracle.findings[i].count > 0 &&
            first->oracle.findings[i].count == 0 && second->oracle.findings[i].count == 0)
            return true;
    return pair->verdict > first->verdict && pair->verdict > second->verdict;
}

/* ---- trials */

/* The worst trial tells the row. */
static void row_take(struct report_row *row, const struct expectation *expectation,
                     struct trial_outcome *outcome, const struct oracle *oracle,
                     const struct trial_setup *setup) {
    const struct plan plan = plan_make(setup->seed, setup->workers);

    if (row->trials++ > 0 &&
        expect_rank(expectation, oracle) <= expect_rank(expectation, &row->oracle)) {
        history_free(&outcome->history);
        return;
    }
    history_free(&row->history);
    row->history = outcome->history;
    row->oracle = *oracle;
    row->verdict = oracle->verdict;
    row->seed = setup->seed;
    row->victim = plan.victim;
    row->grant = plan.grant;
    row->second_pct = plan.second_pct;
    row->has_second_hit = outcome->has_second_hit;
    row->second_victim = outcome->second_victim;
}

static const char *last_error(const struct history *history) {
    for (size_t i = history->count; i > 0; i--)
        if (history->items[i - 1].result == HISTORY_RESULT_ERROR)
            return history->items[i - 1].text;
    return "";
}

/* Why the trial shows nothing; "" if it does. */
static void trial_doubt(const struct trial_setup *setup, const struct trial_outcome *outcome,
                        const struct oracle *oracle, char *reason, size_t size) {
    const char *error = last_error(&outcome->history);

    reason[0] = '\0';
    if (oracle->grants == 0)
        (void)snprintf(reason, size, "no worker got the lock%s%s", error[0] != '\0' ? ": " : "",
                       error);
    else if (!outcome->has_struck && setup->cases[0].moment != FAULT_AT_NONE)
        (void)snprintf(reason, size, "the moment of the %sfault never came",
                       setup->cases[1].fault != NULL ? "second " : "");
    else if (outcome->has_missed)
        (void)snprintf(reason, size, "no reply came that the fault could hit");
    else if (oracle->stalled_ns > setup->ttl_ms * 1000000 / 4)
        (void)snprintf(reason, size, "the machine stalled for %.0f ms",
                       (double)oracle->stalled_ns / 1e6);
}

/* A busy machine, too, may keep a client from its renewals. So a loss under load counts if it comes
 * in each of three trials. */
static bool is_doubtful(const struct trial_setup *setup, const struct oracle *oracle,
                        unsigned tries) {
    const bool is_lost =
        oracle->verdict > ORACLE_SAFE || oracle->findings[ORACLE_LOST_UNDER_LOAD].count > 0;

    return setup->cases[0].fault->flags & HISTORY_LOADS && is_lost && tries < 2;
}

/* One trial, again if it is in doubt. False: the row ends here. */
static bool row_try(struct course *course, struct report_row *row, struct trial_setup *setup) {
    for (unsigned i = 0; i <= AGAIN_MAX && !course->is_stopped; i++) {
        struct trial_outcome outcome;
        struct oracle oracle = {.grants = 0};
        struct why why;
        const int code = trial_run(setup, &outcome, &why);

        course->report->caps |= outcome.caps;
        course->has_caps = course->has_caps || outcome.has_caps;
        if (outcome.is_unasked) {
            (void)snprintf(row->reason, sizeof row->reason, "%.380s", why.text);
            history_free(&outcome.history);
            return false;
        }
        if (oracle_judge(&outcome.history, setup->slack_ms, &oracle) != 0)
            (void)snprintf(row->reason, sizeof row->reason, "out of memory");
        else if (code != 0)
            (void)snprintf(row->reason, sizeof row->reason, "%.380s", why.text);
        else
            trial_doubt(setup, &outcome, &oracle, row->reason, sizeof row->reason);
        if (row->reason[0] == '\0' && !is_doubtful(setup, &oracle, i)) {
            const struct expectation expectation =
                row_expectation(row, course->expect, course->report->caps);

            row_take(row, &expectation, &outcome, &oracle, setup);
            return true;
        }
        history_free(&outcome.history);
        if (row->reason[0] != '\0' && (code != 0 || oracle.stalled_ns == 0))
            break;
        row->again++;
    }
    if (row->trials == 0)
        row->verdict = ORACLE_UNJUDGED;
    return false;
}

/* True, with the reason: there is not all that the fault needs. */
static bool case_lacks(const struct course *course, const struct fault *fault, struct why *why) {
    const char *reason = NULL;

    if (fault == NULL)
        return false;
    if (fault->needs & FAULT_NEEDS_PROXY && !command_has_url(course->command))
        reason = "it needs --url, and {url} in the worker's arguments";
    else if (fault->needs & FAULT_NEEDS_PROXY && !proxy_has_server(course->url))
        reason = "the URL has no host:port of each server";
    else if (fault->needs & FAULT_NEEDS_SERVER && course->servers == NULL)
        reason = "it needs --server";
    else if (fault->needs & FAULT_NEEDS_SERVER && !servers_can(course->servers, fault->verb))
        reason = "the command of --server cannot do it";
    if (reason != NULL)
        return why_set(why, "%s", reason) != 0;
    return course->has_caps && fault_lacks(fault, course->report->caps, why);
}

/* Is there all that the faults need? Else the row has the reason. */
static bool row_is_askable(const struct course *course, struct report_row *row) {
    struct why why;

    if (!case_lacks(course, row->cases[0].fault, &why) &&
        !case_lacks(course, row->cases[1].fault, &why))
        return true;
    (void)snprintf(row->reason, sizeof row->reason, "%.390s", why.text);
    return false;
}

/* A name of its own, so that no lock of an earlier trial is in the way. It has no `+`. */
static void lock_name(const struct report_row *row, unsigned trial, char *name, size_t size) {
    (void)snprintf(name, size, "lockjudge-%d-%08" PRIx32 "-%s-%u", (int)getpid(),
                   (uint32_t)uv_hrtime(), row->name, trial);
    for (; *name != '\0'; name++)
        if (*name == '+')
            *name = '-';
}

static void row_judge(struct course *course, struct report_row *row) {
    const struct report *report = course->report;
    char name[LOCK_NAME];
    struct trial_setup setup = {
        .loop = course->loop,
        .command = course->command,
        .url = course->url,
        .workers = row->cases[0].moment == FAULT_AT_NONE ? CALM_WORKERS : report->workers,
        .ttl_ms = report->ttl_ms,
        .slack_ms = report->slack_ms,
        .start_ms = course->start_ms,
        .cases = {row->cases[0], row->cases[1]},
        .lock_name = name,
        .servers = course->servers,
        .is_stopped = &course->is_stopped,
    };

    if (!row_is_askable(course, row))
        return;
    for (unsigned trial = 0; trial < course->trials; trial++) {
        /* The same for each run with this seed, whichever other rows it has. */
        setup.seed = plan_seed(plan_seed_of(report->seed, row->name), trial);
        lock_name(row, trial, name, sizeof name);
        if (!row_try(course, row, &setup))
            break;
    }
}

/* A fault that an earlier trial showed stays. Without one the row was not judged as
 * often as it was to be. */
static void row_settle(struct report_row *row) {
    if (row->trials == 0)
        return;
    if (row->is_unexpected)
        row->reason[0] = '\0';
    else if (row->reason[0] != '\0')
        row->verdict = ORACLE_UNJUDGED;
}

int course_run(struct course *course, struct why *why) {
    for (size_t i = 0; i < course->report->count && !course->is_stopped; i++) {
        struct report_row *row = &course->report->rows[i];

        row_judge(course, row);
        row_expect(row, course->expect, course->report->caps);
        row_settle(row);
        row->is_more = shows_more(course->report, row);
        if (course->progress != NULL && !course->is_stopped)
            report_progress(row, course->progress);
        if (!course->has_caps && row->verdict == ORACLE_UNJUDGED)
            return why_set(why, "%.390s", row->reason);
    }
    return 0;
}
