/* Chapter 8, second step: a sale without a majority gives back what it got, and tries again. */
#include "key_lock.h"
#include "read_then_write.h"
#include "strategy.h"

#include <stddef.h>

#define MOST (KV_SERVERS / 2 + 1)

/* The number of servers that have set the key for us. A server without an answer is no vote. */
static int ask_all(struct sale *sale, const char *token) {
    int votes = 0;

    for (int server = 1; server <= KV_SERVERS; server++) {
        struct kv_call set = {KV_SET_ABSENT, .key = KEY_LOCK, .value = token,
                              .ttl_ms = sale->options->ttl_ms, .server = server};

        votes += store_kv(sale, &set) == OUTCOME_OK && set.is_yes;
    }
    return votes;
}

static void give_back(struct sale *sale, const char *token) {
    for (int server = 1; server <= KV_SERVERS; server++) {
        struct kv_call delete = {KV_DELETE_IF_EQUAL, .key = KEY_LOCK, .value = token,
                                 .server = server};

        (void)store_kv(sale, &delete);
    }
}

static enum outcome win(struct sale *sale, const char *token) {
    enum outcome outcome = OUTCOME_OK;

    while (outcome == OUTCOME_OK && ask_all(sale, token) < MOST) {
        give_back(sale, token);
        outcome = store_pause(sale);
    }
    return outcome;
}

static enum outcome sell(struct sale *sale) {
    char token[TOKEN_TEXT];
    enum outcome outcome;

    store_random_token(sale, token);
    outcome = win(sale, token);
    if (outcome != OUTCOME_OK)
        return outcome;
    /* To do: it is still a lease, so it expires while its holder stops. What was the cure? */
    outcome = read_then_write(sale, 0, GUARD_ANY, NULL);
    give_back(sale, token);
    return outcome;
}

const struct strategy strategy_exercise = {
    .name = "exercise",
    .family = "lab",
    .summary = "SET NX PX at most of three Redis, given back without a majority",
    .promise = "see the chapter",
    .breaks = "see the chapter",
    .source = "your own hand",
    .needs = NEEDS_REDLOCK,
    .default_shards = 1,
    .sell = sell,
};
