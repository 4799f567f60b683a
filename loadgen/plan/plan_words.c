/* The words that describe a load: --arrival, --stages and --skew. */
#include "plan.h"

#include "number.h"

#include <stdio.h>
#include <string.h>

#define RATE_MAX    1000000
#define ZIPF_MAX    10
#define SPAN_MAX_NS (INT64_C(24) * 3600 * 1000000000)

int plan_parse_arrival(const char *text, enum plan_arrival *arrival) {
    *arrival = PLAN_POISSON;
    if (strcmp(text, "poisson") == 0)
        return 0;
    *arrival = PLAN_CONSTANT;
    return strcmp(text, "constant") == 0 ? 0 : -1;
}

int plan_parse_skew(const char *text, double *zipf) {
    static const char word[] = "zipf:";
    const char *rest;

    *zipf = 0;
    if (strcmp(text, "uniform") == 0)
        return 0;
    if (strncmp(text, word, sizeof word - 1) != 0)
        return -1;
    rest = number_read(text + sizeof word - 1, zipf);
    return rest != NULL && *rest == '\0' && *zipf <= ZIPF_MAX ? 0 : -1;
}

/* ---- stages */

static int parse_rate(const char *text, double *rate) {
    int64_t number;

    if (number_read_int(text, &number) != 0 || number < 0 || number > RATE_MAX)
        return -1;
    *rate = (double)number;
    return 0;
}

/* "800" or "0..800", cut apart in place. */
static int parse_rates(char *text, struct plan_stage *stage) {
    char *dots = strstr(text, "..");

    if (dots != NULL)
        *dots = '\0';
    if (parse_rate(text, &stage->from) != 0)
        return -1;
    return parse_rate(dots != NULL ? dots + 2 : text, &stage->to);
}

/* What is wrong with one stage, cut apart in place, or NULL. */
static const char *stage_flaw(char *text, struct plan_stage *stage) {
    char *colon = strchr(text, ':');

    if (colon == NULL)
        return "it lacks a colon: write DURATION:RATE, such as 20s:800, or DURATION:FROM..TO";
    *colon = '\0';
    if (number_read_duration(text, &stage->span_ns) != 0)
        return "it does not begin with a duration, such as 20s or 500ms";
    if (stage->span_ns < 1000000 || stage->span_ns > SPAN_MAX_NS)
        return "its duration is not within 1ms to 24h";
    if (parse_rates(colon + 1, stage) != 0)
        return "its rate is no whole number of 0 to 1m a second, such as 800, 20k or 0..800";
    return NULL;
}

int plan_parse_stages(const char *text, struct plan_shape *shape, struct why *why) {
    char stage[64], whole[64];
    const char *flaw, *at = text;

    shape->stage_count = 0;
    do {
        size_t length = strcspn(at, ",");

        if (shape->stage_count == PLAN_STAGES)
            return why_set(why, "--stages: there are more than 32");
        snprintf(whole, sizeof whole, "%.*s", (int)(length < sizeof whole ? length : 63), at);
        memcpy(stage, whole, sizeof stage);
        flaw = length < sizeof whole ? stage_flaw(stage, &shape->stages[shape->stage_count])
                                     : "it is too long";
        shape->stage_count++;
        if (flaw != NULL)
            return why_set(why, "--stages: stage %zu, \"%.40s\": %s", shape->stage_count, whole,
                           flaw);
        at += length;
    } while (*at++ == ',');
    if (plan_span_ns(shape) > SPAN_MAX_NS)
        return why_set(why, "--stages: together they are longer than 24h");
    if (plan_expected(shape) < 1)
        return why_set(why, "--stages: together they send less than one request");
    return 0;
}
