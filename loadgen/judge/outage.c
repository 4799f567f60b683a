/* Outages, from the events of a round. */
#include "outage.h"

#include <string.h>

static int64_t later(int64_t a, int64_t b) {
    return a > b ? a : b;
}

static int64_t end_of(const struct event *event) {
    if (event->kind == EVENT_FAILPOINT && strcmp(event->detail, "crash") == 0)
        return EVENT_OPEN;
    return event_is_standstill(event) ? event->until_ns : 0;
}

static int64_t end_of_instance(const struct event_list *events, const char *name) {
    int64_t end_ns = 0;

    for (size_t i = 0; i < events->count; i++)
        if (strcmp(events->items[i].who, name) == 0)
            end_ns = later(end_ns, end_of(&events->items[i]));
    return end_ns;
}

static int64_t end_of_instances(const struct event_list *events, const struct recorder *recorder) {
    int64_t first_ns = recorder->instance_count > 0 ? EVENT_OPEN : 0;

    for (size_t i = 0; i < recorder->instance_count; i++) {
        const int64_t end_ns = end_of_instance(events, recorder->instances[i]);

        first_ns = end_ns < first_ns ? end_ns : first_ns;
    }
    return first_ns;
}

/* Where no instance has sold, each may be the only one. */
static bool is_needed(const struct event *event, const struct recorder *recorder) {
    return event->kind == EVENT_SERVER && strcmp(event->who, "replica") != 0 &&
           (recorder->instance_count == 0 || strncmp(event->who, "inventory-", 10) != 0);
}

static int64_t end_of_events(const struct event_list *events, const struct recorder *recorder) {
    int64_t end_ns = end_of_instances(events, recorder);

    for (size_t i = 0; i < events->count; i++)
        if (is_needed(&events->items[i], recorder))
            end_ns = later(end_ns, end_of(&events->items[i]));
    return end_ns;
}

int64_t outage_end(const struct event_list *events, const struct recorder *recorder) {
    int64_t end_ns = events != NULL ? end_of_events(events, recorder) : 0;

    for (size_t i = 0; i < recorder->ended; i++)
        if (recorder->records[i].outcome == RECORD_UNREACHED)
            end_ns = later(end_ns, recorder->records[i].planned_ns);
    return end_ns;
}
