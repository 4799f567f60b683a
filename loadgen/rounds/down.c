/* Follows each instance from round to round. */
#include "down.h"

#include <stdio.h>
#include <string.h>

/* From the moment that is written of a failpoint to its act at most: the writing takes time. */
#define ACTS_NS INT64_C(2000000000)

static size_t down_find(struct down *down, const char *name) {
    size_t i = 0;

    while (i < down->count && strcmp(down->names[i], name) != 0)
        i++;
    if (i < down->count || i == RECORD_INSTANCES)
        return i;
    snprintf(down->names[i], sizeof down->names[i], "%s", name);
    return down->count++;
}

static void set(struct down *down, const char *name, bool is_down) {
    const size_t i = down_find(down, name);

    if (i < RECORD_INSTANCES)
        down->is_down[i] = is_down;
}

bool down_is_all(const struct down *down) {
    bool is_all = down->count > 0;

    for (size_t i = 0; i < down->count; i++)
        is_all = is_all && down->is_down[i];
    return is_all || down->is_server_down;
}

static bool is_instance(const char *name) {
    return strncmp(name, "inventory-", strlen("inventory-")) == 0;
}

/* Whether it answered a request that was sent after this had acted. */
static bool is_up_after(const struct round *round, const struct event *event) {
    const struct recorder *recorder = round->recorder;

    for (size_t i = 0; i < recorder->ended; i++) {
        const struct record *record = &recorder->records[i];

        if (record->instance >= 0 && record->sent_ns > event->at_ns + ACTS_NS &&
            strcmp(recorder->instances[record->instance], event->who) == 0)
            return true;
    }
    return false;
}

static void note_event(struct down *down, const struct round *round, const struct event *event) {
    const bool is_crash = event->kind == EVENT_FAILPOINT && strcmp(event->detail, "crash") == 0;
    const bool is_open = event->kind == EVENT_SERVER && event->until_ns == EVENT_OPEN;

    if (is_crash || (is_open && is_instance(event->who)))
        set(down, event->who, !is_up_after(round, event));
    else if (is_open && strncmp(event->who, "replica", 7) != 0)
        down->is_server_down = true;
}

static void down_note(struct down *down, const struct round *round) {
    const struct recorder *recorder = round->recorder;

    for (size_t i = 0; i < recorder->instance_count; i++)
        set(down, recorder->instances[i], false);
    down->is_server_down = down->is_server_down && recorder->instance_count == 0;
    for (size_t i = 0; i < round->events.count; i++)
        note_event(down, round, &round->events.items[i]);
    if (!round->is_mended)
        return;
    memset(down->is_down, 0, sizeof down->is_down);
    down->is_server_down = false;
}

int down_judge(struct down *down, struct round *round) {
    int rc;

    round->is_down = down_is_all(down);
    rc = round_judge(round);
    down_note(down, round);
    return rc;
}
