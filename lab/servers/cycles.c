/* Cycles of serializable transactions, where each read a row before another overwrote it
 * (Cahill, Röhm and Fekete 2008). Such transactions cannot have run one after the other. This
 * refuses the same transaction as PostgreSQL (Ports and Grittner 2012; predicate.c). PostgreSQL's
 * read locks are coarser at times, so it refuses more. */
#include "cycles.h"

const struct model_write *cycles_find_write(const struct model_state *state, size_t index,
                                            int shard) {
    const struct model_txn *txn = &state->txns[index];

    if (txn->wrote_second == shard + 1)
        return &state->seconds[index].write;
    return txn->wrote == shard + 1 ? &txn->write : NULL;
}

/* True if neither saw the other committed when it began. */
static bool overlap(const struct model_txn *a, const struct model_txn *b) {
    return a->state != TXN_COMMITTED ? b->state != TXN_COMMITTED || b->after > a->before
                                     : b->state != TXN_COMMITTED && a->after > b->before;
}

static bool is_committed(const struct model_txn *txn) {
    return txn->state == TXN_COMMITTED;
}

/* True if `writer` is the middle of a dangerous structure: it overwrites a row that `reader` read,
 * and itself read a row that a `third` overwrote. `third` committed first of the three. */
static bool is_writer_pivot(const struct model_state *state, const struct model_txn *reader,
                            const struct model_txn *writer) {
    const size_t me = (size_t)(writer - state->txns);

    for (size_t i = 0; i <= MODEL_ORDERS; i++) {
        const struct model_txn *third = &state->txns[i];

        if (is_committed(third) && (third->readers >> me & 1U) != 0 &&
            (!is_committed(reader) || third->after <= reader->after) &&
            (!is_committed(writer) || third->after <= writer->after))
            return true;
    }
    return false;
}

static bool is_reader_pivot(const struct model_state *state, const struct model_txn *reader,
                            const struct model_txn *writer) {
    for (size_t i = 0; i <= MODEL_ORDERS && is_committed(writer); i++) {
        const struct model_txn *first = &state->txns[i];

        if ((reader->readers >> i & 1U) != 0 && first->is_doomed == 0 &&
            (!is_committed(first) || first->after >= writer->after))
            return true;
    }
    return false;
}

/* `me` is one of the two. False: `me` must give up. */
static bool conflict(struct model_state *state, struct model_txn *reader, struct model_txn *writer,
                     const struct model_txn *me) {
    writer->readers |= (uint8_t)(1U << (reader - state->txns));
    if (!is_writer_pivot(state, reader, writer) && !is_reader_pivot(state, reader, writer))
        return true;
    if (writer == me || is_committed(writer))
        return false;
    writer->is_doomed = 1;
    return true;
}

bool cycles_note(struct model_sale *sale, int shard, bool is_write) {
    struct model_state *state = &sale->world->state;
    struct model_txn *me = txn_of(sale);

    if (!is_serial(me))
        return true;
    if (!is_write)
        me->read |= (uint16_t)(1U << shard);
    for (size_t i = 0; i <= MODEL_ORDERS; i++) {
        struct model_txn *other = &state->txns[i];
        const bool is_met =
            is_write ? (other->read >> shard & 1) != 0 : cycles_find_write(state, i, shard) != NULL;

        if (is_met && other != me && (is_serial(other) || is_committed(other)) &&
            overlap(me, other) &&
            !conflict(state, is_write ? other : me, is_write ? me : other, me))
            return false;
    }
    return true;
}

void cycles_doom(struct model_sale *sale) {
    struct model_state *state = &sale->world->state;
    const struct model_txn *me = txn_of(sale);

    for (size_t i = 0; i <= MODEL_ORDERS; i++) {
        struct model_txn *near = &state->txns[i];

        if ((me->readers >> i & 1U) == 0 || is_committed(near))
            continue;
        for (size_t j = 0; j <= MODEL_ORDERS; j++)
            if ((near->readers >> j & 1) != 0 && !is_committed(&state->txns[j]) &&
                state->txns[j].is_doomed == 0)
                near->is_doomed = 1;
    }
}
