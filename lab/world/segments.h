/* Stock that is loaded into the server of keys and values, as plain data. It does in C what the
 * scripts of inventory-svc/pending/lua do. It is one flat struct of fixed size without padding, and
 * unused parts are zero. Time is an argument. */
#ifndef LAB_SEGMENTS_H
#define LAB_SEGMENTS_H

#include "store.h"

#include <stdbool.h>
#include <stdint.h>

#define SEGMENTS_AHEAD  16 /* rows that are loaded, but not sold from yet */
#define SEGMENTS_ORDERS 8

/* Units first .. first + left - 1 of a row of stock, which had `units`. */
struct segment {
    int32_t shard, first, left, units;
};

/* The order with this index took unit first + before - 1. */
struct segment_note {
    int32_t shard, first, before; /* before 0: it took no unit */
    int16_t is_pending;           /* the ledger does not have it yet */
    int16_t may_be_repeat;        /* remembered when the ledger has it */
    int64_t noted_ms;
};

struct segments {
    char token[TOKEN_TEXT]; /* of the data set; "": there is none */
    uint8_t is_over;        /* no more row can be loaded */
    uint8_t count;          /* rows in `ahead` */
    uint8_t none;
    int32_t last;           /* the row that was loaded last; -1: none */
    struct segment selling; /* the row that sales take from */
    struct segment ahead[SEGMENTS_AHEAD];
    struct segment_note notes[SEGMENTS_ORDERS];
};

/* The operations of store.h. If there is no data set yet, it is made with the token of `set`. */
void segments_open(struct segments *segments, struct data_set *set);
/* True if this is the same data set, and no row was loaded since `set` was read. */
bool segments_are_at(const struct segments *segments, const struct data_set *set);
/* OK, or BUSY if there is no room. */
enum outcome segments_load(struct segments *segments, const struct data_set *set,
                           const struct stock_row *row);
/* OK or SOLD_OUT. */
enum outcome segments_take(struct segments *segments, int order, bool may_be_repeat, int64_t now_ms,
                           struct loaded_unit *taken);

/* The ledger has the order's unit (`is_sold`), or has rejected it. The order is forgotten, unless it
 * is sold and may be a repeat. */
void segments_forget(struct segments *segments, int order, bool is_sold);
/* True if there is a note of a unit that the ledger does not have yet. Then the time matters. */
bool segments_are_pending(const struct segments *segments);

#endif
