/* What happened besides the requests, in a counterexample: how two orders came to hold one raw
 * lock, and what befell the orders that it names, the instances that they ran in, and the servers.
 */
#include "example_text.h"

#include <stdio.h>
#include <string.h>

/* ---- locks: A's expired, B took it, A freed it, C took it while B was at work */

/* The order that freed a lock which was not its own: it may have sold nothing. */
static void tell_freer(struct counterexample *example, const struct judge *judge,
                       const char *order_id) {
    const struct ledger_sale *sale = ledger_find_sale(judge->ledger, order_id);
    const struct purchase *purchase = judge_find(judge, order_id);

    if (sale != NULL)
        example_tell_sale(example, judge, sale);
    else
        example_tell_request(example, example_told(purchase), order_id,
                             record_outcome_text(example_told(purchase)->outcome));
}

static double example_events_in_seconds(int64_t ns) {
    return (double)ns / 1e9;
}

/* How the second came to hold the lock of the first. */
static void example_events_tell_taken(struct counterexample *example,
                                      const struct overlap *overlap) {
    const int64_t taken_ns = overlap->freed != NULL ? overlap->held->at_ns : overlap->taken->at_ns;

    if (judge_has_expired(overlap))
        example_say(example, "A's lock expired by %.6f s; B took it at %.6f s, and A went on.",
                    example_events_in_seconds(overlap->expired_ns),
                    example_events_in_seconds(taken_ns));
    else
        example_say(example, "B took the lock at %.6f s, and A had not given it back.",
                    example_events_in_seconds(taken_ns));
}

static void tell_freed(struct counterexample *example, const struct overlap *overlap) {
    const char held = example_name(example, overlap->held->order_id);

    example_say(example, "A freed the lock at %.6f s (%s), which was %c's by then.",
                example_events_in_seconds(overlap->freed->at_ns), overlap->freed->name, held);
    example_say(example, "%c took it at %.6f s, while %c was at work.",
                example_name(example, overlap->taken->order_id),
                example_events_in_seconds(overlap->taken->at_ns), held);
}

void example_tell_chain(struct counterexample *example, const struct judge *judge,
                        const struct overlap *overlap) {
    const bool is_turned = /* the holder wrote later */
        strcmp(overlap->sales[0]->order_id, overlap->held->order_id) != 0;

    if (overlap->freed != NULL)
        tell_freer(example, judge, overlap->freed->order_id);
    example_tell_sale(example, judge, overlap->sales[is_turned]);
    example_tell_sale(example, judge, overlap->sales[!is_turned]);
    example->has_chain = true;
    example_events_tell_taken(example, overlap);
    if (overlap->freed != NULL)
        tell_freed(example, overlap);
}

/* ---- what befell them */

/* "A", or '\0' when the order is none of the operations'. */
static char example_events_letter_of(const struct counterexample *example, const char *order_id) {
    for (size_t i = 0; i < example->ops; i++)
        if (order_id[0] != '\0' && strcmp(example->order_id[i], order_id) == 0)
            return (char)('A' + i);
    return '\0';
}

static bool is_at_hand(const struct counterexample *example, const struct event *event) {
    if (event->at_ns > example->to_ns || event->until_ns < example->from_ns)
        return false;
    for (size_t i = 0; i < example->ops; i++)
        if (strcmp(example->op[i].instance, event->who) == 0)
            return true;
    return event->kind == EVENT_SERVER;
}

/* A lock that was refused is asked for again and again. */
static bool is_telling(const struct counterexample *example, const struct event *event) {
    switch (event->kind) {
    case EVENT_SERVER:
        return is_at_hand(example, event);
    case EVENT_FAILPOINT:
        return event->item == example->item &&
               (example_events_letter_of(example, event->order_id) != '\0' ||
                (event_is_standstill(event) && is_at_hand(example, event)));
    case EVENT_LOCK:
        return event->item == example->item &&
               example_events_letter_of(example, event->order_id) != '\0' &&
               !(event_takes_lock(event) && event->result == EVENT_NO);
    }
    return false;
}

/* "B at inventory-1: SET NX ttl 200 ms: yes" */
static void example_events_add(struct counterexample *example, const struct event *event) {
    struct counterexample_event *added = &example->event[example->events++];
    const char letter = example_events_letter_of(example, event->order_id);
    const char *result = event_result_name(event->result);

    added->at_ns = event->at_ns;
    added->until_ns = event->until_ns;
    added->letter = letter;
    snprintf(added->who, sizeof added->who, "%s", event->who);
    snprintf(added->text, sizeof added->text, "%s%s%s%s%s", event->name,
             event->detail[0] != '\0' ? " " : "", event->detail, result[0] != '\0' ? ": " : "",
             result);
}

void example_weave(struct counterexample *example, const struct judge *judge) {
    for (size_t i = 0; judge->events != NULL && i < judge->events->count; i++)
        if (example->events < COUNTEREXAMPLE_EVENTS &&
            is_telling(example, &judge->events->items[i]))
            example_events_add(example, &judge->events->items[i]);
}
