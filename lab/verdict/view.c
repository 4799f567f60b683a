/* Judges the ends of schedules. */
#include "view_internal.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const names[][2] = {
#define X(id, name, text) {name, text},
    VIEW_ANOMALIES(X)
#undef X
};

const char *view_name(unsigned anomaly) {
    assert(anomaly < VIEW_COUNT);
    return anomaly < ANOMALY_COUNT ? anomaly_name((enum anomaly)anomaly)
                                   : names[anomaly - ANOMALY_COUNT][0];
}

const char *view_meaning(unsigned anomaly) {
    assert(anomaly < VIEW_COUNT);
    return anomaly < ANOMALY_COUNT ? anomaly_text((enum anomaly)anomaly)
                                   : names[anomaly - ANOMALY_COUNT][1];
}

/* ---- what is known again: all that the judgement depends on */

static struct view_end view_end_of(const struct model_world *world) {
    const struct model_state *state = &world->state;
    struct view_end end;

    memset(&end, 0, sizeof end);
    end.has_fault = state->faults_made != 0;
    end.gave_back = state->gave_back;
    if (state->returned_count + state->place_count > 0)
        end.returned_count = (uint32_t)model_returned(world, end.returned, end.in_count);
    for (int i = 0; i < world->setup.options.shards; i++)
        end.available[i] = state->rows[i].available;
    for (int i = 0; i <= world->setup.orders; i++) {
        const struct model_order *order = &state->orders[i];

        end.sold[i] = state->sold[i];
        end.orders[i] = (struct view_order){.state = order->state,
                                            .outcome = order->outcome,
                                            .instance = order->instance,
                                            .came_after = order->came_after,
                                            .unit = order->unit};
    }
    return end;
}

static size_t view_place_of(const struct view_end *end) {
    uint64_t hash = 0;

    for (size_t at = 0; at < sizeof *end; at += 8) {
        uint64_t word;

        memcpy(&word, (const char *)end + at, sizeof word);
        hash = (hash ^ word) * UINT64_C(0x9e3779b97f4a7c15);
        hash ^= hash >> 32;
    }
    return (size_t)hash % VIEW_KNOWN;
}

/* ---- beside the judge's rules */

static bool is_failure(enum outcome outcome) {
    return outcome != OUTCOME_SOLD && outcome != OUTCOME_SOLD_OUT && outcome != OUTCOME_BUSY &&
           outcome != OUTCOME_CONFLICT && outcome != OUTCOME_REPEATED;
}

/* Nonsense is one whatever happened: no strategy answers OK, or what is known before it is asked.
 */
static bool is_nonsense(enum outcome outcome) {
    return is_failure(outcome) && outcome != OUTCOME_UNKNOWN && outcome != OUTCOME_FAILED;
}

int64_t view_left(const struct model_world *world) {
    int64_t left = world->state.returned_count;

    for (int i = 0; i < world->setup.options.shards; i++)
        if (world->state.rows[i].available > 0)
            left += world->state.rows[i].available;
    return left;
}

static bool view_is_served(const struct model_order *order) {
    return order->state == ORDER_ENDED &&
           (order->outcome == OUTCOME_SOLD || order->outcome == OUTCOME_SOLD_OUT ||
            order->outcome == OUTCOME_REPEATED);
}

static unsigned judge_answers(const struct model_world *world) {
    unsigned found = 0;

    for (int i = 0; i <= world->setup.orders; i++) {
        const struct model_order *order = &world->state.orders[i];
        const enum outcome outcome = (enum outcome)order->outcome;

        if (order->state == ORDER_RUNS)
            found |= 1U << VIEW_ENDLESS;
        if (order->state == ORDER_ENDED &&
            (is_nonsense(outcome) || (is_failure(outcome) && world->state.faults_made == 0)))
            found |= 1U << VIEW_NO_ANSWER;
    }
    if (view_left(world) > 0 && !view_is_served(&world->state.orders[world->setup.orders]))
        found |= 1U << ANOMALY_STUCK;
    return found;
}

/* ---- all of it */

static unsigned ask_judge(struct view *view, const struct model_world *world,
                          const struct view_end *end) {
    unsigned found = judge_answers(world);

    view_fill(view, world, end);
    if (verdict_judge(&view->judged, &view->verdict) != 0) {
        view->has_failed = true;
        return found;
    }
    assert(view->verdict.kind != VERDICT_INCONCLUSIVE);
    for (unsigned i = 0; i < ANOMALY_COUNT; i++)
        if (view->verdict.found[i].count > 0)
            found |= 1U << i;
    return found;
}

unsigned view_judge(struct view *view, const struct model_world *world) {
    const struct view_end end = view_end_of(world);
    struct view_known *known = &view->known[view_place_of(&end)];

    if (!known->is_there || memcmp(&known->end, &end, sizeof end) != 0)
        *known = (struct view_known){
            .is_there = true, .end = end, .found = ask_judge(view, world, &end)};
    return known->found;
}

unsigned view_judge_anew(struct view *view, const struct model_world *world) {
    const struct view_end end = view_end_of(world);

    return ask_judge(view, world, &end);
}

bool view_has_failed(const struct view *view) {
    return view->has_failed;
}

struct view *view_make(void) {
    struct view *view = calloc(1, sizeof *view);

    if (view == NULL)
        return NULL;
    view->recorder = recorder_make(MODEL_ORDERS + 1);
    if (view->recorder == NULL) {
        free(view);
        return NULL;
    }
    return view;
}

void view_free(struct view *view) {
    if (view == NULL)
        return;
    recorder_free(view->recorder);
    free(view);
}
