/* Try, pause, try again: the article's loop, with the pause that the article recommends. */
#include "key_lock.h"

enum outcome key_lock_win(struct sale *sale, const char *owner, int64_t ttl_ms) {
    bool is_won = false;
    enum outcome outcome = store_kv_set_absent(sale, KEY_LOCK, owner, ttl_ms, &is_won);

    while (outcome == OUTCOME_OK && !is_won) {
        outcome = store_pause(sale);
        if (outcome == OUTCOME_OK)
            outcome = store_kv_set_absent(sale, KEY_LOCK, owner, ttl_ms, &is_won);
    }
    return outcome;
}
