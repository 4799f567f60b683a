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
    case KV_SCRIPT:
        return STEP_SELLS;
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
    case KV_SCRIPT:
        model_say(sale, "runs the script %s: %s", call->script->name, call->reply);
        return;
    }
}

static enum outcome answer(struct model_sale *sale, struct kv_call *call, enum outcome outcome) {
    uint64_t said[2] = {0, (uint64_t)call->number};

    if (outcome != OUTCOME_OK) {
        (void)snprintf(sale->sale.message, MESSAGE_BYTES, "Redis %s",
                       outcome == OUTCOME_UNKNOWN ? "did not answer" : "refused a command");
        call->reply[0] = '\0'; /* as live */
        return model_answer(sale, outcome, NULL, 0);
    }
    for (size_t i = 0; i < sizeof call->reply && call->reply[i] != '\0'; i++)
        said[0] = said[0] * 131 + (unsigned char)call->reply[i];
    said[0] = said[0] * 2 + call->is_yes;
    return model_answer(sale, OUTCOME_OK, said, sizeof said);
}

static bool may_fail_over(const struct model_world *world) {
    return ((world->setup.faults & ~(unsigned)world->state.faults_made) >> FAULT_FAILOVER & 1U) !=
           0;
}

/* How the keys were before their last changes. */
static void remember(struct model_world *world, const struct keys *was) {
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

/* A script that sells takes units: whoever made it has changed a key. */
enum outcome model_kv(struct sale *base, struct kv_call *call) {
    struct model_sale *sale = model_of(base);
    struct model_world *world = sale->world;
    static struct keys was; /* it is large for a fiber */
    bool is_remembered;
    enum outcome outcome;

    model_step(sale, step_of(call->command));
    if (model_is_dropped(sale))
        return OUTCOME_UNKNOWN;
    is_remembered = may_fail_over(world) && call->command != KV_GET;
    if (is_remembered)
        was = world->keys;
    outcome = keys_call(&world->keys, world->state.now_ms, call);
    if (call->command != KV_GET && (call->command == KV_SCRIPT || call->is_yes)) {
        world->state.keyed |= (uint8_t)(1U << sale->index);
        model_changed(world);
        if (is_remembered)
            remember(world, &was);
    }
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

/* Whoever was told the time may keep it, here or in mind, and compare it with that of later. And
 * notes of units on their way are sorted by the time of their making. */
static bool has_times(const struct keys *keys) {
    if (keys->is_timed)
        return true;
    for (size_t i = 0; i < keys->key_count; i++)
        if (keys->keys[i].type == KEYS_SORTED)
            return true;
    return false;
}

uint64_t model_hash_keys(const struct model_world *world, uint64_t hash) {
    const int64_t now_ms = world->state.now_ms;
    uint64_t keys = world->keys.key_count > 0 ? keys_hash(&world->keys, now_ms) : 0;

    hash = keys != 0 ? model_mix(hash, &keys, sizeof keys) : hash;
    if (has_times(&world->keys))
        hash = model_mix(hash, &now_ms, sizeof now_ms);
    for (size_t i = 0; i < world->state.lag && may_fail_over(world); i++) {
        keys = keys_hash(&world->before[i], now_ms);
        hash = model_mix(hash, &keys, sizeof keys);
    }
    return hash;
}
