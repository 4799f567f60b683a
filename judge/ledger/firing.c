/* Matches events with the failpoints and faults that were armed. */
#include "firing.h"

#include "number.h"

#include <assert.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Find the firing of this name, or add it. NULL: there are too many. */
static struct firing *firing_take(struct firings *firings, enum event_kind kind, const char *what) {
    struct firing *firing;

    for (size_t i = 0; i < firings->count; i++)
        if (firings->items[i].kind == kind && strcmp(firings->items[i].what, what) == 0)
            return &firings->items[i];
    if (firings->count == FIRINGS)
        return NULL;
    firing = &firings->items[firings->count++];
    *firing = (struct firing){.kind = kind};
    snprintf(firing->what, sizeof firing->what, "%s", what);
    return firing;
}

void firings_arm(struct firings *firings, enum event_kind kind, const char *what, size_t length) {
    char text[FIRING_TEXT];

    snprintf(text, sizeof text, "%.*s", (int)length, what);
    (void)firing_take(firings, kind, text);
}

void firings_arm_spec(struct firings *firings, const char *spec) {
    static const char option[] = ",fail=";

    while ((spec = strstr(spec, option)) != NULL) {
        spec += strlen(option);
        firings_arm(firings, EVENT_FAILPOINT, spec, strcspn(spec, ","));
    }
}

/* The name of an event: "after-read:pause", without the length and number of the armed text. */
static void name_event(const struct event *event, char name[EVENT_TEXT]) {
    if (event->kind == EVENT_SERVER)
        snprintf(name, EVENT_TEXT, "%s:%s", event->who, event->name);
    else
        snprintf(name, EVENT_TEXT, "%s:%.*s", event->name, (int)strcspn(event->detail, " "),
                 event->detail);
}

/* Whether "=4s@100" and "pause 4000 ms" are equally long: one point may have several failpoints. */
static bool is_as_long(const char *armed, const char *detail) {
    const char *number = strchr(detail, ' ');
    char text[32];
    int64_t ns;

    if (armed[0] != '=' || number == NULL)
        return true;
    snprintf(text, sizeof text, "%.*s", (int)strcspn(armed + 1, "@"), armed + 1);
    return number_read_duration(text, &ns) != 0 || ns / 1000000 == strtoll(number, NULL, 10);
}

/* Whether the event fired this one. "inventory-1/after-read:crash" is armed at one instance
 * only. */
static bool firing_is_of(const struct firing *firing, const struct event *event, const char *name) {
    const char *rest = strchr(firing->what, '/');
    const size_t length = strlen(name);

    if (rest != NULL && ((size_t)(rest - firing->what) != strlen(event->who) ||
                         strncmp(firing->what, event->who, strlen(event->who)) != 0))
        return false;
    rest = rest != NULL ? rest + 1 : firing->what;
    return firing->kind == event->kind && strncmp(rest, name, length) == 0 &&
           strchr("=@", rest[length]) != NULL &&
           (event->kind == EVENT_SERVER || is_as_long(rest + length, event->detail));
}

/* A failpoint fires again and again, but a fault of a server only once: a second event is the next
 * armed fault of that name. */
static struct firing *find_armed(struct firings *firings, const struct event *event) {
    char name[EVENT_TEXT];

    name_event(event, name);
    for (size_t i = 0; i < firings->count; i++)
        if (firing_is_of(&firings->items[i], event, name) &&
            (event->kind != EVENT_SERVER || firings->items[i].times == 0))
            return &firings->items[i];
    return firing_take(firings, event->kind, name);
}

static bool is_in_time(const struct event *event, const int64_t *ends_ns, size_t items) {
    bool is_any = false;

    if (event->kind != EVENT_SERVER)
        return event->item < items && event->at_ns < ends_ns[event->item];
    for (size_t i = 0; i < items; i++)
        is_any = is_any || event->at_ns < ends_ns[i];
    return is_any;
}

void firings_count(struct firings *firings, const struct event_list *events, const int64_t *ends_ns,
                   size_t items) {
    for (size_t i = 0; i < events->count; i++) {
        const struct event *event = &events->items[i];
        struct firing *firing = event->kind != EVENT_LOCK ? find_armed(firings, event) : NULL;

        if (firing == NULL)
            continue;
        if (firing->times++ == 0)
            firing->first = *event;
        firing->in_time += is_in_time(event, ends_ns, items);
        assert(firing->in_time <= firing->times);
    }
}

void firings_add(struct firings *total, const struct firings *round) {
    for (size_t i = 0; i < round->count; i++) {
        const struct firing *from = &round->items[i];
        struct firing *to = firing_take(total, from->kind, from->what);

        if (to == NULL)
            continue;
        if (to->times == 0)
            to->first = from->first;
        to->times += from->times;
        to->in_time += from->in_time;
    }
}
