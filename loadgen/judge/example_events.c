/* Weaves what happened besides the requests into a counterexample: what befell the orders that it
 * names, the instances that they ran in, and the servers. */
#include "example_text.h"

#include <stdio.h>
#include <string.h>

/* "A", or '\0' when the order is none of the operations'. */
static char letter_of(const struct counterexample *example, const char *order_id) {
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
               (letter_of(example, event->order_id) != '\0' ||
                (strncmp(event->detail, "pause", 5) == 0 && is_at_hand(example, event)));
    case EVENT_LOCK:
        return event->item == example->item && letter_of(example, event->order_id) != '\0' &&
               !(event_takes_lock(event) && event->result == EVENT_NO);
    }
    return false;
}

/* "B at inventory-1: SET NX ttl 200 ms: yes" */
static void add(struct counterexample *example, const struct event *event) {
    struct counterexample_event *added = &example->event[example->events++];
    const char letter = letter_of(example, event->order_id);
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
            add(example, &judge->events->items[i]);
}
