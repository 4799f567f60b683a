/* Tells the laboratory, if there is one, what a sale does: the failpoint that it is about to hit,
 * and the results of its raw lock commands. */
#include "store_live_internal.h"

#include "clock.h"
#include "lab.h"
#include "log.h"
#include "text_copy.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static struct lab_event event_of(const struct live_sale *live, const char *kind, const char *name) {
    return (struct lab_event){
        .product_id = live->product->id, .order_id = live->order_id, .kind = kind, .name = name};
}

void live_tell_firing(const struct live_sale *live, enum fail_point point, enum fail_action action,
                      int64_t ms) {
    struct lab_event event = event_of(live, "failpoint", fail_points[point]);
    char detail[48];

    if (live->store->lab == NULL)
        return;
    text_copy(detail, sizeof detail, fail_actions[action].text);
    if (fail_actions[action].has_duration)
        (void)snprintf(detail, sizeof detail, "%s %" PRId64 " ms", fail_actions[action].text, ms);
    event.detail = detail;
    event.lasts_ms = fail_actions[action].has_duration ? ms : 0;
    if (!lab_tell(live->store->lab, &event))
        log_warn("a failpoint fires untold", "order=%s point=%s", live->order_id,
                 fail_points[point]);
}

/* ---- locks */

static const char *const command_names[] = {
#define X(name, text) text,
    KV_COMMANDS(X)
#undef X
};

static bool events_live_is_refusal(const struct kv_call *call, const char *result) {
    return call->command == KV_SET_ABSENT && strcmp(result, "no") == 0;
}

/* A lock that is taken is asked for again and again: the refusals of a sale are one row. */
static void fold(struct live_sale *live, const struct kv_call *call, const char *key,
                 int64_t begun_ns) {
    if (live->refusals++ == 0)
        live->refused_from_ns = begun_ns;
    live->refused_ns = clock_now_ns();
    text_copy(live->refused_key, sizeof live->refused_key, key);
    text_copy(live->refused_token, sizeof live->refused_token, call->value);
}

void live_note_refusals(struct live_sale *live) {
    struct lab_event event = event_of(live, "lock", command_names[KV_SET_ABSENT]);
    char detail[48];

    if (live->refusals == 0)
        return;
    (void)snprintf(detail, sizeof detail, "%u times", live->refusals);
    event.detail = live->refusals > 1 ? detail : "";
    event.key = live->refused_key;
    event.token = live->refused_token;
    event.result = "no";
    event.ago_ns = clock_now_ns() - live->refused_ns;
    event.took_ns = live->refused_ns - live->refused_from_ns;
    lab_note(live->store->lab, &event);
    live->refusals = 0;
}

void live_note_command(struct live_sale *live, const struct kv_call *call, const char *key,
                       const char *result, int64_t begun_ns) {
    struct lab_event event = event_of(live, "lock", command_names[call->command]);
    const bool has_ttl = call->command == KV_SET_ABSENT || call->command == KV_EXPIRE;
    char detail[48] = "";

    if (live->store->lab == NULL)
        return;
    if (events_live_is_refusal(call, result)) {
        fold(live, call, key, begun_ns);
        return;
    }
    live_note_refusals(live);
    if (has_ttl && call->ttl_ms > 0)
        (void)snprintf(detail, sizeof detail, "ttl %" PRId64 " ms", call->ttl_ms);
    event.detail = detail;
    event.lasts_ms = has_ttl && call->is_yes ? call->ttl_ms : 0;
    event.key = key;
    event.token = call->command == KV_GET ? call->reply : call->value;
    event.result = result;
    event.took_ns = clock_now_ns() - begun_ns;
    lab_note(live->store->lab, &event);
}
