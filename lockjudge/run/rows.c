#include "rows.h"

#include "number.h"
#include "pair.h"
#include "plan.h"

#include <stdlib.h>
#include <string.h>

#define WORD  32
#define KNOWN 1000

/* ---- single rows */

/* Calls `each` for each row of the table until it returns true. */
static bool table_search(bool (*each)(const struct fault_case *one, void *data), void *data) {
    const struct fault *fault;

    for (size_t i = 0; (fault = fault_at(i)) != NULL; i++)
        for (int moment = 0; moment < FAULT_MOMENT_COUNT; moment++) {
            const struct fault_case one = {fault, (enum fault_moment)moment};

            if (fault->moments >> moment & 1 && each(&one, data))
                return true;
        }
    return false;
}

static bool has_name(const struct fault_case *one, const char *name, size_t length) {
    char text[WORD];

    return strlen(fault_case_name(one, text, sizeof text)) == length &&
           strncmp(text, name, length) == 0;
}

struct search {
    const char *name;
    size_t length;
    struct fault_case found;
};

static bool is_searched(const struct fault_case *one, void *data) {
    struct search *search = data;

    search->found = *one;
    return has_name(one, search->name, search->length);
}

static bool find_case(const char *name, size_t length, struct fault_case *found) {
    struct search search = {name, length, {NULL, FAULT_AT_NONE}};
    const bool is_found = table_search(is_searched, &search);

    *found = search.found;
    return is_found;
}

/* ---- the list */

static bool has_row(const struct report *report, const char *name) {
    for (size_t i = 0; i < report->count; i++)
        if (strcmp(report->rows[i].name, name) == 0)
            return true;
    return false;
}

/* Each row once, however often it is named. */
static int rows_add(struct report *report, const struct fault_case *first,
                    const struct fault_case *second, struct why *why) {
    struct report_row new = {.cases = {*first}, .verdict = ORACLE_UNASKED}, *rows;
    char one[WORD], other[WORD];

    (void)fault_case_name(first, one, sizeof one);
    if (second != NULL) {
        new.cases[1] = *second;
        (void)snprintf(new.name, sizeof new.name, "%s+%s", one,
                       fault_case_name(second, other, sizeof other));
    } else {
        (void)snprintf(new.name, sizeof new.name, "%s", one);
    }
    if (has_row(report, new.name))
        return 0;
    rows = realloc(report->rows, (report->count + 1) * sizeof *rows);
    if (rows == NULL)
        return why_set(why, "out of memory");
    report->rows = rows;
    rows[report->count++] = new;
    return 0;
}

struct adding {
    struct report *report;
    const char *names;
    struct why *why;
    int code;
};

static bool is_named(const char *names, const struct fault_case *one) {
    while (*names != '\0') {
        const size_t length = strcspn(names, ",");

        if (has_name(one, names, length))
            return true;
        names += length + (names[length] == ',');
    }
    return false;
}

static bool add_single(const struct fault_case *one, void *data) {
    struct adding *adding = data;

    if (adding->names[0] == '\0' || is_named(adding->names, one))
        adding->code = rows_add(adding->report, one, NULL, adding->why);
    return adding->code != 0;
}

/* ---- names */

static bool add_name(const struct fault_case *one, void *data) {
    char *known = data, text[WORD];
    const size_t used = strlen(known);

    (void)snprintf(known + used, KNOWN - used, " %s", fault_case_name(one, text, sizeof text));
    return false;
}

static int refuse_name(const char *name, size_t length, struct why *why) {
    char known[KNOWN] = "";

    (void)table_search(add_name, known);
    return why_set(why,
                   "--faults: there is no row \"%.*s\"; these are:%s; and pairs of them, for "
                   "example stop-held+kill-wait",
                   (int)number_min((int64_t)length, 60), name, known);
}

/* A word of --faults. A single row was added before. */
static int take_name(struct report *report, const char *name, size_t length, struct why *why) {
    const char *plus = memchr(name, '+', length);
    struct fault_case first, second;
    const char *refusal;
    size_t rest;

    if (plus == NULL)
        return find_case(name, length, &first) ? 0 : refuse_name(name, length, why);
    rest = length - (size_t)(plus + 1 - name);
    if (!find_case(name, (size_t)(plus - name), &first))
        return refuse_name(name, (size_t)(plus - name), why);
    if (!find_case(plus + 1, rest, &second))
        return refuse_name(plus + 1, rest, why);
    refusal = pair_refusal(&first, &second);
    if (refusal != NULL)
        return why_set(why, "--faults: \"%.*s\" is no pair: %s", (int)length, name, refusal);
    return rows_add(report, &first, &second, why);
}

static int take_names(struct report *report, const char *names, struct why *why) {
    while (*names != '\0') {
        const size_t length = strcspn(names, ",");

        if (take_name(report, names, length, why) != 0)
            return -1;
        names += length + (names[length] == ',');
    }
    return 0;
}

/* ---- the pairs of its rows */

static int add_pair(struct report *report, const struct rows_wish *wish, struct fault_case first,
                    struct fault_case second, struct why *why) {
    if (((first.fault->needs | second.fault->needs) & ~wish->needs) != 0)
        return 0;
    if (pair_refusal(&first, &second) == NULL)
        return rows_add(report, &first, &second, why);
    return pair_refusal(&second, &first) == NULL ? rows_add(report, &second, &first, why) : 0;
}

static int add_pairs(struct report *report, const struct rows_wish *wish, size_t singles,
                     struct why *why) {
    for (size_t i = 0; i < singles; i++)
        for (size_t j = i + 1; j < singles; j++)
            if (add_pair(report, wish, report->rows[i].cases[0], report->rows[j].cases[0], why) !=
                0)
                return -1;
    return 0;
}

/* Knuth's selection sampling: each pair is kept with the chance that makes `sample` of them. */
static void choose_pairs(struct report *report, size_t from, size_t sample) {
    size_t kept = from, rest = report->count - from;

    for (size_t i = from; i < report->count; i++, rest--) {
        const uint64_t number = plan_seed_of(report->seed, report->rows[i].name);

        if (number % rest < sample) {
            report->rows[kept++] = report->rows[i];
            sample--;
        }
    }
    report->count = kept;
}

int rows_plan(struct report *report, const struct rows_wish *wish, struct why *why) {
    struct adding adding = {report, wish->names, why, 0};
    size_t singles, named;

    report->rows = NULL;
    report->count = 0;
    (void)table_search(add_single, &adding);
    singles = report->count;
    if (adding.code != 0 || take_names(report, wish->names, why) != 0)
        return -1;
    named = report->count;
    if (wish->has_pairs && add_pairs(report, wish, singles, why) != 0)
        return -1;
    if (wish->has_pairs && rows_pairs(report) == 0)
        return why_set(why, "--pairs: the rows of this run make no pair");
    if (wish->sample > 0)
        choose_pairs(report, named, (size_t)wish->sample);
    return 0;
}

void rows_free(struct report *report) {
    for (size_t i = 0; i < report->count; i++)
        history_free(&report->rows[i].history);
    free(report->rows);
    report->rows = NULL;
    report->count = 0;
}

/* ---- how many, how long */

size_t rows_pairs(const struct report *report) {
    size_t pairs = 0;

    for (size_t i = 0; i < report->count; i++)
        pairs += report->rows[i].cases[1].fault != NULL;
    return pairs;
}

/* In percent of the TTL: its usual length, or the time until the lock of a dead one is free. */
static int64_t case_pct(const struct fault_case *one) {
    const struct fault *fault = one->fault;

    if (fault == NULL)
        return 0;
    if (one->moment == FAULT_AT_NONE || one->moment == FAULT_AT_WAIT)
        return 130;
    return fault->least_pct > 0                          ? fault->least_pct
           : fault->end == NULL || fault->most_pct > 100 ? 100
                                                         : fault->most_pct;
}

int64_t rows_ms(const struct report *report) {
    int64_t ms = 0;

    for (size_t i = 0; i < report->count; i++) {
        const struct fault_case *cases = report->rows[i].cases;
        const int64_t first = case_pct(&cases[0]), second = case_pct(&cases[1]);

        ms += 500 + report->ttl_ms * (30 + number_max(first, first / 2 + second)) / 100;
    }
    return ms * report->trials;
}
