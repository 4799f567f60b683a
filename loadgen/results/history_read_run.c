/* Reads the first line of a history: the settings, and what follows from them. */
#include "history.h"

#include "history_fields.h"
#include "number.h"
#include "utf8.h"

#include <stdlib.h>
#include <string.h>

#define RATE_MAX    1000000
#define SPAN_MAX_NS (INT64_C(100) * 24 * 3600 * 1000000000)

/* What json_unpack() found missing or of the wrong type. */
static const char *describe(const json_error_t *error, char wrong[HISTORY_WRONG]) {
    snprintf(wrong, HISTORY_WRONG, "%.200s", error->text);
    return wrong;
}

static int copy(char *to, size_t size, const char *text) {
    int length = snprintf(to, size, "%s", text);

    utf8_make_printable(to);
    return length >= 0 && (size_t)length < size ? 0 : -1;
}

static const char *read_strategies(const json_t *json, struct options *options,
                                   char wrong[HISTORY_WRONG]) {
    struct strategy_list *list = &options->list;

    if (json_array_size(json) == 0 || json_array_size(json) > STRATEGY_LIST_MAX)
        return "it has no strategies, or too many";
    for (size_t i = 0; i < json_array_size(json); i++) {
        const char *name, *given, *spec, *expected;
        struct strategy_item *item = &list->items[list->count++];
        json_error_t error;
        char flaw[EXPECT_TEXT];

        if (json_unpack_ex(json_array_get(json, i), &error, 0, "{s:s, s:s, s:s, s:s}", "name",
                           &name, "given", &given, "spec", &spec, "expected", &expected) != 0)
            return describe(&error, wrong);
        if (copy(item->name, sizeof item->name, name) != 0 ||
            copy(item->given, sizeof item->given, given) != 0 ||
            copy(item->spec, sizeof item->spec, spec) != 0)
            return "the spec of a strategy is too long";
        if (expect_read(expected, &options->expectations[i], flaw) != 0)
            return "it expects an unknown verdict";
    }
    return NULL;
}

static const char *read_shape(const json_t *stages, struct options *options,
                              char wrong[HISTORY_WRONG]) {
    struct plan_shape *shape = &options->shape;

    shape->count = (size_t)options->requests;
    shape->seed = (uint64_t)options->seed;
    shape->items = (uint32_t)options->items;
    if (plan_parse_arrival(options->arrival, &shape->arrival) != 0 ||
        plan_parse_skew(options->skew, &shape->zipf) != 0 ||
        number_read_part(options->dup_rate, &shape->dup_rate) != 0)
        return "its arrival, skew or dup_rate cannot be read";
    if (json_array_size(stages) > PLAN_STAGES)
        return "it has too many stages";
    for (size_t i = 0; i < json_array_size(stages); i++) {
        struct plan_stage *stage = &shape->stages[shape->stage_count++];
        json_int_t span_ns;
        json_error_t error;

        if (json_unpack_ex(json_array_get(stages, i), &error, 0, "[I, F, F]", &span_ns,
                           &stage->from, &stage->to) != 0)
            return describe(&error, wrong);
        if (span_ns < 0 || span_ns > SPAN_MAX_NS ||
            !(stage->from >= 0 && stage->from <= RATE_MAX) ||
            !(stage->to >= 0 && stage->to <= RATE_MAX))
            return "its stages are out of range";
        stage->span_ns = span_ns;
    }
    return NULL;
}

const char *history_read_run(const json_t *json, struct history *history,
                             char wrong[HISTORY_WRONG]) {
    struct options *options = &history->options;
    json_t *settings, *strategies, *stages;
    json_int_t started_us;
    json_error_t error;
    const char *problem;
    int version;

    if (json_unpack_ex((json_t *)(uintptr_t)json, &error, 0, "{s:i, s:I, s:o, s:o, s:o}", "version",
                       &version, "started_us", &started_us, "settings", &settings, "strategies",
                       &strategies, "stages", &stages) != 0)
        return describe(&error, wrong);
    if (version != HISTORY_VERSION) {
        snprintf(wrong, HISTORY_WRONG, "its version is %d, and this program reads version %d",
                 version, HISTORY_VERSION);
        return wrong;
    }
    if (started_us < 0 || started_us > LEDGER_TIME_END_US)
        return "its \"started_us\" is out of range";
    history->started_us = started_us;
    problem = option_read_history(settings, options, wrong);
    if (problem == NULL)
        problem = read_strategies(strategies, options, wrong);
    if (problem == NULL)
        problem = read_shape(stages, options, wrong);
    if (problem == NULL && (threshold_parse(options->thresholds, &options->threshold_list, wrong,
                                            HISTORY_WRONG) != 0 ||
                            fault_list_parse(options->faults, INT64_MAX, &options->fault_list,
                                             wrong, HISTORY_WRONG) != 0))
        problem = wrong;
    return problem;
}
