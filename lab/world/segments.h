/* Stock that is loaded into the server of keys and values, as plain data: what the scripts of
 * inventory-svc/pending/lua do, in C. One flat struct of bounded size without padding, zero
 * wherever nothing is. Time is an argument. */
#ifndef LAB_SEGMENTS_H
#define LAB_SEGMENTS_H

#include "store.h"

#include <stdbool.h>
#include <stdint.h>

#define SEGMENTS_AHEAD  16 /* rows that are loaded and not sold from yet */
#define SEGMENTS_ORDERS 8

/* Units first .. first + left - 1 of a row of stock, which had `units`. */
struct segment {
    int32_t shard, first, left, units;
};

/* The unit first + before - 1 was taken for the order with this index. */
struct segment_note {
    int32_t shard, first, before; /* 0: none was */
    int32_t is_pending;           /* the ledger does not have it yet */
    int64_t noted_ms;
};

struct segments {
    char token[TOKEN_TEXT]; /* of the data set; "": there is none */
    uint8_t is_over;        /* there is no row to load any more */
    uint8_t count;          /* rows in `ahead` */
    uint8_t none;
    int32_t last;           /* row that was loaded; -1: none */
    struct segment selling; /* the row that is sold from */
    struct segment ahead[SEGMENTS_AHEAD];
    struct segment_note notes[SEGMENTS_ORDERS];
};

/* As store.h says of the operations. `set` has a token for a data set that is to be made. */
void segments_open(struct segments *segments, struct data_set *set);
/* The data set is this one, and no row was loaded since `set` was seen. */
bool segments_are_at(const struct segments *segments, const struct data_set *set);
/* OK; or BUSY: there is no room. */
enum outcome segments_load(struct segments *segments, const struct data_set *set,
                           const struct stock_row *row);
/* OK or SOLD_OUT. */
enum outcome segments_take(struct segments *segments, int order, int64_t now_ms,
                           struct loaded_unit *taken);

/* The ledger has the order's unit; or it has another one, and nothing is kept of it. */
void segments_forget(struct segments *segments, int order, bool is_sold);
/* There is a note of a unit that the ledger does not have: its time counts. */
bool segments_are_pending(const struct segments *segments);

#endif
