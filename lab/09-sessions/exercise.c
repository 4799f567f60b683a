/* Chapter 9: a node without a TTL, like a folder. The sale that makes the node holds the lock, and
 * removes the node to release it. */
#include "read_then_write.h"
#include "strategy.h"

#include <stddef.h>

#define NODE "node"

static enum outcome try_to_win(struct sale *sale, const char *session, bool *is_won) {
    return store_kv_set_absent(sale, NODE, session, 0, is_won);
}

static enum outcome win(struct sale *sale, const char *session) {
    bool is_won = false;
    enum outcome outcome = try_to_win(sale, session, &is_won);

    while (outcome == OUTCOME_OK && !is_won) {
        /* To do: the node of a dead holder stays. How can another sale know that it is dead? */
        outcome = store_pause(sale);
        if (outcome == OUTCOME_OK)
            outcome = try_to_win(sale, session, &is_won);
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
    outcome = read_then_write(sale, 0, GUARD_ANY, NULL);
    (void)store_kv_delete_if_equal(sale, NODE, session);
    return outcome;
}

const struct strategy strategy_exercise = {
    .name = "exercise",
    .family = "lab",
    .summary = "a node without a TTL, which the holder removes",
    .promise = "see the chapter",
    .breaks = "see the chapter",
    .source = "your own hand",
    .default_shards = 1,
    .sell = sell,
};
