/* The judge of one product: its ledger and its purchases, and the findings of the rules.
 *
 * verdict.c opens a judge for each product and runs the rules one after the other. A rule reports
 * with judge_found(), and keeps the operations that show its finding best. The counterexamples are
 * told from these at the end. */
#ifndef JUDGE_JUDGE_H
#define JUDGE_JUDGE_H

#include "anomaly.h"
#include "event.h"
#include "ids.h"
#include "linear.h"
#include "record.h"

#define PURCHASE_PLACES ((UINT32_C(1) << 27) - 1) /* far above the requests of any round */

/* All requests with one key: an attempt of one customer to buy one unit. It is small, because there
 * are millions. */
struct purchase {
    union {
        const struct record *one;  /* if `count` is 1 */
        const struct record **all; /* in the order of sending */
    } requests;
    union {
        const char *id;                 /* the order that the first yes names, else the key */
        const struct ledger_sale *sale; /* of that id, if `has_sale` */
    } bought;
    uint32_t count;      /* of requests, at least 1 */
    uint32_t yes : 27;   /* the first yes to arrive: its place in the requests plus 1; 0: none */
    bool has_sale : 1;   /* else no sale has its id */
    bool has_order : 1;  /* the order of its id is its own, if there is one */
    bool is_unknown : 1; /* the outcome of a request is unknown */
    bool is_named : 1;   /* its id is the id of an order */
    bool is_seated : 1;  /* no key, no name: its sale may belong to another */
};
_Static_assert(sizeof(struct purchase) == 24, "there are millions of purchases");

/* Its request at a place below `count`. */
static inline const struct record *purchase_request(const struct purchase *purchase, size_t place) {
    return purchase->count == 1 ? purchase->requests.one : purchase->requests.all[place];
}
static inline const char *purchase_key(const struct purchase *purchase) {
    return record_key(purchase_request(purchase, 0));
}
/* The first yes to arrive, or NULL. */
static inline const struct record *purchase_yes(const struct purchase *purchase) {
    return purchase->yes > 0 ? purchase_request(purchase, purchase->yes - 1) : NULL;
}
/* The sale of its id, or NULL. */
static inline const struct ledger_sale *purchase_sale(const struct purchase *purchase) {
    return purchase->has_sale ? purchase->bought.sale : NULL;
}
static inline const char *purchase_id(const struct purchase *purchase) {
    return purchase->has_sale ? purchase->bought.sale->order_id : purchase->bought.id;
}

/* The first request with a yes or an unknown outcome, or the first one if there is none. A request
 * that was told no sold nothing. */
const struct record *purchase_seller(const struct purchase *purchase);
/* When that one was sent; LINEAR_BEFORE: it was not. */
int64_t purchase_sent_ns(const struct purchase *purchase);
/* When the first yes arrived; LINEAR_NEVER: none did. */
static inline int64_t purchase_answered_ns(const struct purchase *purchase) {
    return purchase->yes > 0 ? purchase_yes(purchase)->received_ns : LINEAR_NEVER;
}

/* A walk over the requests of all purchases. Zeroed: at its beginning. */
struct judge_walk {
    size_t purchase;
    uint32_t request;
};

/* The purchase of a sale, and the time in which the sale happened. */
struct buyer {
    const struct purchase *purchase; /* NULL: no request asked for the sale */
    int64_t sent_ns;                 /* LINEAR_BEFORE: not known */
    int64_t answered_ns;             /* of the first reply that names it; LINEAR_NEVER: none */
};

/* Where the unit of a sale came from, by its ledger row. */
enum sale_kind {
    SALE_COUNTED, /* the count of its stock row: unit and remaining agree */
    SALE_EITHER,  /* the count, or this unit had come back */
    SALE_AGAIN,   /* a unit that had come back */
    SALE_WRONG    /* unit, remaining and stock row contradict each other */
};

/* Two operations that contradict each other: sales or a refusal. One or both may be missing. */
struct pair {
    const struct ledger_sale *sales[2];
    const struct record *refusal;
    int64_t unit; /* the missing one */
};

/* How many units leaked in each way (leak.c), and the first of each as evidence. */
struct leak {
    int64_t missing, surplus, untaken, doubled, wrong, unknown, unbalanced;
    bool has_missed;
    bool is_elsewhere;               /* an order has the unit of `missed`, or it came back */
    struct pair missed;              /* the first, and its passers; none: the final count */
    const struct ledger_row *row;    /* of `missed`; or below zero, or above its beginning */
    const struct ledger_sale *left;  /* a sale of a unit that is still in the stock */
    int64_t back_unit, doubled_unit; /* they came back */
    int64_t unknown_unit;            /* it came back to a row that never had it */
    const struct ledger_sale *wrong_sale;
    const struct ledger_row *unbalanced_row; /* or NULL */
    struct pair last;        /* with `left`: the last sale like it, and the last sale of its row */
    char sums[VERDICT_TEXT]; /* "981 left + 20 units sold is 1001, and ..." */
};

/* Two sales of one unit that held one raw lock at the same time; see sales.c. */
struct overlap {
    const struct ledger_sale *sales[2]; /* in order of time */
    const struct event *held, *taken;   /* `taken` was granted before `held` was given back */
    const struct event *freed;          /* a third order freed the key between them; or NULL */
    const struct event *lost; /* the grant that expired: that of `freed`, or else `held`; or NULL */
    int64_t expired_ns;       /* when `lost` expired; EVENT_OPEN: not known */
    int64_t handed_ns;        /* when another order got the lock of `lost` */
    bool has_expired;         /* `lost`, by handed_ns */
};

/* The end of the demand, in which nothing was sold; see stuck.c. */
struct stuck {
    int64_t from_ns, to_ns;            /* the longest that it may have been (record.h) */
    int64_t sure_ns;                   /* a request wanted from here on is in it for certain */
    size_t told[RECORD_OUTCOME_COUNT]; /* attempts in it, by outcome */
    const struct record *attempt;      /* the last of them */
    const struct ledger_sale *last;    /* the last sale before it, or NULL */
    int64_t since;                     /* attempts after `last` */
};

/* A contradiction of writes in prose (writes.c). */
#define STORY_LINES 4
struct story {
    size_t lines;
    char line[STORY_LINES][VERDICT_TEXT];
};

struct judge {
    /* Set before judge_open(). */
    const struct event_list *events; /* sorted; NULL: none */
    const struct ledger *ledger;     /* sorted */
    uint32_t item;
    bool is_keyless;    /* so requests may have given units back */
    bool is_shop_named; /* as in struct verdict_case, like are_keys_ids */
    bool are_keys_ids;
    bool is_stopped;       /* before its end, by Ctrl-C or --abort-on-fail */
    int64_t stuck_ns;      /* as in struct verdict_case, like ledger_start_us */
    int64_t down_until_ns; /* a server was down, or a request did not reach the target */
    int64_t ledger_start_us;
    struct purchase *purchases; /* by key */
    size_t purchase_count;
    struct anomaly_found *found; /* ANOMALY_COUNT of them, shared by all products */

    /* Indexes, by judge_open(). */
    size_t request_count;    /* of all purchases */
    struct ids_entry *named; /* the purchases of replies that name their order, by order */
    size_t named_count;
    bool is_mirrored;         /* each order stands at the place of its sale */
    uint32_t *by_unit;        /* places of sales, by unit, then time */
    struct ids_entry *by_key; /* sales that tell their key, by key, then id */
    size_t key_count;
    int64_t sold;                  /* units of all sales */
    int64_t most;                  /* units of the largest sale, at least 1 */
    bool is_mixed;                 /* sales have different quantities */
    bool has_matches;              /* replies can be compared with orders: by ids or by keys */
    uint32_t *buyers;              /* of each sale; judge_buyer() reads them and `told` */
    struct buyer *told;            /* of sales that only replies name */
    struct ledger_row whole;       /* in place of stock rows when there are none */
    const struct ledger_row *rows; /* at least one, by shard */
    size_t row_count;
    bool is_loaded;         /* a row is */
    bool may_have_returned; /* a request may have given a unit back */
    int64_t empty_promises; /* replies of yes that name no order, beyond the orders that are left */

    /* The findings in this product; counts are as in struct verdict. */
    int64_t distinct, refused_early, unsettled, unknown_sold, pairs, overlapping, unsure_pairs,
        slack_ns;
    bool has_found[ANOMALY_COUNT];
    bool is_any_unknown;                        /* a request of unknown outcome has no sale */
    struct pair twins[VERDICT_COUNTEREXAMPLES]; /* the most telling first */
    size_t twin_count;
    struct overlap overlaps[VERDICT_COUNTEREXAMPLES]; /* likewise */
    size_t overlap_count;
    struct pair early, stale, range; /* without sales: none */
    const struct record *early_yes;  /* in place of the sale of `early`, which is not known */
    struct leak leak;
    bool may_be_held; /* units are missing, and customers without an order may hold them */
    struct stuck stuck;
    struct story twin_story, stale_story;
    const struct purchase *ghost, *duplicate;       /* the first of each, or NULL */
    const struct ledger_sale *same_key[2];          /* two orders of one key, or NULL */
    const struct ledger_sale *unbacked;             /* the first, or NULL */
    int64_t unbacked_count, empty_count;            /* of these empty_count hold nothing */
    int64_t held;                                   /* units that are held for the sales */
    const struct record *other_yes;                 /* another yes to `duplicate`, or NULL */
    const struct ledger_sale *outside, *orphan_row; /* the first, or NULL */
    const struct ledger_sale *unasked; /* each request for it was sent too late; or NULL */
    const struct purchase *orphan;     /* the purchase of orphan_row, or NULL */
    const struct record *denial;       /* a no to `orphan` after its yes, or NULL */
    int64_t left;                      /* the sum over stock rows above zero */
    bool has_ended;                    /* no unit is left, or one "sold out" */
    const struct record *refused_first, *refused_last; /* in order of arrival, or NULL */
};

/* Join the purchases with their ledger rows. 0, or -1: out of memory. judge_close() either way. */
__attribute__((warn_unused_result)) int judge_open(struct judge *judge);
void judge_close(struct judge *judge);

/* The purchase that asked for the order of this id: its key is the id, or its yes names the id. The
 * first of several, or NULL. */
const struct purchase *judge_find(const struct judge *judge, const char *id);
struct buyer judge_buyer(const struct judge *judge, const struct ledger_sale *sale);
/* The next request of the walk, or NULL at its end. */
const struct record *judge_next(const struct judge *judge, struct judge_walk *walk);
/* The order that was recorded for the purchase, or NULL. */
const struct ledger_order *judge_order(const struct judge *judge, const struct purchase *purchase);
/* The sale at a place in the order of units. */
static inline const struct ledger_sale *judge_by_unit(const struct judge *judge, size_t place) {
    return &judge->ledger->sales[judge->by_unit[place]];
}
/* The stock row of a shard, or NULL. */
const struct ledger_row *judge_row(const struct judge *judge, int64_t shard);
enum sale_kind judge_sale_kind(const struct judge *judge, const struct ledger_sale *sale);
/* Whether a request may have taken a unit and given it back. order-svc does not answer yes then,
 * and it never gives back an order with a key: a repeat may be recording it. */
bool judge_may_undo(const struct judge *judge, const struct record *record);
/* Whether it may have got two units of loaded stock. order-svc asks the other instance if the first
 * one is slow, and Redis may sell to both. The ledger takes one unit, and the other one comes back. */
bool judge_may_have_two(const struct judge *judge, const struct record *record);

#define JUDGE_UNIT 32
/* "unit 57"; "a unit" if the sales have no unit numbers. Returns `text`. */
const char *judge_unit(const struct judge *judge, int64_t unit, char text[JUDGE_UNIT]);
/* The same of all units of a sale: "3 units". */
const char *judge_units(const struct judge *judge, const struct ledger_sale *sale,
                        char text[JUDGE_UNIT]);
#define JUDGE_PLACE 128
/* " (inventory-1)", where the sale happened; "" if the ledger does not tell it. */
const char *judge_place(const struct ledger_sale *sale, char text[JUDGE_PLACE]);
/* The first unit of a sale; none that a ledger may name in error reaches the end of the numbers. */
int64_t judge_first_unit(const struct ledger_sale *sale);
/* Whether the sales tell their units. */
bool judge_has_units(const struct judge *judge);

/* Count an anomaly `count` times, and keep the text as an example while there is room. With 0 the
 * text is another example of an anomaly that was counted already. */
__attribute__((format(printf, 4, 5))) void judge_found(struct judge *judge, enum anomaly anomaly,
                                                       int64_t count, const char *format, ...);

/* The rules, in this order. 0, or -1: out of memory.
 * sales: OVERSELL, TWIN, GHOST, ORPHAN, DUPLICATE, UNBACKED;
 * stock: UNDERSELL, EARLY-SOLD-OUT, STUCK, STALE, more OVERSELL and ORPHAN, and `leak`;
 * leaks: LEAK, by rows and sums together;
 * writes: TWIN and STALE by the writes of the count, if the sales tell no numbers. */
__attribute__((warn_unused_result)) int judge_sales(struct judge *judge);
__attribute__((warn_unused_result)) int judge_stock(struct judge *judge);
__attribute__((warn_unused_result)) int judge_leaks(struct judge *judge);
__attribute__((warn_unused_result)) int judge_writes(struct judge *judge);
/* STUCK, a part of judge_stock() (stuck.c). */
void judge_stuck(struct judge *judge);
/* Tell the counterexample by writes, if there is one. */
bool writes_tell(const struct judge *judge, struct counterexample *example);

/* "Shard 1 began with 5 units, 6 to 10: 3 different ones sold, 1 left." Returns how many units the
 * row has too many. */
int64_t leak_write_row(const struct judge *judge, const struct ledger_row *row,
                       char text[VERDICT_TEXT]);

/* The smallest counterexample of each anomaly over all products, in prose. The reads in it are
 * deduced: a sale that left 57 in its row had read 58 there. */
struct counterexamples {
    bool has[ANOMALY_COUNT];
    struct counterexample first[ANOMALY_COUNT];
    size_t twins; /* without the first */
    struct counterexample twin[VERDICT_COUNTEREXAMPLES];
};
/* Add the counterexamples of a judged product. Call it before judge_close(). */
void counterexamples_add(struct counterexamples *all, const struct judge *judge);

#endif
