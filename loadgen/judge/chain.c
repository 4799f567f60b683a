/* Tells how two orders came to hold one raw lock: A's lock expired, B took it, A freed it, C took
 * it while B was at work. */
#include "example_text.h"

#include <stdio.h>
#include <string.h>

#define EARLY_NS 50000000

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

static double in_seconds(int64_t ns) {
    return (double)ns / 1e9;
}

/* How the second came to hold the lock of the first. The server's clock ended the TTL a little
 * before the result arrived from which it is counted. */
static void tell_taken(struct counterexample *example, const struct overlap *overlap) {
    const int64_t taken_ns = overlap->freed != NULL ? overlap->held->at_ns : overlap->taken->at_ns;

    if (overlap->expired_ns <= taken_ns + EARLY_NS)
        example_say(example, "A's lock expired by %.6f s; B took it at %.6f s, and A went on.",
                    in_seconds(overlap->expired_ns), in_seconds(taken_ns));
    else
        example_say(example, "B took the lock at %.6f s, and A had not given it back.",
                    in_seconds(taken_ns));
}

static void tell_freed(struct counterexample *example, const struct overlap *overlap) {
    const char held = example_name(example, overlap->held->order_id);

    example_say(example, "A freed the lock at %.6f s (%s), which was %c's by then.",
                in_seconds(overlap->freed->at_ns), overlap->freed->name, held);
    example_say(example, "%c took it at %.6f s, while %c was at work.",
                example_name(example, overlap->taken->order_id), in_seconds(overlap->taken->at_ns),
                held);
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
    tell_taken(example, overlap);
    if (overlap->freed != NULL)
        tell_freed(example, overlap);
}
