/* Notes in a key that all is sold. A unit that comes back is never sold. */
#include "read_then_write.h"
#include "strategy.h"

#include <stddef.h>

#define KEY_GONE "gone"

static enum outcome sell(struct sale *sale) {
    char gone[KV_TEXT];
    bool was_set;
    enum outcome outcome = store_kv_get(sale, KEY_GONE, gone);

    if (outcome == OUTCOME_OK && gone[0] != '\0')
        return OUTCOME_SOLD_OUT;
    do
        outcome = read_then_write(sale, 0, GUARD_VERSION, NULL);
    while (outcome == OUTCOME_CONFLICT && store_pause(sale) == OUTCOME_OK);
    if (outcome == OUTCOME_SOLD_OUT)
        (void)store_kv_set_absent(sale, KEY_GONE, "yes", 0, &was_set);
    return outcome;
}

const struct strategy strategy_exercise = {
    .name = "exercise",
    .family = "exercise",
    .summary = "optimistic by a version; a key remembers the end of the stock",
    .promise = "nothing: a planted bug",
    .breaks = "a unit that comes back",
    .source = "the museum",
    .takes = TAKES_RETURN,
    .default_shards = 1,
    .sell = sell,
};
