/* What a round owns, and its judgement. */
#include "round.h"

#include "overtaken.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

int round_judge(struct round *round) {
    struct firings armed = {.count = 0};
    const struct verdict_case judged = {
        .ledgers = round->problem.text[0] == '\0' ? round->ledgers : NULL,
        .items = round->items,
        .recorder = round->recorder,
        .events = &round->events,
        .armed = &armed,
        .problem = round->problem.text[0] != '\0' ? round->problem.text : NULL,
        .fault_problem = round->fault_problem.text[0] != '\0' ? round->fault_problem.text : NULL,
        .is_interrupted = round->is_interrupted,
        .is_restless = round->is_restless,
        .are_events_lost = round->are_events_lost,
        .is_keyless = round->is_keyless,
        .is_down = round->is_down,
        .pairs_wanted = VERDICT_PAIRS,
        .late_ns = round->late_ns,
        .is_aborted = round->is_aborted,
        .stuck_ns = round->stuck_ns,
        .ledger_start_us = round->started_us > 0 ? round->started_us - round->ledger_skew_us : 0};

    assert(round->recorder != NULL);
    round->recorder->overtaken = overtaken_most(round->recorder);
    if (round->recorder->overtaken == OVERTAKEN_NOMEM)
        return -1;
    if (round->item != NULL)
        firings_arm_spec(&armed, round->item->spec);
    for (size_t i = 0; round->faults != NULL && i < round->faults->count; i++)
        firings_arm(&armed, EVENT_SERVER, round->faults->items[i].text,
                    strlen(round->faults->items[i].text));
    return verdict_judge(&judged, &round->verdict);
}

void round_forget(struct round *round) {
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
    json_decref(round->chart);
    *round = (struct round){.item = NULL};
}
