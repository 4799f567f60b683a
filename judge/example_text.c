/* Words for operations: who asked, what it read and wrote, and what its customer was told. */
#include "example_text.h"

#include <assert.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void example_say(struct counterexample *example, const char *format, ...) {
    va_list arguments;

    if (example->lines == COUNTEREXAMPLE_LINES)
        return;
    va_start(arguments, format);
    vsnprintf(example->line[example->lines++], VERDICT_TEXT, format, arguments);
    va_end(arguments);
}

static double example_text_in_seconds(int64_t ns) {
    return (double)ns / 1e9;
}

/* ---- operations */

static char example_text_name_of(size_t op) {
    return (char)('A' + op);
}

char example_name(const struct counterexample *example, const char *order_id) {
    size_t op = 0;

    while (op < example->ops && strcmp(example->order_id[op], order_id) != 0)
        op++;
    return op < example->ops ? example_text_name_of(op) : '?';
}

static void example_text_widen(struct counterexample *example, int64_t ns) {
    if (ns <= 0)
        return;
    if (example->from_ns == 0 || ns < example->from_ns)
        example->from_ns = ns;
    if (ns > example->to_ns)
        example->to_ns = ns;
}

static struct counterexample_op *example_text_add_op(struct counterexample *example, const char *id,
                                                     int64_t sent_ns, int64_t answered_ns) {
    struct counterexample_op *op = &example->op[example->ops];

    assert(example->ops < COUNTEREXAMPLE_OPS);
    snprintf(example->order_id[example->ops++], UUID_TEXT, "%s", id);
    op->sent_ns = sent_ns == LINEAR_BEFORE ? 0 : sent_ns;
    op->answered_ns = answered_ns == LINEAR_NEVER ? 0 : answered_ns;
    example_text_widen(example, op->sent_ns);
    example_text_widen(example, op->answered_ns);
    return op;
}

/* "sent 0.417213 s" or why it is not known. */
static void write_sent(char text[PART_TEXT], const struct buyer *buyer) {
    if (buyer->purchase == NULL)
        snprintf(text, PART_TEXT, "no request for this product");
    else if (buyer->purchase->is_seated)
        snprintf(text, PART_TEXT, "sent without a key at an unknown time");
    else if (buyer->sent_ns == LINEAR_BEFORE)
        snprintf(text, PART_TEXT, "never sent");
    else
        snprintf(text, PART_TEXT, "sent %.6f s", example_text_in_seconds(buyer->sent_ns));
}

const struct record *example_told(const struct purchase *purchase) {
    for (size_t i = 0; i < purchase->count && purchase->yes == NULL; i++)
        if (purchase->requests[i]->outcome == RECORD_UNKNOWN)
            return purchase->requests[i];
    return purchase->yes != NULL ? purchase->yes : purchase->requests[0];
}

/* Of the reply that counts; LINEAR_NEVER when there was none. */
static int64_t answered_ns(const struct buyer *buyer) {
    const struct record *told = buyer->purchase != NULL ? example_told(buyer->purchase) : NULL;

    return told != NULL && told->outcome != RECORD_UNKNOWN ? told->received_ns : LINEAR_NEVER;
}

/* ", answered 0.420011 s" or ", not told". */
static void write_answered(char text[PART_TEXT], const struct buyer *buyer,
                           const struct ledger_sale *sale) {
    const struct purchase *purchase = buyer->purchase;

    if (purchase == NULL)
        text[0] = '\0';
    else if (purchase->yes == NULL)
        snprintf(text, PART_TEXT, ", %s", record_outcome_text(example_told(purchase)->outcome));
    else if (strcmp(purchase->id, sale->order_id) != 0 && buyer->answered_ns == LINEAR_NEVER)
        snprintf(text, PART_TEXT, ", answered with order %s", purchase->id);
    else
        snprintf(text, PART_TEXT, ", answered %.6f s",
                 example_text_in_seconds(purchase->answered_ns));
}

void example_tell_sale(struct counterexample *example, const struct judge *judge,
                       const struct ledger_sale *sale) {
    const struct buyer *buyer = judge_buyer(judge, sale);
    const char name = example_text_name_of(example->ops);
    char sent[PART_TEXT], answered[PART_TEXT], row[40] = "", did[2 * PART_TEXT];
    struct counterexample_op *op =
        example_text_add_op(example, sale->order_id, buyer->sent_ns, answered_ns(buyer));

    snprintf(op->instance, sizeof op->instance, "%s", sale->instance);
    op->ledger_us = ledger_time_us(sale->at);
    write_sent(sent, buyer);
    write_answered(answered, buyer, sale);
    if (judge->row_count > 1)
        snprintf(row, sizeof row, " in shard %" PRId64, sale->shard);
    if (judge_sale_kind(judge, sale) == SALE_COUNTED)
        snprintf(did, sizeof did, "read %" PRId64 "%s, wrote %" PRId64, sale->remaining + 1, row,
                 sale->remaining);
    else
        snprintf(did, sizeof did, "took unit %" PRId64 "%s", sale->unit, row);
    example_say(example, "%c = order %s via %s: %s, %s at %.15s%s", name, sale->order_id,
                sale->instance, sent, did, ledger_clock(sale->at), answered);
}

void example_tell_request(struct counterexample *example, const struct record *record,
                          const char *id, const char *told) {
    const char name = example_text_name_of(example->ops);

    (void)example_text_add_op(example, id, record->sent_ns, record->received_ns);
    if (record->sent_ns <= 0)
        example_say(example, "%c = request %s: %s", name, id, told);
    else
        example_say(example, "%c = request %s: sent %.6f s, %s at %.6f s", name, id,
                    example_text_in_seconds(record->sent_ns), told,
                    example_text_in_seconds(record->received_ns));
}

void example_tell_refusal(struct counterexample *example, const struct record *refusal) {
    example_tell_request(example, refusal, refusal->key, record_outcome_text(refusal->outcome));
}

void example_tell_pair(struct counterexample *example, const struct judge *judge,
                       const struct pair *pair) {
    if (pair->refusal != NULL)
        example_tell_refusal(example, pair->refusal);
    for (size_t i = 0; i < 2; i++)
        if (pair->sales[i] != NULL)
            example_tell_sale(example, judge, pair->sales[i]);
}

void example_tell_turned_away(struct counterexample *example, const struct stuck *stuck) {
    char told[PART_TEXT];
    size_t used = 0;

    for (int i = 0; i < RECORD_OUTCOME_COUNT; i++)
        if (stuck->told[i] > 0)
            used +=
                (size_t)snprintf(told + used, sizeof told - used, "%s%zu %s", used > 0 ? ", " : "",
                                 stuck->told[i], record_outcome_name((enum record_outcome)i));
    assert(used > 0 && used < sizeof told);
    example_say(example,
                "Of those who wanted a unit from %.3f s to the end of the "
                "demand at %.3f s nobody got one: %s.",
                example_text_in_seconds(stuck->from_ns), example_text_in_seconds(stuck->to_ns),
                told);
}

struct counterexample example_begin(const struct judge *judge, enum anomaly anomaly,
                                    const struct ledger_sale *sale) {
    return (struct counterexample){
        .anomaly = anomaly, .item = judge->item, .shard = sale != NULL ? sale->shard : 0};
}
