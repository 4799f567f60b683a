/* The judgement of a round, the servers that it leaves down, and its memory. */
#include "round.h"

#include "cart.h"
#include "overtaken.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- servers that failed and may still be down */

/* Longest time from the logged moment of a failpoint to its action: the log entry is written
 * first. */
#define ACTS_NS INT64_C(2000000000)

static void down_set(struct down *down, const char *name, bool is_down) {
    size_t i = 0;

    while (i < down->count && strcmp(down->names[i], name) != 0)
        i++;
    if (i == RECORD_INSTANCES)
        return;
    if (i == down->count)
        snprintf(down->names[down->count++], sizeof down->names[i], "%s", name);
    down->is_down[i] = is_down;
}

bool down_is_all(const struct down *down) {
    bool is_all = down->count > 0;

    for (size_t i = 0; i < down->count; i++)
        is_all = is_all && down->is_down[i];
    return is_all || down->is_server_down;
}

/* Whether the instance answered a request that was sent after the event had taken effect. */
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

    if (is_crash || (is_open && strncmp(event->who, "inventory-", 10) == 0))
        down_set(down, event->who, !is_up_after(round, event));
    else if (is_open && strncmp(event->who, "replica", 7) != 0)
        down->is_server_down = true;
}

static void down_note(struct down *down, const struct round *round) {
    const struct recorder *recorder = round->recorder;

    for (size_t i = 0; i < recorder->instance_count; i++)
        down_set(down, recorder->instances[i], false);
    down->is_server_down = down->is_server_down && recorder->instance_count == 0;
    for (size_t i = 0; i < round->events.count; i++)
        note_event(down, round, &round->events.items[i]);
    if (!round->is_mended)
        return;
    memset(down->is_down, 0, sizeof down->is_down);
    down->is_server_down = false;
}

/* ---- judging */

/* The clock of the database of another shop is not compared with ours. A load that another program
 * sent tells the start by that clock. */
static int64_t ledger_start_us(const struct round *round) {
    const bool is_known = round->started_us > 0 && (!round->is_shop_named || round->are_keys_ids);

    return is_known ? round->started_us - round->ledger_skew_us : 0;
}

static bool has_carts(const struct round *round) {
    return round->item != NULL && cart_is_sold(round->item->spec) && round->ledgers != NULL &&
           round->items == 1 && round->ledgers[0].row_count == CART_PRODUCTS;
}

static int judge_products(struct round *round, struct verdict_case *judged) {
    struct cart cart;
    int rc;

    if (judged->ledgers == NULL || !has_carts(round))
        return verdict_judge(judged, &round->verdict);
    rc = cart_split(&cart, &round->ledgers[0], round->recorder);
    if (rc == 0) {
        judged->ledgers = cart.ledgers;
        judged->items = CART_PRODUCTS;
        judged->recorder = cart.recorder;
        rc = verdict_judge(judged, &round->verdict);
    }
    for (size_t i = 0; rc == 0 && i < round->verdict.counterexamples; i++)
        round->verdict.counterexample[i].item = 0; /* in the database it is one product */
    cart_free(&cart);
    return rc;
}

int round_judge(struct round *round, struct down *down) {
    const bool is_down = down != NULL ? down_is_all(down) : round->is_down;
    struct firings armed = {.count = 0};
    struct verdict_case judged = {
        .ledgers = round->problem.text[0] == '\0' ? round->ledgers : NULL,
        .items = round->items,
        .recorder = round->recorder,
        .events = &round->events,
        .armed = &armed,
        .problem = round->problem.text[0] != '\0' ? round->problem.text : NULL,
        .fault_problem = round->fault_problem.text[0] != '\0' ? round->fault_problem.text : NULL,
        .doubts = round->doubts,
        .doubt_count = round->doubt_count,
        .is_interrupted = round->is_interrupted,
        .is_restless = round->is_restless,
        .are_events_lost = round->are_events_lost,
        .is_keyless = round->is_keyless,
        .is_shop_named = round->is_shop_named,
        .are_keys_ids = round->are_keys_ids,
        .is_down = is_down,
        .pairs_wanted = VERDICT_PAIRS,
        .late_ns = round->late_ns,
        .is_aborted = round->is_aborted,
        .stuck_ns = round->stuck_ns,
        .ledger_start_us = ledger_start_us(round)};

    assert(round->recorder != NULL);
    round->is_down = is_down;
    round->recorder->overtaken = overtaken_most(round->recorder);
    if (round->recorder->overtaken == OVERTAKEN_NOMEM)
        return -1;
    if (round->item != NULL)
        firings_arm_spec(&armed, round->item->spec);
    for (size_t i = 0; round->faults != NULL && i < round->faults->count; i++)
        firings_arm(&armed, EVENT_SERVER, round->faults->items[i].text,
                    strlen(round->faults->items[i].text));
    if (judge_products(round, &judged) != 0)
        return -1;
    if (down != NULL)
        down_note(down, round);
    return 0;
}

struct clock_sample *round_add_sample(struct round *round) {
    const size_t count = round->sample_count;
    struct clock_sample *grown = round->samples;

    if ((count & (count - 1)) == 0)
        grown = realloc(grown, (count == 0 ? 1 : 2 * count) * sizeof *grown);
    if (grown == NULL)
        return NULL;
    round->samples = grown;
    grown[count] = (struct clock_sample){.asked_ns = 0};
    round->sample_count++;
    return &grown[count];
}

void round_forget(struct round *round) {
    free(round->samples);
    round->samples = NULL;
    round->sample_count = 0;
    if (round->recorder != NULL)
        recorder_forget(round->recorder);
    for (size_t i = 0; round->ledgers != NULL && i < round->items; i++)
        ledger_free(&round->ledgers[i]);
    free(round->ledgers);
    round->ledgers = NULL;
    event_list_free(&round->events);
}

void round_free(struct round *round) {
    round_forget(round);
    recorder_free(round->recorder);
    free(round->products);
    json_decref(round->steps);
    json_decref(round->chart);
    *round = (struct round){.item = NULL};
}
