/* Writes a snapshot for programs. */
#include "live_json.h"

#include "json_text.h"

#include <stdlib.h>

static json_t *live_json_number_or_null(int64_t number) {
    return number < 0 ? json_null() : json_integer(number);
}

static json_t *outcomes_json(const struct live_snapshot *snapshot) {
    json_t *json = json_object();

    for (int i = 0; i < RECORD_OUTCOME_COUNT; i++)
        json_text_set(&json, record_outcome_name((enum record_outcome)i),
                      json_integer((json_int_t)snapshot->outcomes[i]));
    return json;
}

static json_t *snapshot_json(const struct live_snapshot *snapshot) {
    static const char *const phases[] = {
        [LIVE_SENDING] = "sending", [LIVE_WAITING] = "waiting", [LIVE_JUDGING] = "judging"};

    return JSON_TEXT_OBJECT(
        {"strategy", json_text(snapshot->name)},
        {"round", json_integer((json_int_t)snapshot->round)},
        {"rounds", json_integer((json_int_t)snapshot->rounds)},
        {"phase", json_string(phases[snapshot->phase])},
        {"elapsed_ms", json_ms((double)snapshot->elapsed_ns)},
        {"span_ms", json_ms((double)snapshot->span_ns)},
        {"sold", json_integer((json_int_t)snapshot->sold)},
        {"stock", live_json_number_or_null(snapshot->stock)},
        {"left", live_json_number_or_null(snapshot->left)},
        {"in_flight", json_integer((json_int_t)snapshot->in_flight)},
        {"offered", json_real(snapshot->offered)}, {"achieved", json_real(snapshot->achieved)},
        {"p99_ms", snapshot->p99_ns < 0 ? json_null() : json_ms((double)snapshot->p99_ns)},
        {"outcomes", outcomes_json(snapshot)});
}

char *live_json(const struct live_snapshot *snapshot, const char *verdict) {
    json_t *json = snapshot_json(snapshot);
    char *text, *line = NULL;

    if (snapshot->has_holder)
        json_text_set(&json, "holder",
                      snapshot->holder != NULL ? json_text(snapshot->holder) : json_null());
    if (verdict != NULL) {
        json_text_set(&json, "verdict", json_text(verdict));
        json_text_set(&json, "is_left_down", json_boolean(snapshot->is_left_down));
    }
    text = json_dumps(json, JSON_COMPACT);
    if (text != NULL && asprintf(&line, "%s\n", text) < 0)
        line = NULL;
    free(text);
    json_decref(json);
    return line;
}
