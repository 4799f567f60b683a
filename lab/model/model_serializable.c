/* Which serializable transactions cannot have come one after the other: a cycle of those that read
 * what others overwrote, unseen (Cahill, Röhm and Fekete 2008). Who has to give up is chosen as
 * PostgreSQL does (Ports and Grittner 2012; predicate.c), whose locks on what was read are coarser
 * at times, so that it refuses more. */
#include "model_internal.h"

static bool has_read(const struct model_txn *txn, int shard) {
    return (txn->read >> shard & 1U) != 0;
}

/* They overlap: neither saw the other committed when it began. */
static bool overlap(const struct model_txn *a, const struct model_txn *b) {
    return a->state != TXN_COMMITTED ? b->state != TXN_COMMITTED || b->after > a->before
                                     : b->state != TXN_COMMITTED && a->after > b->before;
}

static bool is_committed(const struct model_txn *txn) {
    return txn->state == TXN_COMMITTED;
}

/* `writer` overwrote what `reader` saw, and overwrote in turn something that a `third` wrote before
 * all of them were committed: it can be neither before nor after. */
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

/* `me` is one of the two. False: it is me who has to give up. */
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

static bool takes_part(const struct model_txn *txn) {
    return is_serial(txn) || is_committed(txn);
}

bool model_note_read(struct model_sale *sale, int shard) {
    struct model_state *state = &sale->world->state;
    struct model_txn *me = txn_of(sale);

    if (!is_serial(me))
        return true;
    me->read |= (uint16_t)(1U << shard);
    for (size_t i = 0; i <= MODEL_ORDERS; i++) {
        struct model_txn *other = &state->txns[i];

        if (other != me && takes_part(other) && other->wrote == shard + 1 && overlap(me, other) &&
            !conflict(state, me, other, me))
            return false;
    }
    return true;
}

bool model_note_write(struct model_sale *sale, int shard) {
    struct model_state *state = &sale->world->state;
    struct model_txn *me = txn_of(sale);

    for (size_t i = 0; i <= MODEL_ORDERS && is_serial(me); i++) {
        struct model_txn *other = &state->txns[i];

        if (other != me && takes_part(other) && has_read(other, shard) && overlap(me, other) &&
            !conflict(state, other, me, me))
            return false;
    }
    return true;
}

/* Whoever read what I overwrote, and is itself a writer whose old value another has read, would
 * close a circle once I am committed: that one has to give up. */
void model_doom_pivots(struct model_sale *sale) {
    struct model_state *state = &sale->world->state;
    const struct model_txn *me = txn_of(sale);

    for (size_t i = 0; i <= MODEL_ORDERS; i++) {
        struct model_txn *near = &state->txns[i];

        if ((me->readers >> i & 1U) == 0 || is_committed(near))
            continue;
        for (size_t j = 0; j <= MODEL_ORDERS; j++)
            if ((near->readers >> j & 1U) != 0 && !is_committed(&state->txns[j]) &&
                state->txns[j].is_doomed == 0)
                near->is_doomed = 1;
    }
}
