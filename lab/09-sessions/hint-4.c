/* Chapter 9, second step: the heir compares, removes and makes the node in one step. So there is one
 * heir. */
#include "read_then_write.h"
#include "strategy.h"

#include <stddef.h>
#include <stdio.h>

#define NODE "node"

/* The key that lives as long as the session. */
static void key_of(const char *session, char key[KV_TEXT]) {
    (void)snprintf(key, KV_TEXT, "s%.40s", session);
}

static enum outcome is_alive(struct sale *sale, const char *session, bool *is_alive) {
    char key[KV_TEXT], value[KV_TEXT];
    enum outcome outcome;

    key_of(session, key);
    outcome = store_kv_get(sale, key, value);
    *is_alive = value[0] != '\0';
    return outcome;
}

/* Make the node and the session's key in one step, so no node is without a session. */
static enum outcome try_to_win(struct sale *sale, const char *session, bool *is_won) {
    char key[KV_TEXT];
    struct kv_call begin = {KV_SET_ABSENT, .key = key, .value = "alive",
                            .ttl_ms = sale->options->ttl_ms};
    struct kv_call make = {KV_SET_ABSENT, .key = NODE, .value = session, .then = &begin};
    enum outcome outcome;

    key_of(session, key);
    outcome = store_kv(sale, &make);
    *is_won = begin.is_yes;
    return outcome;
}

static void release(struct sale *sale, const char *session) {
    char key[KV_TEXT];
    struct kv_call end = {KV_DELETE, .key = key};
    struct kv_call drop = {KV_DELETE_IF_EQUAL, .key = NODE, .value = session, .then = &end};

    key_of(session, key);
    (void)store_kv(sale, &drop);
}

/* Take the node of a dead holder over, in one step: if it is still the dead holder's. */
static enum outcome take_over(struct sale *sale, const char *holder, const char *session,
                              bool *is_won) {
    char key[KV_TEXT];
    struct kv_call begin = {KV_SET_ABSENT, .key = key, .value = "alive",
                            .ttl_ms = sale->options->ttl_ms};
    struct kv_call make = {KV_SET_ABSENT, .key = NODE, .value = session, .then = &begin};
    struct kv_call drop = {KV_DELETE_IF_EQUAL, .key = NODE, .value = holder, .then = &make};
    enum outcome outcome;

    key_of(session, key);
    outcome = store_kv(sale, &drop);
    *is_won = begin.is_yes;
    return outcome;
}

static enum outcome inherit(struct sale *sale, const char *session, bool *is_won) {
    char holder[KV_TEXT];
    bool lives = true;
    enum outcome outcome = store_kv_get(sale, NODE, holder);

    if (outcome == OUTCOME_OK && holder[0] != '\0')
        outcome = is_alive(sale, holder, &lives);
    return outcome == OUTCOME_OK && !lives ? take_over(sale, holder, session, is_won) : outcome;
}

static enum outcome win(struct sale *sale, const char *session) {
    bool is_won = false;
    enum outcome outcome = OUTCOME_OK;

    while (outcome == OUTCOME_OK && !is_won) {
        outcome = try_to_win(sale, session, &is_won);
        if (outcome == OUTCOME_OK && !is_won)
            outcome = inherit(sale, session, &is_won);
        if (outcome == OUTCOME_OK && !is_won)
            outcome = store_pause(sale);
    }
    return outcome;
}

static enum outcome sell(struct sale *sale) {
    char session[TOKEN_TEXT];
    enum outcome outcome;

    store_random_token(sale, session);
    outcome = win(sale, session);
    if (outcome != OUTCOME_OK)
        return outcome;
    /* To do: a session ends while its holder stands still, like a lease. What was the cure? */
    outcome = read_then_write(sale, 0, GUARD_ANY, NULL);
    release(sale, session);
    return outcome;
}

const struct strategy strategy_exercise = {
    .name = "exercise",
    .family = "lab",
    .summary = "a node that names its session; one heir takes it over",
    .promise = "see the chapter",
    .breaks = "see the chapter",
    .source = "your own hand",
    .default_shards = 1,
    .sell = sell,
};
