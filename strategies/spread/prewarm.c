/* The stock loaded into Redis before the sale, in segments: one script takes a unit, and Postgres
 * is brought what was sold in batches. Redis must write each command to disk before it answers
 * (appendfsync always).
 *
 * Under one hash tag, without a TTL:
 *
 *     stock            hash: data_set, a random token, made with it; last, the row that was loaded
 *                      last; shard, first, left, units: the segment that is being sold from;
 *                      over: there is no row to load any more
 *     stock:segments   list: those loaded ahead, "<row> <first unit> <units>"
 *     stock:orders     hash: order -> "<row> <first unit> <units before> <instance>"
 *     stock:pending    sorted by time: orders that the ledger does not have yet
 *
 * Happy path. Preparing, or who takes half of the last segment, loads the next row of stock:
 * Postgres hands it to the data set, then a script adds it. A sale takes the last unit of the
 * segment, and in the same step notes its order, and that it is pending. That is the sale, and 201
 * leaves; under ack=ledger, or a key of the customer's, after an instance has written the ledger
 * row and lowered the row of stock, in one statement for many sales; then the note goes. A repeat
 * is told its first unit, in the ledger by then. Once all is sold and written, the orders are
 * forgotten: the ledger knows them.
 *
 * Failures. Loading dies between its steps: the row is Postgres' to the data set, which has not had
 * it, and asks for the same again. Two load at once: the script takes a row once, as `last` says.
 * The taking is not answered: it is asked again, and answers the same unit. The instance dies after
 * the taking: another one finds the note, and brings it. Redis is killed: it comes back as it was.
 * The write is not answered, or done by two: Postgres takes a unit once, and says what became of
 * it.
 *
 * Redis loses its data: what is made then has another data_set, and gets only rows that were never
 * handed out, because nobody knows what was sold of the others. Their unsold units stay unsold,
 * visibly, and what was pending is lost: promised under ack=redis, unknown under ack=ledger. Redis
 * forgets its last second alone: it takes units again, of which the ledger takes one order each. */
#include "strategy.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* Order and instance. "sold <row> <first> <units before> <is it time to load>", "again ..." without
 * the last, "empty", or "over". */
static const struct kv_script take_unit = {
    "local orders = KEYS[1] .. ':orders' "
    "local known = redis.call('hget', orders, ARGV[1]) "
    "if known then return 'again ' .. known end "
    "local seen = redis.call('hmget', KEYS[1], 'shard', 'first', 'left', 'units', 'over') "
    "local shard, first, left, units = seen[1], seen[2], tonumber(seen[3] or 0), seen[4] "
    "if left == 0 then "
    "local segment = redis.call('lpop', KEYS[1] .. ':segments') "
    "if not segment then return seen[5] and 'over' or 'empty' end "
    "shard, first, units = segment:match('(%d+) (%d+) (%d+)') left = tonumber(units) end "
    "redis.call('hset', KEYS[1], 'shard', shard, 'first', first, 'left', left - 1, 'units', "
    "units) "
    "local time = redis.call('time') "
    "redis.call('zadd', KEYS[1] .. ':pending', time[1] * 1000 + math.floor(time[2] / 1000), "
    "ARGV[1]) "
    "local note = shard .. ' ' .. first .. ' ' .. left "
    "redis.call('hset', orders, ARGV[1], note .. ' ' .. ARGV[2]) "
    "local is_last = not seen[5] and redis.call('llen', KEYS[1] .. ':segments') == 0 "
    "return 'sold ' .. note .. (is_last and left - 1 == math.floor(units / 2) and ' 1' or "
    "' 0')",
    "take"};

/* A token, for a data set that has none. "<last row> <data set>". */
static const struct kv_script open_data_set = {
    "redis.call('hsetnx', KEYS[1], 'data_set', ARGV[1]) "
    "redis.call('hsetnx', KEYS[1], 'last', -1) "
    "return redis.call('hget', KEYS[1], 'last') .. ' ' .. redis.call('hget', KEYS[1], "
    "'data_set')",
    "open"};

/* Data set, last row, and the next: its number, first unit, units; 0: there is none. */
static const struct kv_script add_segment = {
    "local is = redis.call('hmget', KEYS[1], 'data_set', 'last') "
    "if is[1] ~= ARGV[1] or is[2] ~= ARGV[2] then return 0 end "
    "if ARGV[5] == '0' then return redis.call('hset', KEYS[1], 'over', 1) end "
    "redis.call('hset', KEYS[1], 'last', ARGV[3]) "
    "return redis.call('rpush', KEYS[1] .. ':segments', ARGV[3] .. ' ' .. ARGV[4] .. ' ' "
    ".. ARGV[5])",
    "load"};

struct data_set {
    char token[TOKEN_TEXT];
    int last;
};

/* Loading has sold nothing, whatever became of it. */
static enum outcome nothing_sold(enum outcome outcome) {
    return outcome == OUTCOME_UNKNOWN ? OUTCOME_BUSY : outcome;
}

static enum outcome open_set(struct sale *sale, struct data_set *set) {
    char token[TOKEN_TEXT];
    struct kv_call call = {.key = "stock", .script = &open_data_set, .value = token};
    enum outcome outcome;

    store_random_token(sale, token);
    outcome = store_kv_script(sale, &call);
    if (outcome == OUTCOME_OK && sscanf(call.reply, "%d %40s", &set->last, set->token) != 2)
        return OUTCOME_FAILED;
    return nothing_sold(outcome);
}

static enum outcome load(struct sale *sale, const struct data_set *set) {
    struct stock_row row = {.available = 0};
    char last[12], shard[12], first[24], units[24];
    struct kv_call call = {.key = "stock",
                           .script = &add_segment,
                           .value = set->token,
                           .args = {last, shard, first, units}};
    enum outcome outcome = store_hand_out(sale, set->token, set->last, &row);

    if (outcome != OUTCOME_OK && outcome != OUTCOME_SOLD_OUT)
        return nothing_sold(outcome);
    (void)snprintf(last, sizeof last, "%d", set->last);
    (void)snprintf(shard, sizeof shard, "%d", row.shard);
    (void)snprintf(first, sizeof first, "%" PRId64, row.first_unit);
    (void)snprintf(units, sizeof units, "%" PRId64, row.available);
    return nothing_sold(store_kv_script(sale, &call));
}

static enum outcome load_next(struct sale *sale) {
    struct data_set set;
    enum outcome outcome = open_set(sale, &set);

    return outcome == OUTCOME_OK ? load(sale, &set) : outcome;
}

static enum outcome prepare(struct sale *sale) {
    struct data_set set;
    enum outcome outcome = open_set(sale, &set);

    return outcome == OUTCOME_OK && set.last < 0 ? load(sale, &set) : outcome;
}

struct taken {
    struct stock_row row; /* as it was before */
    bool is_again, is_time_to_load;
};

static bool read_taken(const char *reply, struct taken *taken) {
    char word[8];
    int is_time = 0;

    *taken = (struct taken){.is_time_to_load = false};
    if (sscanf(reply, "%7s %d %" SCNd64 " %" SCNd64 " %d", word, &taken->row.shard,
               &taken->row.first_unit, &taken->row.available, &is_time) < 4)
        return false;
    taken->is_again = strcmp(word, "again") == 0;
    taken->is_time_to_load = !taken->is_again && is_time == 1;
    return taken->is_again || strcmp(word, "sold") == 0;
}

/* OK, and then `taken`; SOLD_OUT, or as the store fails. */
static enum outcome take(struct sale *sale, struct taken *taken) {
    for (;;) {
        struct kv_call call = {.key = "stock",
                               .script = &take_unit,
                               .value = sale->order_id,
                               .args = {sale->instance}};
        enum outcome outcome = store_kv_script(sale, &call);

        if (outcome != OUTCOME_OK || read_taken(call.reply, taken))
            return outcome;
        outcome = strcmp(call.reply, "over") == 0    ? OUTCOME_SOLD_OUT
                  : strcmp(call.reply, "empty") == 0 ? load_next(sale)
                                                     : OUTCOME_UNKNOWN; /* not understood */
        if (outcome != OUTCOME_OK)
            return outcome;
    }
}

/* A customer can send one key for two products at once, and Redis sells to it for each: only the
 * ledger decides whose it is. An id without a key is new, and no other sale has it. */
static bool waits_for_ledger(const struct sale *sale, const struct taken *taken) {
    return taken->is_again || sale->may_be_repeat || sale->options->acknowledges_late;
}

/* Until it is known whether a unit was taken; for as long as the sale may wait. */
static enum outcome take_surely(struct sale *sale, struct taken *taken) {
    enum outcome outcome = take(sale, taken);
    bool is_found = false;

    if (outcome != OUTCOME_UNKNOWN)
        return outcome;
    while (outcome == OUTCOME_UNKNOWN || outcome == OUTCOME_BUSY) {
        if (store_pause(sale) != OUTCOME_OK)
            return OUTCOME_UNKNOWN;
        outcome = take(sale, taken);
    }
    if (outcome == OUTCOME_SOLD_OUT && store_find_sale(sale, &is_found) != OUTCOME_OK)
        return OUTCOME_UNKNOWN;
    return is_found ? OUTCOME_REPEATED : outcome;
}

static enum outcome sell(struct sale *sale) {
    struct taken taken;
    enum outcome outcome;

    store_work(sale);
    outcome = take_surely(sale, &taken);
    if (outcome != OUTCOME_OK)
        return outcome;
    do
        outcome = store_write_pending(sale, &taken.row, waits_for_ledger(sale, &taken));
    while (outcome == OUTCOME_UNKNOWN && store_pause(sale) == OUTCOME_OK);
    if (taken.is_time_to_load)
        (void)load_next(sale);
    return outcome == OUTCOME_SOLD && taken.is_again ? OUTCOME_REPEATED : outcome;
}

const struct strategy strategy_prewarm = {
    .name = "prewarm",
    .family = "spread",
    .summary = "stock rows loaded into Redis before the sale; one script sells, the ledger follows",
    .promise = "no unit sold twice or lost, whatever is killed, Redis too, if it syncs each write",
    .breaks =
        "Redis losing data: FLUSHALL, a lost last second (ack=redis: promises without a sale)",
    .source = "How a distributed lock is made, 5",
    .takes = TAKES_SHARDS | TAKES_ACK,
    .is_right = true,
    .survives = SURVIVES(PAUSE) | SURVIVES(CRASH) | SURVIVES(LOST_REPLY) | SURVIVES(EXPIRY),
    .default_shards = 10,
    .sell = sell,
    .prepare = prepare,
};
