/* The rules for the writes of the count: TWIN and STALE of a shop whose sales tell no numbers.
 *
 * A sale takes its units by a write that leaves less than was there. A write that takes too little
 * is no proof by itself: a shop may save another column of the row, and units may come back. So the
 * rules ask for the sums first. They accuse only if more units were sold than the count lost
 * (`surplus`), and if more were sold than all its writes together took (`missing`). Each of the
 * missing units is a sale without a write that took it, if the shop holds units for its order. The
 * writes that took too little are the candidates:
 * - TWIN: it left the number that was there, and another transaction had taken a unit to leave it;
 * - STALE: it left more than was there, or took less than the smallest order. It wrote over a
 *   number that it had not read.
 * No more of them are counted than units are missing, STALE first: a unit that nobody gave back is
 * the plainer sign. A write that names its order is a candidate only if all writes of that order
 * took less than it sold.
 *
 * The writes of one row by one transaction that follow each other are one. */
#include "judge.h"

#include "number.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct effect {
    const struct ledger_write *first, *last;
    int64_t before, after; /* the count */
};

struct writes {
    struct judge *judge;
    struct effect *effects;
    size_t count;
    int64_t *taken;      /* by the writes of each sale, in the order of the sales */
    int64_t least, most; /* units of an order */
    int64_t sold, all_taken, surplus, missing;
    int64_t twins, stales;                   /* candidates */
    const struct effect *twin[2], *stale[2]; /* the tightest in time, behind its partner */
};

/* ---- effects */

static bool is_same_row(const struct ledger_write *a, const struct ledger_write *b) {
    return strcmp(a->row, b->row) == 0;
}

static bool is_made(const struct effect *effect) {
    return effect->first->found == WRITE_NOTHING;
}

static int64_t taken_by(const struct effect *effect) {
    return is_made(effect) ? 0 : effect->before - effect->after;
}

static void add_write(struct writes *writes, const struct ledger_write *write) {
    struct effect *last = writes->count > 0 ? &writes->effects[writes->count - 1] : NULL;
    const bool is_next = last != NULL && is_same_row(last->last, write);

    if (is_next && write->tx != 0 && last->last->tx == write->tx) {
        last->last = write;
        last->after = write->left;
        return;
    }
    writes->effects[writes->count++] =
        (struct effect){write, write, is_next ? last->after : write->found, write->left};
}

static const struct ledger_sale *sale_of(const struct writes *writes, const struct effect *effect) {
    return effect->last->order_id[0] != '\0'
               ? ledger_find_sale(writes->judge->ledger, effect->last->order_id)
               : NULL;
}

/* Units of orders for which the shop holds nothing: their orders may never have written. */
static int64_t count_unbacked(const struct ledger *ledger) {
    int64_t units = 0;

    for (size_t i = 0; ledger->has_reserved && i < ledger->sale_count; i++)
        units +=
            number_max(ledger->sales[i].quantity - ledger_extra(&ledger->sales[i]).reserved, 0);
    return units;
}

static void sum_up(struct writes *writes) {
    const struct ledger *ledger = writes->judge->ledger;

    for (size_t i = 0; i < writes->count; i++) {
        const struct ledger_sale *sale = sale_of(writes, &writes->effects[i]);
        const int64_t taken = taken_by(&writes->effects[i]);

        writes->all_taken += taken > 0 ? taken : 0;
        if (sale != NULL)
            writes->taken[sale - ledger->sales] += taken;
    }
    for (size_t i = 0; i < ledger->sale_count; i++) {
        const int64_t quantity = ledger->sales[i].quantity;

        writes->least = i == 0 || quantity < writes->least ? quantity : writes->least;
        writes->most = quantity > writes->most ? quantity : writes->most;
    }
    writes->sold = ledger_sold(ledger);
    writes->surplus = writes->sold + ledger->available + ledger->returned - ledger->initial;
    writes->missing = writes->sold - writes->all_taken - count_unbacked(ledger);
}

/* ---- candidates */

/* The effects of a row up to the present one. */
struct past {
    int64_t highest;                   /* count so far */
    const struct effect *last, *taker; /* the last one; the last one that took units; or NULL */
    const struct effect *leaver;       /* it took units to leave the present count; or NULL */
};

static void past_add(struct past *past, const struct effect *effect) {
    const int64_t taken = taken_by(effect);
    const int64_t high = number_max(effect->before, effect->after);

    past->highest = past->last == NULL ? high : number_max(past->highest, high);
    past->last = effect;
    past->taker = taken > 0 ? effect : past->taker;
    past->leaver = taken > 0 ? effect : taken < 0 || is_made(effect) ? NULL : past->leaver;
}

/* Whether a sale may have seen that too few units were there, and so taken none or all of them. */
static bool may_have_seen(const struct writes *writes, const struct effect *effect) {
    return taken_by(effect) >= 0 && effect->before < writes->least &&
           effect->first->found == effect->before && !writes->judge->ledger->has_reserved;
}

/* Whether it may be a sale that took too little. */
static bool is_short(const struct writes *writes, const struct past *past,
                     const struct effect *effect) {
    const struct ledger_sale *sale = sale_of(writes, effect);

    if (is_made(effect) || taken_by(effect) >= writes->least || may_have_seen(writes, effect))
        return false;
    if (effect->last->order_id[0] == '\0')
        return writes->least < writes->most || past->highest >= effect->after + writes->least;
    return sale != NULL && writes->taken[sale - writes->judge->ledger->sales] < sale->quantity;
}

static int64_t distance(const struct effect *a, const struct effect *b) {
    const int64_t from_us = a->last->at_us, to_us = b->last->at_us;

    return from_us == 0 || to_us == 0 ? INT64_MAX : to_us - from_us;
}

static void keep_tightest(const struct effect *pair[2], const struct effect *first,
                          const struct effect *second) {
    if (pair[0] != NULL && distance(first, second) >= distance(pair[0], pair[1]))
        return;
    pair[0] = first;
    pair[1] = second;
}

static void consider(struct writes *writes, const struct past *past, const struct effect *effect) {
    if (past->last == NULL || !is_short(writes, past, effect))
        return;
    if (taken_by(effect) != 0) {
        writes->stales++;
        keep_tightest(writes->stale, past->taker != NULL ? past->taker : past->last, effect);
    } else if (past->leaver != NULL) {
        writes->twins++;
        keep_tightest(writes->twin, past->leaver, effect);
    }
}

static void find_candidates(struct writes *writes) {
    struct past past = {0};

    for (size_t i = 0; i < writes->count; i++) {
        if (i > 0 && !is_same_row(writes->effects[i - 1].last, writes->effects[i].first))
            past = (struct past){0};
        consider(writes, &past, &writes->effects[i]);
        past_add(&past, &writes->effects[i]);
    }
}

/* ---- words */

#define NAME 192

/* "transaction 9837 at 09:42:12.285458" */
static const char *name_of(const struct effect *effect, char text[NAME]) {
    const struct ledger_write *write = effect->last;
    const char *at = write->at_us != 0 ? " at " : "";
    char room[LEDGER_TIME];
    const char *clock = ledger_clock(room, write->at_us);

    if (write->order_id[0] != '\0')
        (void)snprintf(text, NAME, "order %s%s%.15s", write->order_id, at, clock);
    else if (write->tx != 0)
        (void)snprintf(text, NAME, "transaction %" PRId64 "%s%.15s", write->tx, at, clock);
    else
        (void)snprintf(text, NAME, "write %" PRId64 "%s%.15s", write->seq, at, clock);
    return text;
}

__attribute__((format(printf, 2, 3))) static void say(struct story *story, const char *format,
                                                      ...) {
    va_list arguments;

    va_start(arguments, format);
    (void)vsnprintf(story->line[story->lines++], VERDICT_TEXT, format, arguments);
    va_end(arguments);
}

static void tell_effect(struct story *story, char letter, const struct effect *effect) {
    char name[NAME], row[WRITE_ROW + 16] = "";

    if (effect->last->row[0] != '\0')
        (void)snprintf(row, sizeof row, " in row %s", effect->last->row);
    say(story, "%c = %s: found %" PRId64 " left%s, and left %" PRId64 ".", letter,
        name_of(effect, name), effect->before, row, effect->after);
}

/* The number that the write of a sale had read; or -1 if orders have several quantities, and the
 * log does not tell it. */
static int64_t read_by(const struct writes *writes, const struct effect *effect) {
    const struct ledger_sale *sale = sale_of(writes, effect);

    if (effect->first->found != effect->before)
        return effect->first->found;
    if (sale != NULL)
        return effect->after + sale->quantity;
    return writes->least == writes->most ? effect->after + writes->least : -1;
}

static void tell_sums(struct story *story, const struct writes *writes) {
    say(story,
        "%" PRId64 " units were sold, and all writes of the count together took %" PRId64
        ": at least %" PRId64 " of the %" PRId64 " writes that took too little were sales.",
        writes->sold, writes->all_taken,
        number_min(writes->missing, writes->twins + writes->stales),
        writes->twins + writes->stales);
}

static void tell_twin(struct writes *writes, int64_t count) {
    const struct effect *a = writes->twin[0], *b = writes->twin[1];
    struct story *story = &writes->judge->twin_story;
    const int64_t read = read_by(writes, b);
    char one[NAME], other[NAME], had_read[48] = "";

    if (read >= 0)
        (void)snprintf(had_read, sizeof had_read, "it had read %" PRId64 ", and ", read);
    tell_effect(story, 'A', a);
    tell_effect(story, 'B', b);
    say(story, "B took nothing: %sA and B took the same unit: a contradiction.", had_read);
    tell_sums(story, writes);
    judge_found(writes->judge, ANOMALY_TWIN, count,
                "%s found %" PRId64 " left and left %" PRId64 ": %sit took the same unit as %s",
                name_of(b, other), b->before, b->after, had_read, name_of(a, one));
}

static void tell_stale(struct writes *writes, int64_t count) {
    const struct effect *a = writes->stale[0], *b = writes->stale[1];
    struct story *story = &writes->judge->stale_story;
    const int64_t read = read_by(writes, b);
    char one[NAME], other[NAME], had_read[64] = "it had read an older number";

    if (read >= 0)
        (void)snprintf(had_read, sizeof had_read, "it had read %" PRId64, read);
    tell_effect(story, 'A', a);
    tell_effect(story, 'B', b);
    say(story, "B wrote over what A had left: %s: a contradiction.", had_read);
    tell_sums(story, writes);
    judge_found(writes->judge, ANOMALY_STALE, count,
                "%s found %" PRId64 " left and left %" PRId64 ": %s, and wrote over %s",
                name_of(b, other), b->before, b->after, had_read, name_of(a, one));
}

static void tell_both(struct writes *writes) {
    const int64_t stales = number_min(writes->stales, writes->missing);
    const int64_t twins = number_min(writes->twins, writes->missing - stales);

    if (twins > 0 && !writes->judge->has_found[ANOMALY_TWIN])
        tell_twin(writes, twins);
    if (stales > 0 && !writes->judge->has_found[ANOMALY_STALE])
        tell_stale(writes, stales);
}

bool writes_tell(const struct judge *judge, struct counterexample *example) {
    const struct story *story = example->anomaly == ANOMALY_TWIN    ? &judge->twin_story
                                : example->anomaly == ANOMALY_STALE ? &judge->stale_story
                                                                    : NULL;

    if (story == NULL || story->lines == 0)
        return false;
    memcpy(example->line, story->line, sizeof story->line);
    example->lines = story->lines;
    example->has_writes = true;
    return true;
}

int judge_writes(struct judge *judge) {
    const struct ledger *ledger = judge->ledger;
    struct writes writes = {.judge = judge};
    int code = -1;

    if (!ledger->has_writes || !ledger->is_unnumbered)
        return 0;
    writes.effects = calloc(ledger->write_count + 1, sizeof *writes.effects);
    writes.taken = calloc(ledger->sale_count + 1, sizeof *writes.taken);
    if (writes.effects != NULL && writes.taken != NULL) {
        for (size_t i = 0; i < ledger->write_count; i++)
            add_write(&writes, &ledger->writes[i]);
        sum_up(&writes);
        if (writes.surplus > 0 && writes.missing > 0) {
            find_candidates(&writes);
            tell_both(&writes);
        }
        code = 0;
    }
    free(writes.effects);
    free(writes.taken);
    return code;
}
