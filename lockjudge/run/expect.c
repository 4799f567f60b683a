#include "expect.h"

#include "line.h"

#include <string.h>

#define BIT(verdict) (1U << ORACLE_##verdict)

uint32_t expect_model(const struct fault *fault, enum fault_moment moment, unsigned caps) {
    const bool is_paused = fault->flags & HISTORY_STOPS && moment == FAULT_AT_WRITE;

    return BIT(SAFE) | BIT(FENCED) | BIT(UNASKED) |
           (is_paused && !(caps & LINE_CAP_FENCE) ? BIT(TOLD) : 0);
}

static int verdict_find(const char *key, size_t length) {
    for (int i = 0; i < ORACLE_VERDICT_COUNT; i++) {
        const char *text = oracle_verdict_key((enum oracle_verdict)i);

        if (strlen(text) == length && strncmp(text, key, length) == 0)
            return i;
    }
    return -1;
}

static int verdicts_read(const char *list, uint32_t *verdicts, struct why *why) {
    char all[128];

    *verdicts = 0;
    do {
        const size_t length = strcspn(list, "|");
        const int verdict = verdict_find(list, length);

        if (verdict < 0) {
            expect_text(~0U, all, sizeof all);
            return why_set(why, "there is no verdict \"%.*s\"; these are: %s",
                           (int)(length < 40 ? length : 40), list, all);
        }
        *verdicts |= 1U << verdict;
        list += length;
    } while (*list++ == '|');
    return 0;
}

int expect_read(const char *line, const char *name, uint32_t *verdicts, struct why *why) {
    const char *equal = strchr(line, '=');
    const size_t length = equal != NULL ? (size_t)(equal - line) : 0;
    uint32_t read;

    if (equal == NULL)
        return why_set(
            why, "--expect takes ROW=VERDICT, for example stop-held=untold, not \"%.60s\"", line);
    if (verdicts_read(equal + 1, &read, why) != 0)
        return -1;
    if ((strlen(name) != length || strncmp(name, line, length) != 0) &&
        (length != 3 || strncmp(line, "all", 3) != 0))
        return 0;
    *verdicts = read;
    return 1;
}

void expect_text(uint32_t verdicts, char *to, size_t size) {
    size_t used = 0;

    to[0] = '\0';
    for (int i = 0; i < ORACLE_VERDICT_COUNT; i++)
        if (verdicts >> i & 1 &&
            used + strlen(oracle_verdict_key((enum oracle_verdict)i)) + 2 < size)
            used += (size_t)snprintf(to + used, size - used, "%s%s", used > 0 ? "|" : "",
                                     oracle_verdict_key((enum oracle_verdict)i));
}
