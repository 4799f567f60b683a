/* Turns operations into calls, and calls into operations. */
#include "call.h"

#include "text_copy.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

void (*call_ask)(const struct call *call, struct reply *reply);
void (*call_trace)(const char *text);

static_assert(sizeof(struct reply) == 3 * 8 + 2 * 48 + KV_STEPS * KV_TEXT,
              "padding would be compared");

static struct call_row row_of(const struct stock_row *row) {
    return (struct call_row){row->shard,   row->first_unit, row->available,
                             row->version, row->unit,       row->fence};
}

static struct stock_row stock_of(const struct call_row *row) {
    return (struct stock_row){.shard = (int)row->shard,
                              .first_unit = row->first_unit,
                              .available = row->available,
                              .version = row->version,
                              .unit = row->unit,
                              .fence = row->fence};
}

static struct call_row unit_of(const struct sale *sale) {
    return (struct call_row){.shard = sale->shard,
                             .available = sale->remaining,
                             .unit = sale->unit,
                             .fence = sale->fence};
}

/* ---- in the student's process */

static enum outcome ask(struct sale *sale, const struct call *call, struct reply *reply) {
    call_ask(call, reply);
    sale->shard = (int)reply->sale.shard;
    sale->remaining = reply->sale.available;
    sale->unit = reply->sale.unit;
    sale->fence = reply->sale.fence;
    return (enum outcome)reply->outcome;
}

static enum outcome ask_plainly(struct sale *sale, enum call_kind kind, int64_t shard, int how) {
    struct reply reply;

    return ask(sale, &(struct call){.kind = (int32_t)kind, .how = how, .shard = shard}, &reply);
}

static enum outcome ask_for_row(struct sale *sale, const struct call *call, struct stock_row *row) {
    struct reply reply;
    const enum outcome outcome = ask(sale, call, &reply);

    if (outcome == OUTCOME_OK)
        *row = stock_of(&reply.row);
    return outcome;
}

static enum outcome call_read_stock(struct sale *sale, int shard, struct stock_row *row) {
    return ask_for_row(sale, &(struct call){.kind = CALL_READ_STOCK, .shard = shard}, row);
}

static enum outcome call_read_for_update(struct sale *sale, int shard, enum row_wait wait,
                                         struct stock_row *row) {
    const struct call call = {.kind = CALL_READ_FOR_UPDATE, .how = (int)wait, .shard = shard};

    return ask_for_row(sale, &call, row);
}

static enum outcome call_check_write(struct sale *sale, enum guard guard,
                                     const struct store_lock *under) {
    struct reply reply;

    return ask(sale,
               &(struct call){.kind = CALL_CHECK_WRITE, .how = (int)guard, .mode = under != NULL},
               &reply);
}

static enum outcome call_write_stock(struct sale *sale, const struct stock_row *seen,
                                     enum guard guard, const struct store_lock *under) {
    const struct call call = {.kind = CALL_WRITE_STOCK,
                              .how = (int)guard,
                              .mode = under != NULL,
                              .number = seen->token,
                              .row = row_of(seen)};
    struct reply reply;

    return ask(sale, &call, &reply);
}

static enum outcome call_take_stock(struct sale *sale, int shard) {
    return ask_plainly(sale, CALL_TAKE_STOCK, shard, 0);
}

static enum outcome call_take_in_batch(struct sale *sale, int shard) {
    return ask_plainly(sale, CALL_TAKE_IN_BATCH, shard, 0);
}

static enum outcome call_take_returned(struct sale *sale) {
    return ask_plainly(sale, CALL_TAKE_RETURNED, 0, 0);
}

static enum outcome call_find_sale(struct sale *sale, bool *is_found) {
    struct reply reply;
    const enum outcome outcome = ask(sale, &(struct call){.kind = CALL_FIND_SALE}, &reply);

    *is_found = reply.flag != 0;
    return outcome;
}

/* ---- data sets */

static struct call with_set(enum call_kind kind, const struct data_set *set) {
    struct call call = {.kind = (int32_t)kind, .last = set->last};

    (void)snprintf(call.key, sizeof call.key, "%.*s", TOKEN_TEXT, set->token);
    return call;
}

static enum outcome call_open_data_set(struct sale *sale, struct data_set *set) {
    const struct call call = with_set(CALL_OPEN_DATA_SET, set);
    struct reply reply;
    const enum outcome outcome = ask(sale, &call, &reply);

    if (outcome != OUTCOME_OK)
        return outcome;
    memcpy(set->token, reply.text, sizeof set->token);
    set->last = reply.flag;
    return outcome;
}

static enum outcome call_hand_out(struct sale *sale, const struct data_set *set,
                                  struct stock_row *row) {
    const struct call call = with_set(CALL_HAND_OUT, set);

    return ask_for_row(sale, &call, row);
}

static enum outcome call_load_row(struct sale *sale, const struct data_set *set,
                                  const struct stock_row *row) {
    struct call call = with_set(CALL_LOAD_ROW, set);
    struct reply reply;

    call.row = row_of(row);
    return ask(sale, &call, &reply);
}

static enum outcome call_take_loaded(struct sale *sale, struct loaded_unit *taken) {
    struct reply reply;
    const enum outcome outcome = ask(sale, &(struct call){.kind = CALL_TAKE_LOADED}, &reply);

    *taken = (struct loaded_unit){.seen = stock_of(&reply.row),
                                  .is_again = reply.is_again != 0,
                                  .is_half_sold = reply.is_half_sold != 0};
    return outcome;
}

static enum outcome call_write_pending(struct sale *sale, const struct stock_row *seen,
                                       bool is_awaited) {
    const struct call call = {.kind = CALL_WRITE_PENDING, .mode = is_awaited, .row = row_of(seen)};
    struct reply reply;

    return ask(sale, &call, &reply);
}

/* ---- transactions, locks and keys */

static enum outcome call_begin(struct sale *sale, enum isolation isolation) {
    return ask_plainly(sale, CALL_BEGIN, 0, (int)isolation);
}

static enum outcome call_commit(struct sale *sale) {
    return ask_plainly(sale, CALL_COMMIT, 0, 0);
}

static void call_rollback(struct sale *sale) {
    (void)ask_plainly(sale, CALL_ROLLBACK, 0, 0);
}

/* A strategy holds the address of a lock, and can see nothing behind it. */
static enum outcome call_lock(struct sale *sale, struct lock_call *asked) {
    static const char lock;
    const struct call call = {.kind = CALL_LOCK,
                              .how = (int)asked->kind,
                              .mode = (int)asked->mode,
                              .shard = asked->shard,
                              .number = (int64_t)asked->stamp};
    struct reply reply;
    const enum outcome outcome = ask(sale, &call, &reply);

    asked->stamp = (uint64_t)reply.stamp;
    asked->lock = (struct store_lock *)(uintptr_t)&lock;
    return outcome;
}

static void call_unlock(struct sale *sale, struct store_lock *lock, enum outcome outcome) {
    (void)lock;
    (void)ask_plainly(sale, CALL_UNLOCK, 0, (int)outcome);
}

/* Without printf: a player would have to map most of its code. */
static void call_write_text(char to[CALL_TEXT], const char *from) {
    text_copy(to, CALL_TEXT, from != NULL ? from : "");
}

static enum outcome call_kv(struct sale *sale, struct kv_call *asked) {
    struct call call = {.kind = CALL_KV,
                        .how = (int)asked->command,
                        .last = asked->server,
                        .number = asked->ttl_ms};
    struct call_step *to = call.then;
    struct kv_call *step;
    struct reply reply;
    enum outcome outcome;
    int at = 0;

    call_write_text(call.key, asked->key);
    call_write_text(call.value, asked->value);
    for (step = asked->then; step != NULL; step = step->then, to++) {
        to->how = 1 + (int32_t)step->command;
        to->number = step->ttl_ms;
        call_write_text(to->key, step->key);
        call_write_text(to->value, step->value);
    }
    outcome = ask(sale, &call, &reply);
    for (step = asked; step != NULL; step = step->then, at++) {
        step->is_yes = at < reply.flag;
        memcpy(step->reply, at == 0 ? reply.text : reply.then[at - 1], sizeof step->reply);
    }
    return outcome;
}

/* ---- the rest */

static int call_deal(struct sale *sale) {
    struct reply reply;

    (void)ask(sale, &(struct call){.kind = CALL_DEAL}, &reply);
    return reply.flag;
}

static bool call_saw_empty(struct sale *sale, int shard) {
    struct reply reply;

    (void)ask(sale, &(struct call){.kind = CALL_SAW_EMPTY, .shard = shard}, &reply);
    return reply.flag != 0;
}

static void call_random_token(struct sale *sale, char token[TOKEN_TEXT]) {
    struct reply reply;

    (void)ask(sale, &(struct call){.kind = CALL_TOKEN}, &reply);
    memcpy(token, reply.text, TOKEN_TEXT);
}

static enum outcome call_pause(struct sale *sale) {
    return ask_plainly(sale, CALL_PAUSE, 0, 0);
}

static bool call_work(struct sale *sale, int64_t most_ms) {
    struct reply reply;

    (void)ask(sale, &(struct call){.kind = CALL_WORK, .number = most_ms}, &reply);
    return reply.flag != 0;
}

static void call_show(struct sale *sale, const char *text) {
    (void)sale;
    call_trace(text);
}

static enum outcome call_pass(struct sale *sale, enum fail_point point) {
    (void)sale, (void)point;
    return OUTCOME_OK;
}

const struct store_ops call_ops = {.read_stock = call_read_stock,
                                   .read_for_update = call_read_for_update,
                                   .check_write = call_check_write,
                                   .write_stock = call_write_stock,
                                   .take_stock = call_take_stock,
                                   .take_in_batch = call_take_in_batch,
                                   .take_returned = call_take_returned,
                                   .find_sale = call_find_sale,
                                   .open_data_set = call_open_data_set,
                                   .hand_out = call_hand_out,
                                   .load_row = call_load_row,
                                   .take_loaded = call_take_loaded,
                                   .write_pending = call_write_pending,
                                   .begin = call_begin,
                                   .commit = call_commit,
                                   .rollback = call_rollback,
                                   .lock = call_lock,
                                   .unlock = call_unlock,
                                   .kv = call_kv,
                                   .deal = call_deal,
                                   .saw_empty = call_saw_empty,
                                   .random_token = call_random_token,
                                   .pause = call_pause,
                                   .work = call_work,
                                   .trace = call_show,
                                   .pass = call_pass};

struct call call_end(const struct sale *sale, enum outcome outcome) {
    return (struct call){.kind = CALL_END, .how = (int)outcome, .row = unit_of(sale)};
}

/* ---- in the grader's process */

const char *call_name(const struct call *call) {
    static const char *const names[CALL_END + 1] = {[CALL_READ_STOCK] = "store_read_stock",
                                                    [CALL_READ_FOR_UPDATE] =
                                                        "store_read_for_update",
                                                    [CALL_CHECK_WRITE] = "store_write_stock",
                                                    [CALL_WRITE_STOCK] = "store_write_stock",
                                                    [CALL_TAKE_STOCK] = "store_take_stock",
                                                    [CALL_TAKE_IN_BATCH] = "store_take_in_batch",
                                                    [CALL_TAKE_RETURNED] = "store_take_returned",
                                                    [CALL_FIND_SALE] = "store_find_sale",
                                                    [CALL_OPEN_DATA_SET] = "store_open_data_set",
                                                    [CALL_HAND_OUT] = "store_hand_out",
                                                    [CALL_LOAD_ROW] = "store_load_row",
                                                    [CALL_TAKE_LOADED] = "store_take_loaded",
                                                    [CALL_WRITE_PENDING] = "store_write_pending",
                                                    [CALL_BEGIN] = "store_begin",
                                                    [CALL_COMMIT] = "store_end",
                                                    [CALL_ROLLBACK] = "store_end",
                                                    [CALL_LOCK] = "store_lock",
                                                    [CALL_UNLOCK] = "store_unlock",
                                                    [CALL_DEAL] = "store_deal",
                                                    [CALL_SAW_EMPTY] = "store_saw_empty",
                                                    [CALL_TOKEN] = "store_random_token",
                                                    [CALL_PAUSE] = "store_pause",
                                                    [CALL_WORK] = "store_work"};
    static const char *const of_keys[] = {[KV_SET_ABSENT] = "store_kv_set_absent",
                                          [KV_EXPIRE] = "store_kv_expire",
                                          [KV_GET] = "store_kv_get",
                                          [KV_DELETE] = "store_kv_delete",
                                          [KV_DELETE_IF_EQUAL] = "store_kv_delete_if_equal"};
    const char *name = call->kind > 0 && call->kind <= CALL_END ? names[call->kind] : NULL;

    if (call->kind == CALL_KV)
        name = "store_kv";
    if (call->kind == CALL_KV && call->how >= 0 && call->how <= KV_DELETE_IF_EQUAL)
        name = of_keys[call->how];
    return name != NULL ? name : "an unknown function";
}

static bool is_same_row(const struct call_row *a, const struct call_row *b) {
    return a->shard == b->shard && a->first_unit == b->first_unit && a->available == b->available &&
           a->version == b->version && a->unit == b->unit && a->fence == b->fence;
}

static bool is_same_step(const struct call_step *a, const struct call_step *b) {
    return a->how == b->how && a->number == b->number && strcmp(a->key, b->key) == 0 &&
           strcmp(a->value, b->value) == 0;
}

bool call_is_same(const struct call *a, const struct call *b) {
    for (int i = 0; i < KV_STEPS - 1; i++)
        if (!is_same_step(&a->then[i], &b->then[i]))
            return false;
    return a->kind == b->kind && a->how == b->how && a->mode == b->mode && a->last == b->last &&
           a->shard == b->shard && a->number == b->number && is_same_row(&a->row, &b->row) &&
           strcmp(a->key, b->key) == 0 && strcmp(a->value, b->value) == 0;
}

static bool is_text(const char *text) {
    return memchr(text, '\0', CALL_TEXT) != NULL;
}

static bool is_number(int64_t number) {
    return number > INT32_MIN && number < INT32_MAX;
}

static bool is_numbers(const struct call_row *row) {
    return is_number(row->shard) && is_number(row->first_unit) && is_number(row->available) &&
           is_number(row->version) && is_number(row->unit) && is_number(row->fence);
}

static bool is_in(int value, int last) {
    return value >= 0 && value <= last;
}

static bool is_row(const struct call *call, const struct sale *sale) {
    return call->row.shard >= 0 && call->row.shard < sale->options->shards &&
           call->row.first_unit >= 1;
}

static bool is_set(const struct call *call, const struct sale *sale) {
    return call->key[0] != '\0' && strlen(call->key) < TOKEN_TEXT && call->last >= -1 &&
           call->last < sale->options->shards;
}

static bool is_lock(const struct call *call) {
    return is_in(call->how, LOCK_PG_ADVISORY_RAW) && call->how != LOCK_KEY &&
           is_in(call->mode, MODE_UNCHANGED) &&
           (call->mode != MODE_SHARED || call->how == LOCK_RWLOCK || call->how == LOCK_REDIS_RW);
}

static bool is_command(int how, int64_t number) {
    return is_in(how, KV_COUNT) && (how != KV_SET_ABSENT || number >= 0);
}

static bool is_script(const struct call *call) {
    bool has_ended = false;

    for (int i = 0; i < KV_STEPS - 1; i++) {
        const struct call_step *step = &call->then[i];

        if (!is_text(step->key) || !is_text(step->value) || (has_ended && step->how != 0) ||
            step->how < 0 || (step->how != 0 && !is_command(step->how - 1, step->number)))
            return false;
        has_ended |= step->how == 0;
    }
    return is_command(call->how, call->number) && is_in(call->last, KV_SERVERS);
}

/* The rules of store.c, which the model relies on. */
static bool is_in_order(const struct call *call, const struct sale *sale) {
    switch ((enum call_kind)call->kind) {
    case CALL_READ_FOR_UPDATE:
        return sale->is_in_transaction && is_in(call->how, ROW_SKIP_LOCKED);
    case CALL_COMMIT:
    case CALL_ROLLBACK:
        return sale->is_in_transaction;
    case CALL_TAKE_STOCK:
    case CALL_TAKE_IN_BATCH:
        return !sale->is_in_transaction;
    case CALL_BEGIN:
        return !sale->is_in_transaction && is_in(call->how, SERIALIZABLE);
    case CALL_CHECK_WRITE:
        return is_in(call->how, GUARD_FENCE);
    case CALL_WRITE_STOCK:
        return is_in(call->how, GUARD_FENCE) && call->row.available > 0 && call->number >= 0 &&
               call->number <= INT32_MAX;
    case CALL_HAND_OUT:
    case CALL_OPEN_DATA_SET:
        return call->kind == CALL_OPEN_DATA_SET || is_set(call, sale);
    case CALL_LOAD_ROW:
        return is_set(call, sale) && call->row.available >= 0 &&
               (call->row.available == 0 || is_row(call, sale));
    case CALL_WRITE_PENDING:
        return is_row(call, sale) && call->row.available > 0;
    case CALL_LOCK:
        return is_lock(call);
    case CALL_KV:
        return is_script(call);
    case CALL_WORK:
        return call->number > 0;
    case CALL_READ_STOCK:
    case CALL_TAKE_RETURNED:
    case CALL_FIND_SALE:
    case CALL_TAKE_LOADED:
    case CALL_UNLOCK:
    case CALL_DEAL:
    case CALL_SAW_EMPTY:
    case CALL_TOKEN:
    case CALL_PAUSE:
    case CALL_END:
        return true;
    }
    return false; /* no such kind */
}

bool call_is_possible(const struct call *call, const struct sale *sale) {
    return is_text(call->key) && is_text(call->value) && is_number(call->shard) &&
           is_numbers(&call->row) && is_in_order(call, sale);
}

/* ---- make a call on the model */

static enum outcome make_row(struct sale *sale, const struct call *call, struct reply *reply) {
    struct stock_row row = stock_of(&call->row);
    struct data_set set = {.last = call->last};
    enum outcome outcome = OUTCOME_FAILED;

    memcpy(set.token, call->key, sizeof set.token);
    if (call->kind == CALL_READ_STOCK)
        outcome = sale->ops->read_stock(sale, (int)call->shard, &row);
    else if (call->kind == CALL_READ_FOR_UPDATE)
        outcome =
            sale->ops->read_for_update(sale, (int)call->shard, (enum row_wait)call->how, &row);
    else if (call->kind == CALL_HAND_OUT)
        outcome = sale->ops->hand_out(sale, &set, &row);
    else if (call->kind == CALL_LOAD_ROW)
        return sale->ops->load_row(sale, &set, &row);
    if (outcome == OUTCOME_OK)
        reply->row = row_of(&row);
    return outcome;
}

static enum outcome make_write(struct sale *sale, const struct call *call,
                               struct store_lock *held) {
    struct stock_row seen = stock_of(&call->row);
    const struct store_lock *under = call->mode != 0 ? held : NULL;

    if (call->kind == CALL_CHECK_WRITE)
        return sale->ops->check_write(sale, (enum guard)call->how, under);
    seen.token = call->number;
    if (call->kind == CALL_WRITE_STOCK)
        return sale->ops->write_stock(sale, &seen, (enum guard)call->how, under);
    return sale->ops->write_pending(sale, &seen, call->mode != 0);
}

static enum outcome make_lock(struct sale *sale, const struct call *call, struct reply *reply) {
    struct lock_call asked = {(enum lock_kind)call->how, (enum lock_mode)call->mode,
                              (int)call->shard, (uint64_t)call->number, NULL};
    const enum outcome outcome = sale->ops->lock(sale, &asked);

    reply->stamp = (int64_t)asked.stamp;
    if (outcome == OUTCOME_OK && asked.mode != MODE_LOOK)
        sale->held = asked.lock;
    return outcome;
}

/* A longer TTL is like this one: no schedule lasts so long. */
#define TTL_MOST ((int64_t)1 << 45)

static int64_t ttl_of(int64_t ms) {
    return ms > TTL_MOST ? TTL_MOST : ms < -TTL_MOST ? -TTL_MOST : ms;
}

static enum outcome make_kv(struct sale *sale, const struct call *call, struct reply *reply) {
    struct kv_call asked[KV_STEPS];
    enum outcome outcome;
    int count = 1;

    asked[0] = (struct kv_call){(enum kv_command)call->how, call->key, call->value,
                                .ttl_ms = ttl_of(call->number), .server = call->last};
    for (; count < KV_STEPS && call->then[count - 1].how != 0; count++) {
        const struct call_step *step = &call->then[count - 1];

        asked[count - 1].then = &asked[count];
        asked[count] = (struct kv_call){(enum kv_command)(step->how - 1), step->key, step->value,
                                        .ttl_ms = ttl_of(step->number)};
    }
    outcome = sale->ops->kv(sale, asked);
    for (int i = 0; i < count; i++) {
        reply->flag += asked[i].is_yes;
        text_copy(i == 0 ? reply->text : reply->then[i - 1], KV_TEXT, asked[i].reply);
    }
    return outcome;
}

static enum outcome make_set(struct sale *sale, const struct call *call, struct reply *reply) {
    struct data_set set = {.last = call->last};
    enum outcome outcome;

    memcpy(set.token, call->key, sizeof set.token - 1);
    outcome = sale->ops->open_data_set(sale, &set);
    (void)snprintf(reply->text, sizeof reply->text, "%s", set.token);
    reply->flag = set.last;
    return outcome;
}

static enum outcome make_taken(struct sale *sale, struct reply *reply) {
    struct loaded_unit taken = {.is_again = false};
    const enum outcome outcome = sale->ops->take_loaded(sale, &taken);

    reply->row = row_of(&taken.seen);
    reply->is_again = taken.is_again;
    reply->is_half_sold = taken.is_half_sold;
    return outcome;
}

static enum outcome make_transaction(struct sale *sale, const struct call *call) {
    enum outcome outcome = OUTCOME_OK;

    if (call->kind == CALL_BEGIN) {
        outcome = sale->ops->begin(sale, (enum isolation)call->how);
        sale->is_in_transaction = outcome == OUTCOME_OK;
        return outcome;
    }
    sale->is_in_transaction = false;
    if (call->kind == CALL_COMMIT)
        outcome = sale->ops->commit(sale);
    else
        sale->ops->rollback(sale);
    return outcome;
}

static enum outcome make_other(struct sale *sale, const struct call *call, struct reply *reply) {
    const int shard = (int)call->shard;
    enum outcome outcome = OUTCOME_OK;
    bool is_yes = false;

    if (call->kind == CALL_TAKE_STOCK)
        return sale->ops->take_stock(sale, shard);
    if (call->kind == CALL_TAKE_IN_BATCH)
        return sale->ops->take_in_batch(sale, shard);
    if (call->kind == CALL_TAKE_RETURNED)
        return sale->ops->take_returned(sale);
    if (call->kind == CALL_PAUSE)
        return sale->ops->pause(sale);
    if (call->kind == CALL_FIND_SALE)
        outcome = sale->ops->find_sale(sale, &is_yes);
    else if (call->kind == CALL_SAW_EMPTY)
        is_yes = sale->ops->saw_empty(sale, shard);
    else if (call->kind == CALL_WORK)
        is_yes = sale->ops->work(sale, call->number);
    else if (call->kind == CALL_TOKEN)
        sale->ops->random_token(sale, reply->text);
    reply->flag = call->kind == CALL_DEAL ? sale->ops->deal(sale) : is_yes;
    return outcome;
}

static enum outcome make(struct sale *sale, const struct call *call, struct reply *reply) {
    struct store_lock *held = (struct store_lock *)(uintptr_t)sale->held;

    switch ((enum call_kind)call->kind) {
    case CALL_READ_STOCK:
    case CALL_READ_FOR_UPDATE:
    case CALL_HAND_OUT:
    case CALL_LOAD_ROW:
        return make_row(sale, call, reply);
    case CALL_CHECK_WRITE:
    case CALL_WRITE_STOCK:
    case CALL_WRITE_PENDING:
        return make_write(sale, call, held);
    case CALL_OPEN_DATA_SET:
        return make_set(sale, call, reply);
    case CALL_TAKE_LOADED:
        return make_taken(sale, reply);
    case CALL_BEGIN:
    case CALL_COMMIT:
    case CALL_ROLLBACK:
        return make_transaction(sale, call);
    case CALL_LOCK:
        return make_lock(sale, call, reply);
    case CALL_UNLOCK:
        if (held != NULL)
            sale->ops->unlock(sale, held, (enum outcome)call->how);
        return OUTCOME_OK;
    case CALL_KV:
        return make_kv(sale, call, reply);
    case CALL_TAKE_STOCK:
    case CALL_TAKE_IN_BATCH:
    case CALL_TAKE_RETURNED:
    case CALL_FIND_SALE:
    case CALL_DEAL:
    case CALL_SAW_EMPTY:
    case CALL_TOKEN:
    case CALL_PAUSE:
    case CALL_WORK:
        return make_other(sale, call, reply);
    case CALL_END:
        break;
    }
    return OUTCOME_FAILED;
}

void call_make(struct sale *sale, const struct call *call, struct reply *reply) {
    assert(call->kind != CALL_END && call_is_possible(call, sale));
    memset(reply, 0, sizeof *reply);
    reply->outcome = (int32_t)make(sale, call, reply);
    reply->sale = unit_of(sale);
}
