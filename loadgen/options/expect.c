/* Reads expectations and holds verdicts against them. */
#include "expect.h"

#include <stdio.h>
#include <string.h>

int expect_read(const char *value, struct expectation *expectation) {
    *expectation = (struct expectation){.kind = VERDICT_VIOLATED, .is_any = true};
    if (strcmp(value, "VIOLATED") == 0)
        return 0;
    if (strcmp(value, "VALID") == 0) {
        expectation->kind = VERDICT_VALID;
        return 0;
    }
    expectation->is_any = false;
    for (int i = 0; i < ANOMALY_COUNT; i++) {
        expectation->anomaly = (enum anomaly)i;
        if (strcmp(value, anomaly_name(expectation->anomaly)) == 0)
            return 0;
    }
    return -1;
}

const char *expect_name(const struct expectation *expectation) {
    if (expectation->kind == VERDICT_VIOLATED && !expectation->is_any)
        return anomaly_name(expectation->anomaly);
    return verdict_kind_name(expectation->kind);
}

/* `text` is name=VALUE, and is cut apart. */
static int parse_one(char *text, const struct strategy_list *list, struct expectation *expectations,
                     char *why, size_t why_size) {
    char *equals = strchr(text, '=');
    struct expectation expectation;
    bool is_there = false;

    if (equals != NULL)
        *equals = '\0';
    if (equals == NULL || expect_read(equals + 1, &expectation) != 0) {
#define X(id, name, text) " " name
        snprintf(why, why_size,
                 "--expect wants name=VALID, name=VIOLATED or name=ANOMALY, where the anomalies "
                 "are" ANOMALIES(X));
#undef X
        return -1;
    }
    for (size_t i = 0; i < list->count; i++) {
        if (strcmp(list->items[i].name, text) != 0)
            continue;
        expectations[i] = expectation;
        is_there = true;
    }
    if (!is_there)
        snprintf(why, why_size, "--expect names \"%.40s\", which is not in --strategy", text);
    return is_there ? 0 : -1;
}

int expect_parse(const char *text, const struct strategy_list *list,
                 struct expectation *expectations, char *why, size_t why_size) {
    for (size_t i = 0; i < list->count; i++)
        expectations[i] = (struct expectation){.kind = VERDICT_VALID};
    while (*text != '\0') {
        char one[STRATEGY_NAME_SIZE + 32];
        size_t length = strcspn(text, ",");

        snprintf(one, sizeof one, "%.*s", (int)(length < sizeof one ? length : sizeof one), text);
        if (parse_one(one, list, expectations, why, why_size) != 0)
            return -1;
        text += length;
        text += *text == ',';
    }
    return 0;
}

enum expect_result expect_hold(const struct expectation *expectation,
                               const struct verdict *verdict) {
    bool is_met;

    if (verdict->kind == VERDICT_INCONCLUSIVE)
        return EXPECT_OPEN;
    is_met = verdict->kind == expectation->kind;
    if (is_met && verdict->kind == VERDICT_VIOLATED && !expectation->is_any)
        is_met = verdict->found[expectation->anomaly].count > 0;
    return is_met ? EXPECT_MET : EXPECT_FAILED;
}
