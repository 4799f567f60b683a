/* What is left to chance in a live store, and is the same in every schedule here. */
#include "model_internal.h"

#include <stdio.h>

/* By turns, as each instance of its own; "at random": by the order's own number. */
int model_deal(struct sale *base) {
    struct model_sale *sale = model_of(base);
    uint8_t *dealt = &sale->world->state.dealt[order_of(sale)->instance];
    const int shards = base->options->shards;
    int shard = sale->index % shards;

    if (base->options->deal == DEAL_EVEN) {
        shard = *dealt;
        *dealt = (uint8_t)((shard + 1) % shards);
    }
    (void)model_answer(sale, OUTCOME_OK, &shard, sizeof shard);
    return shard;
}

void model_random_token(struct sale *base, char token[TOKEN_TEXT]) {
    struct model_sale *sale = model_of(base);

    (void)snprintf(token, TOKEN_TEXT, "%04x%036x", (unsigned)sale->index + 1, ++sale->tokens);
}
