/* Looks each promise up, and searches all states that the stock can reach. */
#include "referee.h"

/* ---- promises */

static bool is_of(const struct record *record, uint32_t item, const char *key) {
    return record->item == item && strcmp(record_key(record), key) == 0;
}

static bool was_sent(const struct record *record) {
    return record->sent_ns > 0;
}

/* Whether it may have sold: every answer but yes says that it did not. */
static bool may_have_sold(const struct record *record) {
    return was_sent(record) &&
           (record->outcome == RECORD_SOLD || record->outcome == RECORD_UNKNOWN);
}

static size_t count_sales(uint32_t item, const char *id) {
    size_t count = 0;

    for (size_t i = 0; i < sim.ledgers[item].sale_count; i++)
        count += strcmp(sim.sales[item][i].order_id, id) == 0;
    return count;
}

/* A yes must name the order of its key, both ledgers must have it, and no other answer may
 * contradict it. */
static const char *objection_to_yes(const struct record *yes) {
    const struct ledger_sale *sale = sale_of(yes->item, record_order_id(yes));
    const struct ledger_order *order = order_of(yes->item, record_order_id(yes));

    if (strcmp(record_order_id(yes), record_key(yes)) != 0)
        return "GHOST: the order is not the customer's key";
    if (sale == NULL || order == NULL || sale->unit != yes->unit || order->unit != yes->unit)
        return "GHOST: no such order, or another unit";
    for (size_t i = 0; i < sim.recorder->ended; i++) {
        const struct record *other = &sim.recorder->records[i];

        if (!is_of(other, yes->item, record_key(yes)))
            continue;
        if (other->outcome == RECORD_SOLD &&
            (other->unit != yes->unit || strcmp(record_order_id(other), record_order_id(yes)) != 0))
            return "DUPLICATE: one key, two orders";
        if ((other->outcome == RECORD_SOLD_OUT || other->outcome == RECORD_REFUSED) &&
            other->sent_ns > yes->received_ns)
            return "ORPHAN: told no after a yes";
    }
    return NULL;
}

static bool has_asker(const struct ledger_sale *sale, uint32_t item) {
    bool is_asked = false;

    for (size_t i = 0; i < sim.recorder->ended; i++) {
        const struct record *record = &sim.recorder->records[i];

        if (is_of(record, item, sale->order_id)) {
            is_asked = true;
            if (may_have_sold(record))
                return true;
        }
    }
    return sim.is_keyless && !is_asked; /* the search assigns it to a request without an answer */
}

static const char *objection_to_promises(uint32_t item) {
    const struct ledger *ledger = &sim.ledgers[item];
    const char *why = NULL;

    for (size_t i = 0; i < sim.recorder->ended && why == NULL; i++)
        if (sim.recorder->records[i].item == item &&
            sim.recorder->records[i].outcome == RECORD_SOLD)
            why = objection_to_yes(&sim.recorder->records[i]);
    for (size_t i = 0; i < ledger->sale_count && why == NULL; i++) {
        const struct ledger_sale *sale = &ledger->sales[i];

        if (count_sales(item, sale->order_id) > 1)
            why = "DUPLICATE: one key, two rows";
        else if (!has_asker(sale, item))
            why = "ORPHAN: nobody bought it";
    }
    for (size_t i = 0; i < ledger->order_count && why == NULL; i++) {
        const struct ledger_sale *sale = sale_of(item, ledger->orders[i].order_id);

        if (sale == NULL || sale->unit != ledger->orders[i].unit)
            why = "GHOST: an order without its sale";
    }
    return why;
}

/* ---- the operations of a product */

enum op_kind {
    OP_SALE,
    OP_NAMELESS, /* a sale of one of the requests without an answer */
    OP_REFUSAL
};

struct op {
    enum op_kind kind;
    int64_t from_ns, to_ns;
    const struct ledger_sale *sale;
};

/* A request without a key and without an order in its reply, or any of loaded stock: it may have
 * taken a unit and given it back. Or it has a sale without an answer. */
struct taker {
    int64_t from_ns;
    bool may_keep; /* its outcome is unknown */
};

enum taken { TAKEN_NOTHING, TAKEN_HELD, TAKEN_DONE };

static struct {
    const struct ledger *ledger;
    size_t op_count, taker_count;
    struct op ops[REFEREE_OPS];
    struct taker takers[REFEREE_OPS];
    bool returns_to_count;
} play;

static void add_op(enum op_kind kind, int64_t from_ns, int64_t to_ns,
                   const struct ledger_sale *sale) {
    assert_in_range(play.op_count, 0, REFEREE_OPS - 1);
    play.ops[play.op_count++] = (struct op){kind, from_ns, to_ns, sale};
}

/* The time of a sale: from the first request that may have made it to the first yes. */
static void add_sale_op(uint32_t item, const struct ledger_sale *sale) {
    int64_t from_ns = INT64_MAX, to_ns = INT64_MAX;

    for (size_t i = 0; i < sim.recorder->ended; i++) {
        const struct record *record = &sim.recorder->records[i];

        if (!is_of(record, item, sale->order_id) || !may_have_sold(record))
            continue;
        if (record->sent_ns < from_ns)
            from_ns = record->sent_ns;
        if (record->outcome == RECORD_SOLD && record->received_ns < to_ns)
            to_ns = record->received_ns;
    }
    if (from_ns == INT64_MAX)
        add_op(OP_NAMELESS, 0, INT64_MAX, sale);
    else
        add_op(OP_SALE, from_ns, to_ns, sale);
}

static void add_taker(const struct record *record, bool may_keep) {
    assert_in_range(play.taker_count, 0, REFEREE_OPS - 1);
    play.takers[play.taker_count++] = (struct taker){record->sent_ns, may_keep};
}

static void add_request(const struct record *record) {
    const bool is_unknown = record->outcome == RECORD_UNKNOWN;

    if (!was_sent(record))
        return;
    if (record->outcome == RECORD_SOLD_OUT)
        add_op(OP_REFUSAL, record->sent_ns, record->received_ns, NULL);
    if (sim.is_loaded && record->outcome != RECORD_SOLD_OUT)
        add_taker(record, false);
    if (sim.is_keyless &&
        (is_unknown || record->outcome == RECORD_BUSY || record->outcome == RECORD_FAILED))
        add_taker(record, is_unknown);
}

static void collect(uint32_t item) {
    memset(&play, 0, sizeof play);
    play.ledger = &sim.ledgers[item];
    play.returns_to_count = play.ledger->rows[0].returns_to_count;
    assert_in_range(play.ledger->initial, 0, REFEREE_UNITS);
    for (size_t i = 0; i < play.ledger->sale_count; i++)
        add_sale_op(item, &play.ledger->sales[i]);
    for (size_t i = 0; i < sim.recorder->ended; i++)
        if (sim.recorder->records[i].item == item)
            add_request(&sim.recorder->records[i]);
}

/* ---- the search */

/* The operations that happened so far, and the stock that they left. */
struct state {
    uint16_t done;               /* of `ops` */
    uint8_t taken[REFEREE_OPS];  /* enum taken of each of `takers` */
    uint8_t held[REFEREE_OPS];   /* the unit of a taker with TAKEN_HELD */
    uint8_t left[SHARDS];        /* of each row: the number of its units, from the first one up; */
    uint8_t pile[REFEREE_UNITS]; /* with returns_to_count: left[0] units, the next to sell last; */
    uint8_t fresh;               /* so many of these, from the first on, were never sold */
    uint8_t listed;              /* a bit for each unit that came back to the list */
};

#define SEEN (1u << 18)
static struct {
    uint32_t search[SEEN]; /* the search that filled the place */
    struct state states[SEEN];
    uint32_t searches, count;
} seen;

/* Whether this search met the state before. Notes that it did. */
static bool meet(const struct state *state) {
    const unsigned char *bytes = (const unsigned char *)state;
    uint64_t hash = UINT64_C(14695981039346656037);
    size_t place;

    for (size_t i = 0; i < sizeof *state; i++)
        hash = (hash ^ bytes[i]) * UINT64_C(1099511628211);
    for (place = hash >> 40 & (SEEN - 1); seen.search[place] == seen.searches;
         place = (place + 1) & (SEEN - 1))
        if (memcmp(&seen.states[place], state, sizeof *state) == 0)
            return true;
    assert_in_range(++seen.count, 1, SEEN / 2);
    seen.search[place] = seen.searches;
    seen.states[place] = *state;
    return false;
}

/* Whether all operations that ended before this moment happened. */
static bool is_time(const struct state *state, int64_t from_ns) {
    for (size_t i = 0; i < play.op_count; i++)
        if ((state->done >> i & 1) == 0 && play.ops[i].to_ns < from_ns)
            return false;
    return true;
}

static bool can_end(const struct state *state);

/* Take the next unit of a row; 0: it has none. */
static uint8_t pop(struct state *state, size_t row) {
    uint8_t unit;

    if (state->left[row] == 0)
        return 0;
    unit = play.returns_to_count
               ? state->pile[state->left[row] - 1]
               : (uint8_t)(play.ledger->rows[row].first_unit + state->left[row] - 1);
    state->left[row]--;
    if (play.returns_to_count)
        state->pile[state->left[row]] = 0;
    if (state->left[0] < state->fresh)
        state->fresh = state->left[0];
    return unit;
}

/* Whether the search can end if this sale is next, in one of the ways in which it can happen. */
static bool can_end_by_sale(const struct state *before, const struct ledger_sale *sale) {
    struct state after = *before;

    for (size_t row = 0; row < play.ledger->row_count; row++) {
        after = *before;
        if (play.ledger->rows[row].shard == sale->shard && after.left[row] > 0 &&
            pop(&after, row) == sale->unit && after.left[row] == sale->remaining && can_end(&after))
            return true;
    }
    after = *before;
    if (play.returns_to_count || sale->remaining != 0 || sale->unit < 1 ||
        sale->unit > play.ledger->initial || (after.listed >> sale->unit & 1) == 0)
        return false;
    for (size_t row = 0; row < play.ledger->row_count; row++)
        if (play.ledger->rows[row].shard == sale->shard &&
            (sale->unit < play.ledger->rows[row].first_unit ||
             sale->unit >= play.ledger->rows[row].first_unit + play.ledger->rows[row].initial))
            return false;
    after.listed &= (uint8_t) ~(1u << sale->unit);
    return can_end(&after);
}

static bool can_end_by_op(const struct state *before, size_t which) {
    const struct op *op = &play.ops[which];
    struct state after = *before;
    bool is_any_left = false;

    if ((before->done >> which & 1) != 0 || !is_time(before, op->from_ns))
        return false;
    after.done |= (uint16_t)(1u << which);
    for (size_t row = 0; row < play.ledger->row_count; row++)
        is_any_left = is_any_left || before->left[row] > 0;
    switch (op->kind) {
    case OP_REFUSAL:
        return !is_any_left && can_end(&after);
    case OP_SALE:
        return can_end_by_sale(&after, op->sale);
    case OP_NAMELESS:
        for (size_t i = 0; i < play.taker_count; i++) {
            struct state seated = after;

            if (!play.takers[i].may_keep || before->taken[i] != TAKEN_NOTHING ||
                !is_time(before, play.takers[i].from_ns))
                continue;
            seated.taken[i] = TAKEN_DONE;
            if (can_end_by_sale(&seated, op->sale))
                return true;
        }
        return false;
    }
    return false;
}

/* The taker takes a unit, and gives it back: to the list at once, because the moment makes no
 * difference; to the count at any later moment. */
static bool can_end_by_taker(const struct state *before, size_t which) {
    struct state after = *before;

    if (before->taken[which] == TAKEN_HELD) {
        after.pile[after.left[0]++] = before->held[which];
        after.held[which] = 0;
        after.taken[which] = TAKEN_DONE;
        return can_end(&after);
    }
    if (before->taken[which] == TAKEN_DONE || !is_time(before, play.takers[which].from_ns))
        return false;
    for (size_t row = 0; row < play.ledger->row_count; row++) {
        uint8_t unit;

        after = *before;
        unit = pop(&after, row);
        after.taken[which] = play.returns_to_count ? TAKEN_HELD : TAKEN_DONE;
        if (play.returns_to_count)
            after.held[which] = unit;
        else
            after.listed |= (uint8_t)(1u << unit);
        if (unit != 0 && can_end(&after))
            return true;
    }
    return false;
}

/* Whether the units that came back, and those never sold, are as the ledger says. */
static bool is_stock_right(const struct state *state) {
    const struct ledger *ledger = play.ledger;
    uint8_t back = state->listed, named = 0;

    for (size_t i = state->fresh; play.returns_to_count && i < state->left[0]; i++)
        back |= (uint8_t)(1u << state->pile[i]);
    for (size_t row = 0; row < ledger->row_count; row++)
        if (ledger->rows[row].available !=
            (play.returns_to_count ? state->fresh : state->left[row]))
            return false;
    for (size_t i = 0; i < ledger->returned_count; i++) {
        const struct ledger_returned *unit = &ledger->returned_units[i];
        bool has_row = false;

        for (size_t row = 0; row < ledger->row_count; row++)
            has_row =
                has_row || (ledger->rows[row].shard == unit->shard &&
                            unit->unit >= ledger->rows[row].first_unit &&
                            unit->unit - ledger->rows[row].first_unit < ledger->rows[row].initial);
        if (!has_row || (named >> unit->unit & 1) != 0)
            return false;
        named |= (uint8_t)(1u << unit->unit);
    }
    return named == back;
}

static bool has_ended(const struct state *state) {
    for (size_t i = 0; i < play.taker_count; i++)
        if (state->taken[i] == TAKEN_HELD)
            return false;
    return state->done == (1u << play.op_count) - 1 && is_stock_right(state);
}

static bool can_end(const struct state *state) {
    if (has_ended(state))
        return true;
    if (meet(state))
        return false;
    for (size_t i = 0; i < play.op_count; i++)
        if (can_end_by_op(state, i))
            return true;
    for (size_t i = 0; i < play.taker_count; i++)
        if (can_end_by_taker(state, i))
            return true;
    return false;
}

static bool is_stock_explained(uint32_t item) {
    struct state state;

    collect(item);
    memset(&state, 0, sizeof state);
    for (size_t row = 0; row < play.ledger->row_count; row++)
        state.left[row] = (uint8_t)play.ledger->rows[row].initial;
    state.fresh = state.left[0];
    for (int64_t i = 0; play.returns_to_count && i < play.ledger->initial; i++)
        state.pile[i] = (uint8_t)(1 + i);
    seen.searches++;
    seen.count = 0;
    return can_end(&state);
}

const char *referee_objects(void) {
    for (int item = 0; item < sim.items; item++) {
        const char *why = objection_to_promises((uint32_t)item);

        if (why != NULL)
            return why;
        if (!is_stock_explained((uint32_t)item))
            return "no order of all of it leaves the stock as it is";
    }
    return NULL;
}
