/* Reads expectations and compares verdicts with them. */
#include "expect.h"

#include <stdio.h>
#include <string.h>

/* ---- sets of anomalies */

static uint32_t expect_bit_of(int anomaly) {
    return UINT32_C(1) << anomaly;
}

static uint32_t found_in(const struct verdict *verdict) {
    uint32_t found = 0;

    for (int i = 0; i < ANOMALY_COUNT; i++)
        found |= verdict->found[i].count > 0 ? expect_bit_of(i) : 0;
    return found;
}

/* "OVERSELL+TWIN+LEAK?" */
static const char *write_set(uint32_t must, uint32_t may, char text[EXPECT_TEXT]) {
    size_t used = 0;

    text[0] = '\0';
    for (int i = 0; i < ANOMALY_COUNT; i++)
        if (((must | may) & expect_bit_of(i)) != 0)
            used += (size_t)snprintf(text + used, EXPECT_TEXT - used, "%s%s%s", used > 0 ? "+" : "",
                                     anomaly_name((enum anomaly)i),
                                     (may & expect_bit_of(i)) != 0 ? "?" : "");
    return text;
}

#define X(id, name, text) name "?+"
_Static_assert(sizeof ANOMALIES(X) <= EXPECT_TEXT, "every anomaly once has room");
#undef X

/* ---- reading */

static uint32_t bit_named(const char *name, size_t length) {
    for (int i = 0; i < ANOMALY_COUNT; i++) {
        const char *own = anomaly_name((enum anomaly)i);

        if (strlen(own) == length && strncmp(own, name, length) == 0)
            return expect_bit_of(i);
    }
    return 0;
}

/* Reads one anomaly, with or without a ?. */
static int read_anomaly(const char *name, size_t length, struct expectation *expectation,
                        struct why *why) {
    const bool is_open = length > 0 && name[length - 1] == '?';
    const uint32_t bit = bit_named(name, is_open ? length - 1 : length);

    if (bit == 0)
        return why_set(why, "there is no anomaly \"%.*s\"", (int)(length < 40 ? length : 40), name);
    if (((expectation->must | expectation->may) & bit) != 0)
        return why_set(why, "\"%.*s\" is named twice", (int)length, name);
    *(is_open ? &expectation->may : &expectation->must) |= bit;
    return 0;
}

int expect_read(const char *value, struct expectation *expectation, struct why *why) {
    *expectation = (struct expectation){.is_any = strcmp(value, "VIOLATED") == 0};
    if (expectation->is_any || strcmp(value, "VALID") == 0)
        return 0;
    for (;;) {
        size_t length = strcspn(value, "+");

        if (read_anomaly(value, length, expectation, why) != 0)
            return -1;
        if (value[length] == '\0')
            return 0;
        value += length + 1;
    }
}

const char *expect_name(const struct expectation *expectation, char text[EXPECT_TEXT]) {
    if (expectation->is_any)
        return strcpy(text, "VIOLATED");
    if ((expectation->must | expectation->may) == 0)
        return strcpy(text, "VALID");
    return write_set(expectation->must, expectation->may, text);
}

/* Sets the expectation of every strategy with this name. Returns their number. */
static size_t assign(const char *name, const struct expectation *expectation,
                     const struct strategy_list *list, struct expectation *expectations) {
    size_t count = 0;

    for (size_t i = 0; i < list->count; i++) {
        if (strcmp(list->items[i].name, name) != 0)
            continue;
        expectations[i] = *expectation;
        count++;
    }
    return count;
}

/* `text` is name=VALUE; it is changed. */
static int expect_parse_one(char *text, const struct strategy_list *list,
                            struct expectation *expectations, struct why *why) {
    char *equals = strchr(text, '=');
    struct why flaw = {"a = is missing"};
    struct expectation expectation;

    if (equals != NULL)
        *equals = '\0';
    if (equals == NULL || expect_read(equals + 1, &expectation, &flaw) != 0)
#define X(id, name, text) " " name
        return why_set(
            why,
            "--expect: %s; write name=VALID, name=VIOLATED, or name= and anomalies joined by +, "
            "with a ? after each that may be missing:" ANOMALIES(X),
            flaw.text);
#undef X
    if (assign(text, &expectation, list, expectations) > 0)
        return 0;
    return why_set(why, "--expect names \"%.40s\", which is not in --strategy", text);
}

int expect_parse(const char *text, const struct strategy_list *list,
                 struct expectation *expectations, struct why *why) {
    memset(expectations, 0, list->count * sizeof *expectations);
    while (*text != '\0') {
        char one[STRATEGY_NAME_SIZE + EXPECT_TEXT];
        size_t length = strcspn(text, ",");

        snprintf(one, sizeof one, "%.*s", (int)(length < sizeof one ? length : sizeof one), text);
        if (expect_parse_one(one, list, expectations, why) != 0)
            return -1;
        text += length;
        text += *text == ',';
    }
    return 0;
}

/* ---- comparing */

enum expect_result expect_hold(const struct expectation *expectation,
                               const struct verdict *verdict) {
    const uint32_t found = found_in(verdict);

    if (verdict->kind == VERDICT_INCONCLUSIVE)
        return EXPECT_OPEN;
    if (expectation->is_any)
        return found != 0 ? EXPECT_MET : EXPECT_FAILED;
    return (expectation->must & ~found) == 0 &&
                   (found & ~(expectation->must | expectation->may)) == 0
               ? EXPECT_MET
               : EXPECT_FAILED;
}

const char *expect_tell(const struct expectation *expectation, const struct verdict *verdict,
                        char text[EXPECT_MISS]) {
    const uint32_t found = found_in(verdict);
    const uint32_t missing = expectation->must & ~found;
    const uint32_t others = found & ~(expectation->must | expectation->may);
    char one[EXPECT_TEXT], other[EXPECT_TEXT];

    if (expectation->is_any || (expectation->must | expectation->may) == 0)
        snprintf(text, EXPECT_MISS, "%s was expected", expect_name(expectation, one));
    else if (others == 0)
        snprintf(text, EXPECT_MISS, "%s was expected", write_set(missing, 0, one));
    else if (missing == 0)
        snprintf(text, EXPECT_MISS, "%s was not expected", write_set(others, 0, other));
    else
        snprintf(text, EXPECT_MISS, "%s was expected, and %s was not", write_set(missing, 0, one),
                 write_set(others, 0, other));
    return text;
}
