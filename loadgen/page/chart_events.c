/* What failed on purpose, and so need not be inferred: failpoints that fired, and servers that were
 * down. */
#include "chart_internal.h"
#include "json_text.h"

#include <string.h>

#define EVENTS   40 /* at the most */
#define SLACK_NS 250000000

/* That of a server may silence any instance. */
static bool explains(const struct event *event, const char *instance) {
    return event_is_standstill(event) &&
           (event->kind == EVENT_SERVER || instance == NULL || strcmp(event->who, instance) == 0);
}

bool chart_is_known(const struct chart *chart, const char *instance, int64_t from_us,
                    int64_t to_us) {
    const struct event_list *events = &chart->round->events;

    for (size_t i = 0; i < events->count; i++) {
        const struct event *event = &events->items[i];

        if (explains(event, instance) && from_us * CHART_US >= event->at_ns - SLACK_NS &&
            (event->until_ns == EVENT_OPEN || to_us * CHART_US <= event->until_ns + SLACK_NS))
            return true;
    }
    return false;
}

static int64_t end_of(const struct chart *chart, const struct event *event) {
    if (!event_is_standstill(event))
        return event->at_ns / CHART_US;
    return event->until_ns == EVENT_OPEN ? chart->end_us : event->until_ns / CHART_US;
}

static json_t *event_json(const struct chart *chart, const struct event *event) {
    char text[EVENT_TEXT];
    json_t *json = json_array();

    event_text(event, text);
    json_text_append(&json, json_text(event->who));
    json_text_append(&json, json_integer(event->at_ns / CHART_US));
    json_text_append(&json, json_integer(end_of(chart, event)));
    json_text_append(&json, json_text(text));
    return json;
}

json_t *chart_events(const struct chart *chart) {
    const struct event_list *events = &chart->round->events;
    json_t *json = json_array();

    for (size_t i = 0; i < events->count && json_array_size(json) < EVENTS; i++)
        if (events->items[i].kind != EVENT_LOCK)
            json_text_append(&json, event_json(chart, &events->items[i]));
    return json;
}

/* Of a counterexample, with the place of its order among A, B and C. */
json_t *chart_example_events(const struct chart *chart, const struct counterexample *example) {
    json_t *json = json_array();

    for (size_t i = 0; i < example->events; i++) {
        const struct counterexample_event *event = &example->event[i];
        const int64_t until_us =
            event->until_ns != EVENT_OPEN ? event->until_ns / CHART_US : chart->end_us;

        json_text_append(&json, json_pack("[i, I, I, s, s]",
                                          event->letter != '\0' ? event->letter - 'A' + 1 : 0,
                                          (json_int_t)(event->at_ns / CHART_US),
                                          (json_int_t)until_us, event->who, event->text));
    }
    return json;
}
