/* Plays an operation, and keeps its answer. */
#include "seam_op.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const char *const names[] = {
#define X(name) #name,
    SEAM_OPS(X)
#undef X
};

static void note_row(const struct stock_row *row, struct seam_answer *answer) {
    const int64_t numbers[] = {row->shard, row->first_unit, row->available, row->version,
                               row->unit};

    if (answer->outcome != OUTCOME_OK)
        return;
    memcpy(answer->numbers, numbers, sizeof numbers);
    answer->fence = row->fence;
}

static void note_sold(const struct sale *sale, struct seam_answer *answer) {
    const int64_t numbers[] = {sale->shard, sale->unit, sale->remaining};

    if (answer->outcome != OUTCOME_SOLD)
        return;
    memcpy(answer->numbers, numbers, sizeof numbers);
    answer->fence = sale->fence;
}

static void play_read(struct seam_side *side, const struct seam_op *op,
                      struct seam_answer *answer) {
    struct data_set set = {.last = op->shard - 1};
    struct stock_row row = {.shard = 0};

    if (op->kind == OP_HAND_OUT)
        strcpy(set.token, op->text);
    if (op->kind == OP_READ)
        answer->outcome = store_read_stock(side->sale, op->shard, &row);
    else if (op->kind == OP_HAND_OUT)
        answer->outcome = store_hand_out(side->sale, &set, &row);
    else
        answer->outcome = store_read_for_update(side->sale, op->shard, op->wait, &row);
    note_row(&row, answer);
    if (answer->outcome == OUTCOME_OK && op->kind != OP_HAND_OUT)
        side->seen = row;
}

/* Each store has made its own token. */
static void play_loaded(struct seam_side *side, const struct seam_op *op,
                        struct seam_answer *answer) {
    struct loaded_unit taken = {.is_again = false};
    char token[TOKEN_TEXT];

    if (op->kind == OP_OPEN_DATA_SET) {
        memcpy(token, side->set.token, sizeof token);
        answer->outcome = store_open_data_set(side->sale, &side->set);
        answer->numbers[0] = side->set.last;
        answer->numbers[1] = strcmp(token, side->set.token) == 0;
    } else if (op->kind == OP_LOAD_ROW) {
        answer->outcome = store_load_row(side->sale, &side->set, &side->seen);
    } else {
        answer->outcome = store_take_loaded(side->sale, &taken);
        note_row(&taken.seen, answer);
        answer->numbers[3] = taken.is_again;
        answer->numbers[4] = taken.is_half_sold;
        if (answer->outcome == OUTCOME_OK)
            side->seen = taken.seen;
    }
}

static void play_lock(struct seam_side *side, const struct seam_op *op,
                      struct seam_answer *answer) {
    struct store_lock *lock = NULL;

    if (op->kind == OP_STAMP) {
        side->stamp = store_stamp(side->sale, 0);
        answer->numbers[0] = side->stamp != 0;
        return;
    }
    if (op->kind == OP_LOCK)
        answer->outcome = store_lock(side->sale, op->lock, 0, &lock);
    else if (op->kind == OP_LOCK_SHARED)
        answer->outcome = store_lock_shared(side->sale, op->lock, 0, &lock);
    else
        answer->outcome = store_lock_stamped(side->sale, 0, side->stamp, &lock);
    if (answer->outcome == OUTCOME_OK)
        side->lock = lock;
}

static void play_script(struct sale *sale, const struct seam_op *op, struct seam_answer *answer) {
    struct kv_call count = {KV_COUNT, .key = op->wait == ROW_WAIT ? op->key : "number"};
    struct kv_call set = {KV_SET_ABSENT, .key = op->key, .value = "8", .ttl_ms = op->ttl_ms,
                          .then = &count};
    struct kv_call expire = {KV_EXPIRE, .key = op->key, .ttl_ms = 60000};
    struct kv_call delete = {KV_DELETE_IF_EQUAL, .key = op->key, .value = op->text, .then = &set};
    struct kv_call is = {KV_IS, .key = op->key, .value = op->text, .then = &expire};

    answer->outcome = store_kv(sale, op->wait == ROW_NOWAIT        ? &is
                                     : op->wait == ROW_SKIP_LOCKED ? &delete
                                                                   : &count);
    answer->numbers[0] = is.is_yes;
    answer->numbers[1] = expire.is_yes;
    answer->numbers[2] = delete.is_yes;
    answer->numbers[3] = set.is_yes;
    answer->numbers[4] = count.is_yes;
    memcpy(answer->text, count.reply, sizeof answer->text);
}

static void play_key(struct sale *sale, const struct seam_op *op, struct seam_answer *answer) {
    bool was_set = false;

    if (op->kind == OP_SET_ABSENT) {
        answer->outcome = store_kv_set_absent(sale, op->key, op->text, op->ttl_ms, &was_set);
        answer->numbers[0] = was_set;
    } else if (op->kind == OP_EXPIRE) {
        answer->outcome = store_kv_expire(sale, op->key, 60000);
    } else if (op->kind == OP_GET) {
        answer->outcome = store_kv_get(sale, op->key, answer->text);
    } else if (op->kind == OP_DELETE) {
        answer->outcome = store_kv_delete(sale, op->key);
    } else if (op->kind == OP_DELETE_IF_EQUAL) {
        answer->outcome = store_kv_delete_if_equal(sale, op->key, op->text);
    } else {
        play_script(sale, op, answer);
    }
}

static void play_sale(struct seam_side *side, const struct seam_op *op,
                      const struct strategy *strategy, struct seam_answer *answer) {
    struct sale *sale = side->sale;
    bool is_found = false;

    if (op->kind == OP_WRITE) {
        answer->outcome = store_write_stock(sale, &side->seen, op->guard, side->lock);
    } else if (op->kind == OP_TAKE) {
        answer->outcome = store_take_stock(sale, op->shard);
    } else if (op->kind == OP_TAKE_IN_BATCH) {
        answer->outcome = store_take_in_batch(sale, op->shard);
    } else if (op->kind == OP_TAKE_RETURNED) {
        answer->outcome = store_take_returned(sale);
    } else if (op->kind == OP_WRITE_PENDING) {
        answer->outcome = store_write_pending(sale, &side->seen, true);
    } else if (op->kind == OP_SELL) {
        sale->may_be_repeat = true;
        answer->outcome = strategy_sell(strategy, sale);
    } else if (op->kind == OP_FIND) {
        answer->outcome = store_find_sale(sale, &is_found);
        answer->numbers[0] = is_found;
    } else if (op->kind == OP_BEGIN) {
        answer->outcome = store_begin(sale, op->isolation);
    } else if (op->kind == OP_END) {
        answer->outcome = store_end(sale, op->end);
    } else if (op->kind == OP_DEAL) {
        answer->numbers[0] = store_deal(sale);
    } else if (op->kind == OP_SAW_EMPTY) {
        answer->numbers[0] = store_saw_empty(sale, op->shard);
    }
    note_sold(sale, answer);
}

struct seam_answer seam_op_play(struct seam_side *side, const struct seam_op *op,
                                const struct strategy *strategy) {
    struct seam_answer answer = {.outcome = OUTCOME_OK};

    if (op->kind == OP_READ || op->kind == OP_READ_FOR_UPDATE || op->kind == OP_HAND_OUT)
        play_read(side, op, &answer);
    else if (op->kind >= OP_OPEN_DATA_SET && op->kind <= OP_TAKE_LOADED)
        play_loaded(side, op, &answer);
    else if (op->kind == OP_UNLOCK)
        store_unlock(side->sale, side->lock, OUTCOME_SOLD);
    else if (op->kind >= OP_SET_ABSENT)
        play_key(side->sale, op, &answer);
    else if (op->kind >= OP_LOCK)
        play_lock(side, op, &answer);
    else
        play_sale(side, op, strategy, &answer);
    return answer;
}

int64_t seam_rank(struct seam_fences *fences, int64_t fence) {
    for (size_t i = 0; i < fences->count; i++)
        if (fences->seen[i] == fence)
            return (int64_t)i + 1;
    if (fence == 0)
        return 0;
    if (fences->count == sizeof fences->seen / sizeof *fences->seen ||
        (fences->count > 0 && fences->seen[fences->count - 1] > fence))
        return -1;
    fences->seen[fences->count++] = fence;
    return (int64_t)fences->count;
}

void seam_op_text(const struct seam_op *op, char text[SEAM_TEXT]) {
    if (op->kind >= OP_SET_ABSENT)
        (void)snprintf(text, SEAM_TEXT, "%c %s(%s, %s)", 'A' + op->who, names[op->kind], op->key,
                       op->text);
    else
        (void)snprintf(text, SEAM_TEXT,
                       "%c %s(shard %d, wait %d, guard %d, isolation %d, set %s, end %s, %s)",
                       'A' + op->who, names[op->kind], op->shard, (int)op->wait, (int)op->guard,
                       (int)op->isolation, op->text != NULL ? op->text : "", outcome_name(op->end),
                       lock_kind_name(op->lock));
}

void seam_answer_text(const struct seam_answer *answer, char text[SEAM_TEXT]) {
    (void)snprintf(
        text, SEAM_TEXT,
        "%s %" PRId64 " %" PRId64 " %" PRId64 " %" PRId64 " %" PRId64 " fence %" PRId64 " \"%s\"",
        outcome_name(answer->outcome), answer->numbers[0], answer->numbers[1], answer->numbers[2],
        answer->numbers[3], answer->numbers[4], answer->fence, answer->text);
}
