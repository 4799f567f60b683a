#include "expect.h"

#include "line.h"

#include <stdio.h>
#include <string.h>

#define BIT(verdict) (1U << ORACLE_##verdict)

#define WORD(name)   (1U << ORACLE_##name)

static bool may_be_told(const struct fault_case *one, unsigned caps) {
    const bool is_paused = one->fault->flags & HISTORY_STOPS && one->moment == FAULT_AT_WRITE;

    return (is_paused && !(caps & LINE_CAP_FENCE)) || one->fault->flags & HISTORY_FORGETS;
}

struct expectation expect_model(const struct fault_case cases[FAULT_PAIR], unsigned caps) {
    const bool is_pair = cases[1].fault != NULL;
    struct expectation model = {.verdicts = BIT(SAFE) | BIT(FENCED) | BIT(UNASKED),
                                .never = WORD(FENCE_FALLS) | WORD(FREES_ANOTHERS) |
                                         WORD(LOST_UNDER_LOAD)};

    if (may_be_told(&cases[0], caps) || (is_pair && may_be_told(&cases[1], caps)))
        model.verdicts |= BIT(TOLD);
    if (caps & LINE_CAP_TTL)
        model.never |= WORD(STUCK);
    if (caps & LINE_CAP_RENEW)
        model.never |= WORD(NO_RENEWAL);
    return model;
}

/* The number of a key that ends at one of `ends`, or -1. */
static int find_key(const char *(*text_of)(int), int count, const char *key, const char *ends) {
    const size_t length = strcspn(key, ends);

    for (int i = 0; i < count; i++)
        if (strlen(text_of(i)) == length && strncmp(text_of(i), key, length) == 0)
            return i;
    return -1;
}

static const char *verdict_of(int verdict) {
    return oracle_verdict_key((enum oracle_verdict)verdict);
}

static const char *word_of(int word) {
    return oracle_word_text((enum oracle_word)word);
}

/* The texts of the bits, with a sign between two. */
static void add_texts(const char *(*text_of)(int), int count, uint32_t bits, const char *between,
                      const char *first, char *to, size_t size) {
    for (int i = 0; i < count; i++) {
        const size_t used = strlen(to);

        if (bits >> i & 1) {
            (void)snprintf(to + used, size - used, "%s%s", first, text_of(i));
            first = between;
        }
    }
}

static int refuse_key(const char *what, const char *key, const char *(*text_of)(int), int count,
                      struct why *why) {
    const size_t length = strcspn(key, "|+");
    char all[300] = "";

    add_texts(text_of, count, (1U << count) - 1, "|", "", all, sizeof all);
    return why_set(why, "there is no %s \"%.*s\"; these are: %s", what,
                   (int)(length < 40 ? length : 40), key, all);
}

static int list_read(const char *list, struct expectation *expectation, struct why *why) {
    *expectation = (struct expectation){.verdicts = 0};
    do {
        const int verdict = find_key(verdict_of, ORACLE_VERDICT_COUNT, list, "|+");

        if (verdict < 0)
            return refuse_key("verdict", list, verdict_of, ORACLE_VERDICT_COUNT, why);
        expectation->verdicts |= 1U << verdict;
        list += strcspn(list, "|+");
    } while (*list++ == '|');
    while (list[-1] == '+') {
        const int word = find_key(word_of, ORACLE_WORD_COUNT, list, "+");

        if (word < 0)
            return refuse_key("word", list, word_of, ORACLE_WORD_COUNT, why);
        expectation->must |= 1U << word;
        list += strcspn(list, "+") + 1;
    }
    return 0;
}

int expect_read(const char *line, const char *name, struct expectation *expectation,
                struct why *why) {
    const char *equal = strchr(line, '=');
    const size_t length = equal != NULL ? (size_t)(equal - line) : 0;
    struct expectation read;

    if (equal == NULL)
        return why_set(
            why, "--expect takes ROW=VERDICT, for example stop-held=untold, not \"%.60s\"", line);
    if (list_read(equal + 1, &read, why) != 0)
        return -1;
    if ((strlen(name) != length || strncmp(name, line, length) != 0) &&
        (length != 3 || strncmp(line, "all", 3) != 0))
        return 0;
    *expectation = read;
    return 1;
}

static uint32_t words_of(const struct oracle *oracle) {
    uint32_t words = 0;

    for (int i = 0; i < ORACLE_WORD_COUNT; i++)
        words |= oracle->findings[i].count > 0 ? 1U << i : 0;
    return words;
}

/* A verdict that is better than an allowed one is not bad: the fault may not show in each trial. */
unsigned expect_rank(const struct expectation *expectation, const struct oracle *oracle) {
    const uint32_t words = words_of(oracle);
    const uint32_t as_bad = expectation->verdicts & (BIT(UNJUDGED) - 1) & ~0U << oracle->verdict;
    const bool is_bad = as_bad == 0 || (words & expectation->never) != 0;

    return (unsigned)is_bad << 16 | (unsigned)oracle->verdict << 8 |
           (unsigned)__builtin_popcount(words);
}

bool expect_hold(const struct expectation *expectation, const struct report_row *row) {
    const uint32_t words = words_of(&row->oracle);

    if (row->verdict == ORACLE_UNJUDGED)
        return true;
    return (expectation->verdicts >> row->verdict & 1) != 0 &&
           (words & expectation->must) == expectation->must && (words & expectation->never) == 0;
}

void expect_text(const struct expectation *expectation, char *to, size_t size) {
    to[0] = '\0';
    add_texts(verdict_of, ORACLE_VERDICT_COUNT, expectation->verdicts, "|", "", to, size);
    add_texts(word_of, ORACLE_WORD_COUNT, expectation->must, "+", "+", to, size);
    add_texts(word_of, ORACLE_WORD_COUNT, expectation->never, ", ", ", not ", to, size);
}
