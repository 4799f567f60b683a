/* Lists of events, and the words for one event. */
#include "event.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *event_kind_name(enum event_kind kind) {
    static const char *const names[] = {
#define X(id, name) name,
        EVENT_KINDS(X)
#undef X
    };

    assert(kind < sizeof names / sizeof names[0]);
    return names[kind];
}

const char *event_result_name(enum event_result result) {
    static const char *const names[] = {
#define X(id, name) name,
        EVENT_RESULTS(X)
#undef X
    };

    assert(result < sizeof names / sizeof names[0]);
    return names[result];
}

int event_parse(const char *kind, const char *result, struct event *event) {
    int k = 0, r = 0;

    while (k < EVENT_KIND_COUNT && strcmp(event_kind_name((enum event_kind)k), kind) != 0)
        k++;
    while (r < EVENT_RESULT_COUNT && strcmp(event_result_name((enum event_result)r), result) != 0)
        r++;
    if (k == EVENT_KIND_COUNT || r == EVENT_RESULT_COUNT)
        return -1;
    event->kind = (enum event_kind)k;
    event->result = (enum event_result)r;
    return 0;
}

/* The room follows from the count: 16, and it doubles each time it is full. */
struct event *event_add(struct event_list *list) {
    const size_t count = list->count;

    assert(count == 0 || list->items != NULL);
    if (count == 0 || (count >= 16 && (count & (count - 1)) == 0)) {
        struct event *grown =
            realloc(list->items, (count == 0 ? 16 : 2 * count) * sizeof *list->items);

        if (grown == NULL)
            return NULL;
        list->items = grown;
    }
    list->items[count] = (struct event){0};
    list->count++;
    return &list->items[count];
}

static int event_by_time(const void *a, const void *b) {
    const struct event *x = a, *y = b;
    const int order = (x->at_ns > y->at_ns) - (x->at_ns < y->at_ns);

    return order != 0 ? order : (x->began_ns > y->began_ns) - (x->began_ns < y->began_ns);
}

void event_list_sort(struct event_list *list) {
    if (list->count > 0)
        qsort(list->items, list->count, sizeof *list->items, event_by_time);
}

void event_list_free(struct event_list *list) {
    free(list->items);
    *list = (struct event_list){.items = NULL};
}

bool event_is_standstill(const struct event *event) {
    return event->until_ns > event->at_ns &&
           (event->kind == EVENT_SERVER ||
            (event->kind == EVENT_FAILPOINT && strncmp(event->detail, "pause", 5) == 0));
}

/* Names are those of KV_COMMANDS in inventory-svc: "SET NX", "PEXPIRE", "GET", "DEL", "DEL if
 * own". */
static bool is_command(const struct event *event, const char *name) {
    return event->kind == EVENT_LOCK && strncmp(event->name, name, strlen(name)) == 0;
}

bool event_takes_lock(const struct event *event) {
    return is_command(event, "SET");
}

bool event_extends_lock(const struct event *event) {
    return is_command(event, "PEXPIRE");
}

bool event_frees_lock(const struct event *event) {
    return is_command(event, "DEL");
}

void event_text(const struct event *event, char text[EVENT_TEXT]) {
    char detail[EVENT_DETAIL + 1]; /* " pause 4000 ms", or nothing */

    snprintf(detail, sizeof detail, "%s%s", event->detail[0] != '\0' ? " " : "", event->detail);
    switch (event->kind) {
    case EVENT_FAILPOINT:
        snprintf(text, EVENT_TEXT, "%s%s at %s, order %s", event->name, detail, event->who,
                 event->order_id);
        break;
    case EVENT_LOCK:
        snprintf(text, EVENT_TEXT, "%s%s at %s: %s, order %s", event->name, detail, event->who,
                 event_result_name(event->result), event->order_id);
        break;
    case EVENT_SERVER:
        snprintf(text, EVENT_TEXT, "%s %s%s", event->who, event->name, detail);
        break;
    }
}
