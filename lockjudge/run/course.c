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
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define AGAIN_MAX    3
#define CALM_WORKERS 4
#define LINE         256

/* ---- rows */

static bool is_named(const char *names, const char *name) {
    const size_t length = strlen(name);

    if (names[0] == '\0')
        return true;
    for (const char *at = names;; at++) {
        const size_t word = strcspn(at, ",");

        if (word == length && strncmp(at, name, word) == 0)
            return true;
        at += word;
        if (*at == '\0')
            return false;
    }
}

static void row_name(const struct fault *fault, enum fault_moment moment, char *name) {
    if (moment == FAULT_AT_NONE)
        (void)snprintf(name, REPORT_ROW_NAME, "%s", fault->name);
    else
        (void)snprintf(name, REPORT_ROW_NAME, "%s-%s", fault->name, fault_moment_word(moment));
}

static size_t count_words(const char *names) {
    size_t words = names[0] != '\0';

    for (; *names != '\0'; names++)
        words += *names == ',';
    return words;
}

int course_plan(struct report *report, const char *names, struct why *why) {
    const struct fault *fault;
    char known[700] = "";
    size_t room = 1;

    for (size_t i = 0; fault_at(i) != NULL; i++)
        room += FAULT_MOMENT_COUNT;
    report->count = 0;
    report->rows = calloc(room, sizeof *report->rows);
    if (report->rows == NULL)
        return why_set(why, "out of memory");
    for (size_t i = 0; (fault = fault_at(i)) != NULL; i++)
        for (int moment = 0; moment < FAULT_MOMENT_COUNT; moment++) {
            struct report_row *row = &report->rows[report->count];
            const size_t used = strlen(known);

            if ((fault->moments >> moment & 1) == 0)
                continue;
            *row = (struct report_row){
                .fault = fault, .moment = (enum fault_moment)moment, .verdict = ORACLE_UNASKED};
            row_name(fault, row->moment, row->name);
            (void)snprintf(known + used, sizeof known - used, " %s", row->name);
            report->count += is_named(names, row->name);
        }
    return report->count > 0 && (names[0] == '\0' || report->count >= count_words(names))
               ? 0
               : why_set(why, "--faults names a fault that there is not; these are:%s", known);
}

void course_free(struct report *report) {
    for (size_t i = 0; i < report->count; i++)
        history_free(&report->rows[i].history);
    free(report->rows);
    report->rows = NULL;
    report->count = 0;
}

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

static void row_expect(struct report_row *row, const char *expect, unsigned caps) {
    struct expectation expectation = {.verdicts = expect_model(row->fault, row->moment, caps),
                                      .never = expect_model_words(caps)};
    struct why why;
    char line[LINE];

    while ((expect = next_line(expect, line)) != NULL)
        (void)expect_read(line, row->name, &expectation, &why);
    row->is_unexpected = !expect_hold(&expectation, row);
    expect_text(&expectation, row->expected, sizeof row->expected);
}

/* ---- trials */

/* The same for each run with this seed, whichever other rows it has. */
static uint64_t row_seed(const struct report_row *row, uint64_t seed, unsigned trial) {
    uint64_t hash = UINT64_C(14695981039346656037); /* FNV-1a */

    for (const char *at = row->name; *at != '\0'; at++)
        hash = (hash ^ (unsigned char)*at) * UINT64_C(1099511628211);
    return plan_seed(seed ^ hash, trial);
}

static void row_take(struct report_row *row, struct trial_outcome *outcome,
                     const struct oracle *oracle, uint64_t seed, unsigned workers) {
    if (row->trials++ > 0 && oracle->verdict <= row->verdict) {
        history_free(&outcome->history);
        return;
    }
    history_free(&row->history);
    row->history = outcome->history;
    row->oracle = *oracle;
    row->verdict = oracle->verdict;
    row->seed = seed;
    row->victim = plan_make(seed, workers).victim;
    row->grant = plan_make(seed, workers).grant;
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
    else if (!outcome->has_struck && setup->moment != FAULT_AT_NONE)
        (void)snprintf(reason, size, "the moment of the fault never came");
    else if (oracle->stalled_ns > setup->ttl_ms * 1000000 / 4)
        (void)snprintf(reason, size, "the machine stalled for %.0f ms",
                       (double)oracle->stalled_ns / 1e6);
}

/* One trial, again if the machine stalled. False: the row ends here. */
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
        if (row->reason[0] == '\0') {
            row_take(row, &outcome, &oracle, setup->seed, setup->workers);
            return true;
        }
        history_free(&outcome.history);
        if (code != 0 || oracle.stalled_ns == 0)
            break;
        row->again++;
    }
    if (row->trials == 0)
        row->verdict = ORACLE_UNJUDGED;
    return false;
}

/* Is there all that the fault needs? Else the row has the reason. */
static bool row_is_askable(const struct course *course, struct report_row *row) {
    const struct fault *fault = row->fault;
    const char *reason = "";
    struct why why;

    if (fault->needs & FAULT_NEEDS_PROXY && !command_has_url(course->command))
        reason = "it needs --url, and {url} in the worker's arguments";
    else if (fault->needs & FAULT_NEEDS_PROXY && !proxy_has_server(course->url))
        reason = "the URL has no host:port of each server";
    else if (fault->needs & FAULT_NEEDS_SERVER && course->servers == NULL)
        reason = "it needs --server";
    else if (fault->needs & FAULT_NEEDS_SERVER && !servers_can(course->servers, fault->verb))
        reason = "the command of --server cannot do it";
    else if (course->has_caps && fault_lacks(fault, course->report->caps, &why))
        reason = why.text;
    (void)snprintf(row->reason, sizeof row->reason, "%.390s", reason);
    return reason[0] == '\0';
}

static void row_judge(struct course *course, struct report_row *row) {
    const struct report *report = course->report;
    char name[64];
    struct trial_setup setup = {
        .loop = course->loop,
        .command = course->command,
        .url = course->url,
        .workers = row->moment == FAULT_AT_NONE ? CALM_WORKERS : report->workers,
        .ttl_ms = report->ttl_ms,
        .slack_ms = report->slack_ms,
        .start_ms = course->start_ms,
        .fault = row->fault,
        .moment = row->moment,
        .lock_name = name,
        .servers = course->servers,
        .is_stopped = &course->is_stopped,
    };

    if (!row_is_askable(course, row))
        return;
    for (unsigned trial = 0; trial < course->trials; trial++) {
        setup.seed = row_seed(row, report->seed, trial);
        /* A name of its own, so that no lock of an earlier trial is in the way. */
        (void)snprintf(name, sizeof name, "lockjudge-%d-%08" PRIx32 "-%s-%u", (int)getpid(),
                       (uint32_t)uv_hrtime(), row->name, trial);
        if (!row_try(course, row, &setup))
            break;
    }
}

int course_run(struct course *course, struct why *why) {
    for (size_t i = 0; i < course->report->count && !course->is_stopped; i++) {
        struct report_row *row = &course->report->rows[i];

        row_judge(course, row);
        row_expect(row, course->expect, course->report->caps);
        if (course->progress != NULL && !course->is_stopped)
            report_progress(row, course->progress);
        if (course->report->caps == 0 && i == 0 && row->verdict == ORACLE_UNJUDGED &&
            row->oracle.grants == 0 && row->again == 0)
            return why_set(why, "%.390s", row->reason);
    }
    return 0;
}
