/* The steps of an order: made from histograms, read back, and summed over rounds. */
#include "steps.h"

#include "json_text.h"
#include "utf8.h"

#include <assert.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define NAME_BYTES 120 /* of a step, at most */
#define COUNT_MOST INT64_C(1000000000000)

/* ---- one step */

static json_t *step_name(const char *name) {
    char copy[NAME_BYTES + 1];

    (void)snprintf(copy, sizeof copy, "%s", name);
    utf8_make_printable(copy);
    return json_string(copy);
}

static json_t *ms_or_null(double ms) {
    return ms >= 0 ? json_real(ms) : json_null();
}

static json_t *step_json(const struct step_times *step) {
    return JSON_TEXT_OBJECT({"name", step_name(step->name)}, {"line", json_integer(step->line)},
                            {"sent", json_integer((json_int_t)step->sent)},
                            {"no_reply", json_integer((json_int_t)step->no_reply)},
                            {"p50_ms", ms_or_null(step->p50_ms)},
                            {"p99_ms", ms_or_null(step->p99_ms)},
                            {"max_ms", ms_or_null(step->max_ms)});
}

static double rounded_ms(int64_t ns) {
    return round((double)ns / 1e3) / 1e3;
}

void steps_add(json_t **steps, const char *name, int line, size_t sent, size_t no_reply,
               const struct histogram *times) {
    const bool is_empty = times->count == 0;
    const struct step_times step = {
        .name = name,
        .line = line,
        .sent = sent,
        .no_reply = no_reply,
        .p50_ms = is_empty ? -1 : rounded_ms(histogram_percentile(times, 50)),
        .p99_ms = is_empty ? -1 : rounded_ms(histogram_percentile(times, 99)),
        .max_ms = is_empty ? -1 : rounded_ms(times->max)};

    assert(no_reply <= sent);
    if (*steps == NULL)
        *steps = json_array();
    json_text_append(steps, step_json(&step));
}

/* A number from 0, or null for none: -1. False: it is neither. */
static bool read_ms(const json_t *json, double *ms) {
    *ms = json_is_null(json) ? -1 : json_number_value(json);
    return json_is_null(json) || (json_is_number(json) && *ms >= 0 && isfinite(*ms));
}

bool steps_get(const json_t *steps, size_t place, struct step_times *step) {
    const json_t *json = json_array_get(steps, place);
    const json_int_t line = json_integer_value(json_object_get(json, "line"));
    const json_int_t sent = json_integer_value(json_object_get(json, "sent"));
    const json_int_t no_reply = json_integer_value(json_object_get(json, "no_reply"));

    if (line < 0 || line > INT_MAX || sent < 0 || sent > COUNT_MOST || no_reply < 0 ||
        no_reply > sent)
        return false;
    step->name = json_string_value(json_object_get(json, "name"));
    step->line = (int)line;
    step->sent = (size_t)sent;
    step->no_reply = (size_t)no_reply;
    return step->name != NULL && read_ms(json_object_get(json, "p50_ms"), &step->p50_ms) &&
           read_ms(json_object_get(json, "p99_ms"), &step->p99_ms) &&
           read_ms(json_object_get(json, "max_ms"), &step->max_ms);
}

int steps_check(json_t *steps, struct why *why) {
    if (!json_is_array(steps) || json_array_size(steps) > STEPS_MOST)
        return why_set(why, "its steps must be an array of at most %d", STEPS_MOST);
    for (size_t i = 0; i < json_array_size(steps); i++) {
        struct step_times step;
        json_t *name;

        if (!steps_get(steps, i, &step))
            return why_set(why, "step %zu of its steps cannot be read", i + 1);
        name = step_name(step.name);
        if (name == NULL || json_object_set_new(json_array_get(steps, i), "name", name) != 0)
            return why_set(why, "out of memory");
    }
    return 0;
}

/* ---- several rounds */

static int compare_ms(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

/* -1 without any value. */
static double median(double *values, size_t count) {
    if (count == 0)
        return -1;
    qsort(values, count, sizeof *values, compare_ms);
    return (values[(count - 1) / 2] + values[count / 2]) / 2;
}

/* All rounds of a run have the steps of one file, so a place is the same step. */
static bool sum_step(const struct round *const *rounds, size_t count, size_t place,
                     json_t **summed) {
    struct step_times sum = {.name = NULL, .max_ms = -1};
    double *p50 = calloc(2 * count, sizeof *p50), *p99 = p50 != NULL ? p50 + count : NULL;
    size_t timed = 0;

    for (size_t i = 0; p50 != NULL && i < count; i++) {
        struct step_times one;

        if (!steps_get(rounds[i]->steps, place, &one))
            continue;
        sum.name = one.name;
        sum.line = one.line;
        sum.sent += one.sent;
        sum.no_reply += one.no_reply;
        sum.max_ms = fmax(sum.max_ms, one.max_ms);
        if (one.p50_ms < 0 || one.p99_ms < 0)
            continue;
        p50[timed] = one.p50_ms;
        p99[timed++] = one.p99_ms;
    }
    if (sum.name != NULL) {
        sum.p50_ms = median(p50, timed);
        sum.p99_ms = median(p99, timed);
        json_text_append(summed, step_json(&sum));
    }
    free(p50);
    return sum.name != NULL;
}

json_t *steps_sum(const struct round *const *rounds, size_t count) {
    json_t *summed = json_array();

    for (size_t place = 0; place < STEPS_MOST && summed != NULL; place++)
        if (!sum_step(rounds, count, place, &summed))
            break;
    if (json_array_size(summed) > 0)
        return summed;
    json_decref(summed);
    return NULL;
}
