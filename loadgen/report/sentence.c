/* Builds the sentence from clauses: the sales, then the anomalies or, without any, the other
 * answers. */
#include "sentence.h"

#include "utf8.h"

#include <assert.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define CLAUSES (3 + ANOMALY_COUNT + RECORD_OUTCOME_COUNT)
#define CLAUSE  96

struct clauses {
    size_t count;
    char text[CLAUSES][CLAUSE];
};

__attribute__((format(printf, 2, 3))) static void sentence_add(struct clauses *clauses,
                                                               const char *format, ...) {
    va_list arguments;

    assert(clauses->count < CLAUSES);
    va_start(arguments, format);
    (void)vsnprintf(clauses->text[clauses->count++], CLAUSE, format, arguments);
    va_end(arguments);
}

/* ---- the sales */

/* Counts only rounds with a ledger: of the others the sales are unknown. */
static int64_t count_units(const struct result *result, const struct options *options,
                           size_t *rounds) {
    *rounds = 0;
    for (size_t i = 0; i < result->count; i++) {
        const struct verdict *verdict = &result->rounds[i]->verdict;

        *rounds += verdict->distinct != 0 || verdict->left != 0 || options->stock == 0;
    }
    return (int64_t)*rounds * options->stock * options->items;
}

static void add_sold(struct clauses *clauses, const struct verdict *verdict, int64_t units) {
    bool is_valid = verdict->kind == VERDICT_VALID && verdict->not_asked[ANOMALY_TWIN] == NULL;

    if (is_valid && verdict->sold == units)
        sentence_add(clauses,
                     units == 1 ? "sold the one unit once" : "sold all %" PRId64 " units once each",
                     units);
    else
        sentence_add(clauses, "sold %" PRId64 " of %" PRId64 " unit%s%s", verdict->sold, units,
                     units == 1 ? "" : "s", is_valid ? " once each" : "");
}

/* ---- the anomalies */

/* Leaves out LEAK and STALE if they follow from another anomaly of the sentence: twins saw an old
 * count, and lower the count too little. */
static void add_anomaly(struct clauses *clauses, enum anomaly anomaly,
                        const struct verdict *verdict, bool is_count_told, bool is_row_right) {
    static const struct {
        const char *one, *many, *rest;
    } told[ANOMALY_COUNT] = {
        [ANOMALY_OVERSELL] = {"customer holds", "customers hold", "an order for nothing"},
        [ANOMALY_TWIN] = {"order is", "orders are", "for a unit that was sold already"},
        [ANOMALY_EARLY_SOLD_OUT] = {"request was", "requests were",
                                    "told sold out before a later customer got a unit"},
        [ANOMALY_GHOST] = {"promise is", "promises are", "contradicted by the ledger"},
        [ANOMALY_ORPHAN] = {"sale was", "sales were", "confirmed to no customer"},
        [ANOMALY_DUPLICATE] = {"key", "keys", "bought more than one unit"},
        [ANOMALY_LEAK] = {"unit is", "units are", "missing from the count, or in it twice"},
        [ANOMALY_STALE] = {"sale", "sales", "saw a count that was out of date"},
        [ANOMALY_STUCK] = {"customer", "customers", "got nothing at the end while units were left"},
        [ANOMALY_UNBACKED] = {"paid order has", "paid orders have",
                              "too little or nothing in the stock row"}};
    const int64_t count = verdict->found[anomaly].count;
    const bool is_told = is_count_told || verdict->found[ANOMALY_OVERSELL].count > 0 ||
                         verdict->found[ANOMALY_TWIN].count > 0;

    if (is_told && (anomaly == ANOMALY_LEAK || anomaly == ANOMALY_STALE))
        return;
    if (anomaly == ANOMALY_UNBACKED && is_row_right)
        sentence_add(clauses, "%" PRId64 " paid %s nothing in it", count,
                     count == 1 ? "order has" : "orders have");
    else if (anomaly == ANOMALY_UNDERSELL)
        sentence_add(clauses, "customers were told sold out while units were left");
    else
        sentence_add(clauses, "%" PRId64 " %s %s", count,
                     count == 1 ? told[anomaly].one : told[anomaly].many, told[anomaly].rest);
}

/* A wrong number of units left comes first: the shop itself would notice it. It would not notice
 * orders without a unit in a row that is right. */
static void add_anomalies(struct clauses *clauses, const struct verdict *verdict, int64_t units,
                          bool is_shop) {
    const int64_t right = units - verdict->sold;
    const int64_t unbacked = verdict->found[ANOMALY_UNBACKED].count;
    bool is_count_told = right >= 0 && verdict->left != right;
    bool is_row_right = unbacked > 0 && verdict->left == right + unbacked;

    if (is_row_right)
        sentence_add(clauses, "the stock row is right");
    if (is_shop && right < 0 && verdict->left > 0)
        sentence_add(clauses, "the shop says that %" PRId64 " are left", verdict->left);
    if (is_count_told)
        sentence_add(clauses, "the stock says %" PRId64 " are left instead of %" PRId64,
                     verdict->left, right);
    for (int i = 0; i < ANOMALY_COUNT; i++)
        if (verdict->found[i].count > 0)
            add_anomaly(clauses, (enum anomaly)i, verdict, is_count_told, is_row_right);
}

/* ---- the other answers */

/* If every answer was a yes or a no, each customer without a unit was refused, and counts once. */
static void add_refusals(struct clauses *clauses, const struct result *result) {
    const struct recorder *total = result->total;
    const size_t *outcomes = total->by_outcome;
    const int64_t others = (int64_t)(total->count - total->repeats) - result->verdict.sold;
    const bool is_told = outcomes[RECORD_SOLD] + outcomes[RECORD_SOLD_OUT] == total->count;

    if (result->verdict.kind == VERDICT_VALID && is_told && others > 0)
        sentence_add(clauses, "refused the other %" PRId64, others);
    else
        sentence_add(clauses, "refused %zu as sold out", outcomes[RECORD_SOLD_OUT]);
}

static void add_outcomes(struct clauses *clauses, const struct result *result, bool is_shop) {
    struct {
        const char *before, *after;
    } told[RECORD_OUTCOME_COUNT] = {[RECORD_BUSY] = {"turned", "away as too busy"},
                                    [RECORD_UNKNOWN] = {"left", "without a yes or a no"},
                                    [RECORD_REFUSED] = {"rejected", "as bad requests"},
                                    [RECORD_FAILED] = {"answered", "with an error"},
                                    [RECORD_UNREACHED] = {"never got", "that could not be sent"},
                                    [RECORD_UNSENT] = {"never got", "that could not be sent"}};
    const size_t *counts = result->total->by_outcome;

    if (is_shop) {
        told[RECORD_REFUSED].before = "refused";
        told[RECORD_REFUSED].after = "for another reason";
        told[RECORD_UNSENT].after = "that could not be prepared";
    }
    for (int i = 0; i < RECORD_OUTCOME_COUNT; i++)
        if (i == RECORD_SOLD_OUT && counts[i] > 0)
            add_refusals(clauses, result);
        else if (told[i].before != NULL && counts[i] > 0)
            sentence_add(clauses, "%s %zu %s", told[i].before, counts[i], told[i].after);
}

/* ---- the sentence */

__attribute__((format(printf, 2, 3))) static void sentence_append(char text[SENTENCE_TEXT],
                                                                  const char *format, ...) {
    size_t used = strlen(text);
    va_list arguments;

    va_start(arguments, format);
    (void)vsnprintf(text + used, SENTENCE_TEXT - used, format, arguments);
    va_end(arguments);
}

/* "sold 3 and refused 2"; "sold 3, refused 2, and turned 1 away". Clauses with subjects of their
 * own always get a comma before "and". */
static void sentence_join(const struct clauses *clauses, bool has_subjects,
                          char text[SENTENCE_TEXT]) {
    for (size_t i = 0; i < clauses->count; i++) {
        bool is_last = i + 1 == clauses->count;
        const char *comma = clauses->count > 2 || has_subjects ? ", and " : " and ";

        sentence_append(text, "%s%s", i == 0 ? "" : is_last ? comma : ", ", clauses->text[i]);
    }
}

static void tell_sales(const struct result *result, const struct options *options,
                       char text[SENTENCE_TEXT]) {
    const struct verdict *verdict = &result->verdict;
    bool is_violated = verdict->kind == VERDICT_VIOLATED;
    struct clauses clauses = {.count = 0};
    size_t rounds;
    int64_t units = count_units(result, options, &rounds);

    if (rounds == 0 && !is_violated) {
        sentence_append(text, "its sales are unknown, because the ledger was not read");
        return;
    }
    if (rounds > 1)
        sentence_append(text, "in %zu rounds ", rounds);
    add_sold(&clauses, verdict, units);
    if (is_violated)
        add_anomalies(&clauses, verdict, units, options->about.name != NULL);
    else
        add_outcomes(&clauses, result, options->about.name != NULL);
    sentence_join(&clauses, is_violated, text);
    if (verdict->kind == VERDICT_INCONCLUSIVE)
        sentence_append(text, "; but this run proves nothing");
}

const char *sentence_subject(const struct result *result, const struct options *options,
                             char text[SENTENCE_SUBJECT]) {
    const struct shop_about *about = &options->about;

    if (about->name == NULL)
        snprintf(text, SENTENCE_SUBJECT, "%s", result->item->given);
    else
        snprintf(text, SENTENCE_SUBJECT, "%.100s%s%.100s, %zu process%s", about->name,
                 about->version[0] != '\0' ? " " : "", about->version, about->base_count,
                 about->base_count == 1 ? "" : "es");
    utf8_make_printable(text); /* the cut may have parted a character */
    return text;
}

const char *sentence_asked(const struct verdict *verdict, char text[SENTENCE_TEXT]) {
    size_t asked = 0, told = 0;

    text[0] = '\0';
    for (int i = 0; i < ANOMALY_COUNT; i++)
        asked += verdict->not_asked[i] == NULL;
    if (verdict->kind != VERDICT_VALID || asked == ANOMALY_COUNT)
        return NULL;
    for (int i = 0; i < ANOMALY_COUNT; i++)
        if (verdict->not_asked[i] == NULL) {
            const char *before = told == 0 ? "" : told + 1 == asked ? " and " : ", ";

            sentence_append(text, "%s%s", before, anomaly_name((enum anomaly)i));
            told++;
        }
    return text;
}

const char *sentence_make(const struct result *result, const struct options *options,
                          char text[SENTENCE_TEXT]) {
    const struct recorder *total = result->total;
    char subject[SENTENCE_SUBJECT];

    assert(result->count > 0 && total != NULL);
    text[0] = '\0';
    sentence_append(text, "%s: ", sentence_subject(result, options, subject));
    if (result->verdict.kind == VERDICT_UNJUDGED)
        sentence_append(text, "answered %zu of %zu requests", total->answered, total->count);
    else
        tell_sales(result, options, text);
    return text;
}
