/* What the parts of the judgement share: the ledger and the purchases of one product, and what was
 * found in them.
 *
 * The verdict opens a judge for each product and lets the rules look, one after the other. Each
 * tells what it found with judge_found(), and keeps the operations that show it best; from those
 * the counterexample is told at the end. */
#ifndef JUDGE_JUDGE_H
#define JUDGE_JUDGE_H

#include "anomaly.h"
#include "event.h"
#include "linear.h"
#include "record.h"

/* All requests that were sent with one key: a customer's wish for one unit. */
struct purchase {
    const struct record **requests; /* in the order in which they were sent; one at least */
    size_t count;
    const char *id;                 /* the order that the first yes names, else the key */
    const struct record *yes;       /* the first yes to arrive, or NULL */
    bool is_unknown;                /* one of the requests was not told */
    bool is_seated;                 /* without a key or an answer: `sale` may be another's */
    const struct ledger_sale *sale; /* of `id`, or NULL */
    const struct ledger_order *order;
    /* The first request that may have sold: each but those that were told no, unless all were.
     * LINEAR_BEFORE when none was sent. */
    int64_t sent_ns;
    int64_t answered_ns; /* the first yes; LINEAR_NEVER without */
};

/* Who asked for a sale, and the time in which it was made. */
struct buyer {
    const struct purchase *purchase; /* NULL: nobody asked for it */
    int64_t sent_ns;                 /* LINEAR_BEFORE: not known */
    int64_t answered_ns;             /* the first reply that names it; LINEAR_NEVER without */
};

/* Where its unit came from, as its row tells. */
enum sale_kind {
    SALE_COUNTED, /* from the count of its stock row: unit and remaining agree */
    SALE_EITHER,  /* of the count, or the same unit after it had come back */
    SALE_AGAIN,   /* a unit that had come back */
    SALE_WRONG    /* unit, remaining and stock row contradict each other */
};

/* Two that contradict each other: sales or a refusal; one or both may be missing. */
struct pair {
    const struct ledger_sale *sales[2];
    const struct record *refusal;
    int64_t unit; /* that is missing */
};

/* Where units and counts disagree, and how many units; see leak.c. Evidence: the first of each. */
struct leak {
    int64_t missing, surplus, untaken, doubled, wrong, unknown, unbalanced;
    bool has_missed;
    bool is_elsewhere;               /* the unit of `missed`: an order has it, or it came back */
    struct pair missed;              /* the first: what passed it, or else the count at the end */
    const struct ledger_row *row;    /* of `missed`, or that is below zero or above its beginning */
    const struct ledger_sale *left;  /* a sale of a unit that is in the stock, too */
    int64_t back_unit, doubled_unit; /* that came back */
    int64_t unknown_unit;            /* likewise, and is none of the row */
    const struct ledger_sale *wrong_sale;
    const struct ledger_row *unbalanced_row; /* or NULL */
    struct pair last;        /* with `left`: the last sale like it, and the last sale of its row */
    char sums[VERDICT_TEXT]; /* "981 left + 20 units sold is 1001, and ..." */
};

/* Two sales of one unit that held a raw lock at a time; see sales.c. */
struct overlap {
    const struct ledger_sale *sales[2]; /* of the two, by time */
    const struct event *held, *taken;   /* the second grant came before the first was given back, */
    const struct event *freed; /* because a third order had freed the key between them; or NULL */
    const struct event *lost;  /* the grant that had run out: that of `freed`, or else `held`; */
    int64_t expired_ns;        /* when it had. NULL, EVENT_OPEN: not known */
    int64_t handed_ns;         /* when the lock of the first was another's */
    bool has_expired;          /* by then */
};

/* The end of the demand, in which nobody was sold anything; see stock.c. */
struct stuck {
    int64_t from_ns, to_ns;
    size_t told[RECORD_OUTCOME_COUNT]; /* attempts in it, by what they were told */
    const struct record *attempt;      /* the last of them */
    const struct ledger_sale *last;    /* the last sale before it, or NULL */
    int64_t since;                     /* attempts that were made after it */
};

struct judge {
    /* Set before judge_open(). */
    const struct event_list *events; /* sorted; NULL: none */
    const struct ledger *ledger;     /* sorted */
    uint32_t item;
    bool is_keyless;       /* requests without a key may have given units back */
    bool is_stopped;       /* before its end, by Ctrl-C or --abort-on-fail */
    int64_t stuck_ns;      /* of struct verdict_case, as are these: */
    int64_t down_until_ns; /* what did not reach the target is in it, too */
    int64_t ledger_start_us;
    struct purchase *purchases; /* by key */
    size_t purchase_count;
    struct anomaly_found *found; /* ANOMALY_COUNT of them, for all products together */

    /* Indexes, by judge_open(). */
    const struct record **requests; /* of all purchases, one after the other */
    size_t request_count;
    const struct record **named; /* yes replies that name no order of their key, by order */
    size_t named_count;
    const struct ledger_sale **by_unit; /* sales, by unit, then time */
    struct buyer *buyers;               /* of each sale, in its place */
    struct ledger_row whole;            /* stands for stock rows that are not there */
    const struct ledger_row *rows;      /* by shard; one at least */
    size_t row_count;
    bool may_have_returned; /* someone may have given a unit back */

    /* What the rules found in this product; the counts are as in struct verdict. */
    int64_t distinct, refused_early, unsettled, unknown_sold, pairs, overlapping;
    bool has_found[ANOMALY_COUNT];
    bool is_any_unknown;                        /* a request of unknown outcome has no row */
    struct pair twins[VERDICT_COUNTEREXAMPLES]; /* the most telling first */
    size_t twin_count;
    struct overlap overlaps[VERDICT_COUNTEREXAMPLES]; /* likewise */
    size_t overlap_count;
    struct pair early, stale, range; /* without sales: none */
    struct leak leak;
    struct stuck stuck;
    const struct purchase *ghost, *duplicate;       /* the first of each, or NULL */
    const struct record *other_yes;                 /* to `duplicate`, of other content; or NULL */
    const struct ledger_sale *outside, *orphan_row; /* likewise */
    const struct ledger_sale *unasked;              /* asked for too late by each; or NULL */
    const struct purchase *orphan;                  /* whose row is orphan_row, or NULL */
    const struct record *denial;                    /* of `orphan`, after its yes; or NULL */
    int64_t left;                                   /* in the stock rows that have some */
    bool has_ended;                                 /* nothing is left, or someone was refused */
    const struct record *refused_first, *refused_last; /* to arrive; NULL without a refusal */
};

/* Join the purchases with their ledger rows. 0, or -1 without memory; judge_close() either way. */
__attribute__((warn_unused_result)) int judge_open(struct judge *judge);
void judge_close(struct judge *judge);

/* Who asked for the order of this id, with it as the key or told of it later: the first of several,
 * or NULL. */
const struct purchase *judge_find(const struct judge *judge, const char *id);
const struct buyer *judge_buyer(const struct judge *judge, const struct ledger_sale *sale);
/* The stock row of a shard, or NULL. */
const struct ledger_row *judge_row(const struct judge *judge, int64_t shard);
enum sale_kind judge_sale_kind(const struct judge *judge, const struct ledger_sale *sale);
/* Whether a request may have taken a unit and given it back. order-svc then tells anything but yes,
 * and gives back no order of a key: a repeat may be recording it. */
bool judge_may_undo(const struct judge *judge, const struct record *record);

/* Count an anomaly `count` times, and keep the text as an example while there is room; with 0 it is
 * another example of what was counted already. */
__attribute__((format(printf, 4, 5))) void judge_found(struct judge *judge, enum anomaly anomaly,
                                                       int64_t count, const char *format, ...);

/* The rules, in this order. 0, or -1 without memory.
 * sales: OVERSELL, TWIN, GHOST, ORPHAN, DUPLICATE;
 * stock: UNDERSELL, EARLY-SOLD-OUT, STUCK, STALE, what the former have not found, and `leak`;
 * leaks: LEAK, by rows and sums together. */
__attribute__((warn_unused_result)) int judge_sales(struct judge *judge);
__attribute__((warn_unused_result)) int judge_stock(struct judge *judge);
__attribute__((warn_unused_result)) int judge_leaks(struct judge *judge);

/* "Shard 1 began with units 6 to 10: 3 of them sold, 1 left, 0 came back."; returns how many are
 * too many. */
int64_t leak_write_row(const struct judge *judge, const struct ledger_row *row,
                       char text[VERDICT_TEXT]);

/* The smallest counterexample of each anomaly of all products, told in prose. What it says of reads
 * is deduced: a sale that left 57 in its row had read 58 there. */
struct counterexamples {
    bool has[ANOMALY_COUNT];
    struct counterexample first[ANOMALY_COUNT];
    size_t twins; /* beyond the first */
    struct counterexample twin[VERDICT_COUNTEREXAMPLES];
};
/* Tell those of a product that has been judged, before judge_close(). */
void counterexamples_add(struct counterexamples *all, const struct judge *judge);

#endif
