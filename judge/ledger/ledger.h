/* The ledger of one product, read from the two databases after a round or from a history file.
 *
 * It owns all memory that it points to, and ledger_free() frees it. Only ids may be those of the
 * round's records, which live as long. */
#ifndef JUDGE_LEDGER_H
#define JUDGE_LEDGER_H

#include "record.h"
#include "texts.h"
#include "why.h"
#include "writes.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LEDGER_ID       RECORD_ID
#define LEDGER_INSTANCE 32
#define LEDGER_TIME     28 /* "2026-11-21T10:01:02.123456Z" */

/* Few sales tell these. */
struct ledger_extra {
    const char *key; /* the idempotency key of the order; NULL: its id is its key */
    int64_t fence;
    int64_t reserved; /* units that the shop holds for the order; -1: not told */
};

/* A row of the table reservation: one unit sold. Or an order of another shop. */
struct ledger_sale {
    const char *order_id;
    const char *instance;             /* NULL: not told */
    const struct ledger_extra *extra; /* NULL: no key, a fence of 0, and `reserved` not told */
    int64_t at_us;                    /* since 1970, by the database's clock; 0: not told */
    int64_t unit;
    int64_t remaining; /* in its stock row after this sale; 0 for a listed returned unit */
    int32_t quantity;  /* units that it sold: `unit` and the next ones, if it tells `remaining` */
    int32_t shard;
};

static inline struct ledger_extra ledger_extra(const struct ledger_sale *sale) {
    return sale->extra != NULL ? *sale->extra : (struct ledger_extra){.reserved = -1};
}

/* Its instance; "": not told. */
static inline const char *ledger_instance(const struct ledger_sale *sale) {
    return sale->instance != NULL ? sale->instance : "";
}

/* A row of the table orders: one promise to a customer. */
struct ledger_order {
    const char *order_id;
    const char *instance; /* as in a sale, like `at_us` */
    int64_t at_us;
    int64_t unit;
};

/* A row of the table stock. It began with the units first_unit .. first_unit + initial - 1. */
struct ledger_row {
    int64_t shard, first_unit, initial;
    int64_t available;     /* units that were never sold */
    bool returns_to_count; /* a unit that came back may be sold with any number remaining */
    bool is_loaded;        /* Redis sold it: an order may have got a second unit, which came back */
};

/* A row of the table returned_unit, or a unit that came back to the count: an order took it,
 * gave it back, and it can be sold again. */
struct ledger_returned {
    int64_t shard, unit;
};

struct ledger {
    int64_t initial;   /* units at first, numbered 1 .. initial */
    int64_t available; /* units left in the stock rows */
    int64_t returned;  /* units of cancelled reservations, for sale again */
    int64_t counted;   /* sales in the same snapshot as the three above */
    int64_t units;     /* different units among those */
    /* The sales do not tell what they left (remaining is -1): counts and ids can be judged. */
    bool is_unnumbered;
    bool has_units;    /* they tell their unit nevertheless; only if `is_unnumbered` */
    bool can_return;   /* a unit may come back at any time; only if `is_unnumbered` */
    bool has_unused;   /* they tell what they left, and it is not used; only if `is_unnumbered` */
    bool has_keys;     /* the sales tell their keys */
    bool has_reserved; /* the sales tell how many units are held for them */
    size_t sale_count, order_count, row_count, returned_count;
    struct ledger_sale *sales;   /* in order of order_id */
    struct ledger_order *orders; /* in order of order_id */
    struct ledger_row *rows;     /* in order of shard; none if nothing was ever sold */
    struct ledger_returned *returned_units;
    /* Each write of the count, sorted (writes.h); only if `has_writes`. */
    struct ledger_write *writes;
    size_t write_count;
    bool has_writes;
    struct texts texts; /* of its own ids, keys and instances */
};

/* An order, told by a shop. A text that it does not tell is NULL, a number LEDGER_UNTOLD. */
struct ledger_told {
    const char *id, *key, *instance; /* `id` is needed */
    int64_t at_us;                   /* 0: not told */
    int64_t quantity;
    int64_t unit, remaining; /* `unit` is not used beside `remaining` */
    int64_t reserved;        /* below 0: not told */
};
#define LEDGER_UNTOLD       INT64_MIN
#define LEDGER_AMOUNT_MAX   INT64_C(1000000000000) /* of a stock, a unit and what is left */
#define LEDGER_QUANTITY_MAX INT64_C(1000000000)    /* of an order */
/* If orders of several units have more than so many units, what they left is not used. */
#define LEDGER_NUMBERED_MAX INT64_C(16777216)

/* Makes the ledger of a shop that keeps one kind of rows: each is a sale and an order. Whether the
 * shop tells units, what it left, keys or reservations is taken from the rows; units and what is
 * left count only if each row tells them. Returns 0; or -1 with the reason: no memory, a number out
 * of range, or an id or key that is none (record_is_id()). ledger_free() either way. */
__attribute__((warn_unused_result)) int ledger_tell(struct ledger *ledger, int64_t initial,
                                                    int64_t left, const struct ledger_told *rows,
                                                    size_t count, bool can_return, struct why *why);

/* The same in steps: the ledger is zeroed, with its numbers; then come the rows. ledger_finish()
 * makes an order of each sale if there are no orders, and sorts. Of an order only id, moment
 * and instance are used. Each returns 0, or -1 without memory. */
__attribute__((warn_unused_result)) int ledger_add_sale(struct ledger *ledger,
                                                        const struct ledger_told *told);
__attribute__((warn_unused_result)) int ledger_add_order(struct ledger *ledger,
                                                         const struct ledger_told *told);
__attribute__((warn_unused_result)) int ledger_finish(struct ledger *ledger);

/* Copies an id into the ledger. An order whose sale has the same place shares the sale's text. NULL
 * without memory. */
const char *ledger_keep_id(struct ledger *ledger, const char *id);

/* Sets `instance` to the ledger's copy of a name, made printable and cut to fit; NULL or "": to NULL.
 * Equal names share a copy. Returns 0, or -1 without memory. */
__attribute__((warn_unused_result)) int ledger_keep_instance(struct ledger *ledger,
                                                             const char **instance,
                                                             const char *name);

/* Gives the sale a copy of `extra`, if it tells anything; the key is not copied. Returns 0, or -1
 * without memory. */
__attribute__((warn_unused_result)) int ledger_keep_extra(struct ledger *ledger,
                                                          struct ledger_sale *sale,
                                                          const struct ledger_extra *extra);

/* The units of all its sales. */
int64_t ledger_sold(const struct ledger *ledger);

/* Sort all rows, and compute the `initial` of each stock row. */
void ledger_sort(struct ledger *ledger);
void ledger_free(struct ledger *ledger);

/* The first sale or order of this id in a sorted ledger, or NULL. */
const struct ledger_sale *ledger_find_sale(const struct ledger *ledger, const char *order_id);
const struct ledger_order *ledger_find_order(const struct ledger *ledger, const char *order_id);

/* Every moment is before this one: 2200-01-01. Its nanoseconds fit into an int64_t. */
#define LEDGER_TIME_END_US INT64_C(7258118400000000)
/* "2026-11-21T10:01:02.123456Z" in microseconds since 1970. 0: the text has another form, or its
 * moment is not after 1970-01-01 and before LEDGER_TIME_END_US. */
int64_t ledger_time_us(const char *text);
/* The reverse; 0: "". Returns `text`. */
const char *ledger_time_text(char text[LEDGER_TIME], int64_t at_us);
/* The time of day alone: "10:01:02.123456Z"; 0: "". It stays in `text`. */
const char *ledger_clock(char text[LEDGER_TIME], int64_t at_us);

#endif
