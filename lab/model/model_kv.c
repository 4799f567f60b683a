/* Keys and values, as a server of them has them. */
#include "model_internal.h"

#include <inttypes.h>
#include <stdio.h>

static enum order_step step_of(enum kv_command command) {
    switch (command) {
    case KV_GET:
        return STEP_LOOKS;
    case KV_SET_ABSENT:
    case KV_EXPIRE:
    case KV_DELETE:
    case KV_DELETE_IF_EQUAL:
        return STEP_KEYS;
    }
    return STEP_LOOKS;
}

static void say_lifetime(const struct kv_call *call, char text[40]) {
    text[0] = '\0';
    if (call->ttl_ms > 0)
        (void)snprintf(text, 40, ", for %" PRId64 " ms", call->ttl_ms);
}

static void tell(struct model_sale *sale, const struct kv_call *call) {
    char lifetime[40];

    if (sale->world->say == NULL)
        return;
    say_lifetime(call, lifetime);
    switch (call->command) {
    case KV_SET_ABSENT:
        model_say(sale, call->is_yes ? "sets the key %s%s" : "finds the key %s taken", call->key,
                  lifetime);
        return;
    case KV_EXPIRE:
        model_say(sale, "lets the key %s expire in %" PRId64 " ms%s", call->key, call->ttl_ms,
                  call->is_yes ? "" : ": it is not there");
        return;
    case KV_GET:
        model_say(sale, "looks at the key %s: %s", call->key,
                  call->is_yes ? call->reply : "it is not there");
        return;
    case KV_DELETE:
        model_say(sale, "deletes the key %s%s", call->key, call->is_yes ? "" : ": it is not there");
        return;
    case KV_DELETE_IF_EQUAL:
        model_say(sale, "deletes the key %s, if it is its own: it is%s", call->key,
                  call->is_yes ? "" : " not");
        return;
    }
}

static enum outcome answer(struct model_sale *sale, struct kv_call *call, enum outcome outcome) {
    uint64_t said = 0;

    if (outcome != OUTCOME_OK) {
        (void)snprintf(sale->sale.message, MESSAGE_BYTES, "Redis %s",
                       outcome == OUTCOME_UNKNOWN ? "did not answer" : "refused a command");
        call->reply[0] = '\0'; /* as live */
        return model_answer(sale, outcome, NULL, 0);
    }
    for (size_t i = 0; i < sizeof call->reply && call->reply[i] != '\0'; i++)
        said = said * 131 + (unsigned char)call->reply[i];
    said = said * 2 + call->is_yes;
    return model_answer(sale, OUTCOME_OK, &said, sizeof said);
}

static bool may_fail_over(const struct model_world *world) {
    return ((world->setup.faults & ~(unsigned)world->state.faults_made) >> FAULT_FAILOVER & 1U) !=
           0;
}

void model_change_keys(struct model_sale *sale, const struct keys *was) {
    struct model_world *world = sale->world;

    world->state.keyed |= (uint8_t)(1U << sale->index);
    model_changed(world);
    if (!may_fail_over(world))
        return;
    for (size_t i = MODEL_LAG - 1; i > 0; i--)
        world->before[i] = world->before[i - 1];
    world->before[0] = *was;
    if (world->state.lag < MODEL_LAG)
        world->state.lag++;
}

void model_lag_keys(struct model_world *world, int writes) {
    if (writes > 0) {
        world->keys = world->before[writes - 1];
        keys_forget(&world->keys, world->state.now_ms);
        model_changed(world);
    }
    world->state.lag = 0;
}

enum outcome model_kv(struct sale *base, struct kv_call *call) {
    struct model_sale *sale = model_of(base);
    struct model_world *world = sale->world;
    static struct keys was; /* it is large for a fiber */
    enum outcome outcome;

    model_step(sale, step_of(call->command));
    if (model_is_dropped(sale))
        return OUTCOME_UNKNOWN;
    if (may_fail_over(world))
        was = world->keys;
    outcome = keys_call(&world->keys, world->state.now_ms, call);
    if (call->command != KV_GET && call->is_yes)
        model_change_keys(sale, &was);
    if (outcome == OUTCOME_OK)
        tell(sale, call);
    else
        model_say(sale, "asks Redis, which refuses the command: %s", call->reply);
    return answer(sale, call, outcome == OUTCOME_OK ? model_may_lose(sale, outcome) : outcome);
}

int64_t model_next_key_ms(const struct model_world *world) {
    const int64_t next_ms = world->keys.key_count > 0 ? keys_expire_next(&world->keys) : 0;

    return next_ms > 0 ? next_ms : INT64_MAX;
}

void model_expire_keys(struct model_world *world) {
    if (model_next_key_ms(world) > world->state.now_ms)
        return;
    keys_forget(&world->keys, world->state.now_ms);
    model_changed(world);
}

static uint64_t hash_server(const struct model_world *world, const struct keys *keys,
                            uint64_t hash) {
    const int64_t now_ms = world->state.now_ms;
    const uint64_t sum = keys_hash(keys, now_ms);

    hash = model_mix(hash, &sum, sizeof sum);
    if (keys->segments.token[0] != '\0')
        hash = model_mix(hash, &keys->segments, sizeof keys->segments);
    return segments_are_pending(&keys->segments) ? model_mix(hash, &now_ms, sizeof now_ms) : hash;
}

uint64_t model_hash_keys(const struct model_world *world, uint64_t hash) {
    hash = hash_server(world, &world->keys, hash);
    for (size_t i = 0; i < world->state.lag && may_fail_over(world); i++)
        hash = hash_server(world, &world->before[i], hash);
    return hash;
}
