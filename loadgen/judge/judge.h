/* What the parts of the judgement share: the ledger and the purchases of one product, and what was
 * found in them.
 *
 * The verdict opens a judge for each product and lets the rules look, one after the other: units,
 * promises, refusals, rows, overlaps. Each tells what it found with judge_found(), and keeps the
 * operations that show it best; from those the counterexample is told at the end. */
#ifndef LOADGEN_JUDGE_H
#define LOADGEN_JUDGE_H

#include "anomaly.h"
#include "linear.h"
#include "record.h"

/* All requests that were sent with one key: a customer's wish for one unit. */
struct purchase {
    const struct record **requests; /* in the order in which they were sent; one at least */
    size_t count;
    const char *id;                 /* the order that the first yes names, else the key */
    const struct record *yes;       /* the first yes to arrive, or NULL */
    bool is_unknown;                /* one of the requests was not told */
    const struct ledger_sale *sale; /* of `id`, or NULL */
    const struct ledger_order *order;
    int64_t sent_ns; /* the first request that may have sold; LINEAR_BEFORE when none was sent */
    int64_t answered_ns; /* the first yes; LINEAR_NEVER without */
};

/* All purchases of the round, sorted by product, then key; each item's are in one run. */
struct purchases {
    const struct record **requests;
    struct purchase *all;
    size_t count;
};
__attribute__((warn_unused_result)) int purchases_make(struct purchases *purchases,
                                                       const struct recorder *recorder);
void purchases_free(struct purchases *purchases);

/* The first yes of other content than purchase->yes, or NULL. */
const struct record *purchase_other_yes(const struct purchase *purchase);

/* Two that contradict each other: sales or a refusal; the second may be missing. */
struct pair {
    const struct ledger_sale *sales[2];
    const struct record *refusal;
    int64_t unit; /* that is missing */
};

struct judge {
    /* Set before judge_open(). */
    const struct ledger *ledger; /* sorted */
    uint32_t item;
    struct purchase *purchases; /* by key */
    size_t purchase_count;
    struct anomaly_found *found; /* ANOMALY_COUNT of them, for all products together */

    /* Indexes, by judge_open(). */
    const struct record **requests; /* of all purchases, one after the other */
    size_t request_count;
    const struct purchase **by_id;      /* by `id` */
    const struct ledger_sale **by_unit; /* sales, by unit, then time */
    const struct purchase **buyers;     /* of each sale, in its place; NULL: none asked for it */
    struct ledger_row whole;            /* stands for stock rows that are not there */
    const struct ledger_row *rows;      /* by shard; one at least */
    size_t row_count;
    bool may_have_returned; /* units may have come back, even if the ledger shows none */

    /* What the rules found in this product; the counts are as in struct verdict. */
    int64_t distinct, refused_early, unsettled, unknown_sold, pairs, overlapping;
    bool has_found[ANOMALY_COUNT];
    bool is_any_unknown; /* requests of unknown outcome have no row, and may have one yet */
    struct pair twins[VERDICT_COUNTEREXAMPLES]; /* the most telling first */
    size_t twin_count;
    struct pair early, stale, missing, range;          /* without sales: none */
    const struct purchase *ghost, *duplicate;          /* the first of each, or NULL */
    const struct ledger_sale *outside, *orphan_row;    /* likewise */
    const struct purchase *orphan;                     /* whose row is orphan_row, or NULL */
    const struct record *refused_first, *refused_last; /* to arrive; NULL without a refusal */
};

/* Join the purchases with their ledger rows. 0, or -1 without memory; judge_close() either way. */
__attribute__((warn_unused_result)) int judge_open(struct judge *judge);
void judge_close(struct judge *judge);

/* By the key that was sent, or by the order's id: the first of several, or NULL. */
const struct purchase *judge_find_key(const struct judge *judge, const char *key);
const struct purchase *judge_find_id(const struct judge *judge, const char *id);
/* Who asked for this sale, or NULL. */
const struct purchase *judge_buyer(const struct judge *judge, const struct ledger_sale *sale);
/* The stock row of a shard, or NULL. */
const struct ledger_row *judge_row(const struct judge *judge, int64_t shard);
/* Taken from the count of its stock row for certain: not a unit that had come back. */
bool judge_is_counted(const struct judge *judge, const struct ledger_sale *sale);

/* Count an anomaly `count` times, at least once, and keep the text as an example while there is
 * room. */
__attribute__((format(printf, 4, 5))) void judge_found(struct judge *judge, enum anomaly anomaly,
                                                       int64_t count, const char *format, ...);

/* "981 left + 20 units sold is 1001, and ..."; returns how many are too many. */
int64_t judge_write_sums(const struct judge *judge, char text[VERDICT_TEXT]);

/* What the ledger alone shows: OVERSELL, TWIN, LEAK, and DUPLICATE rows. */
void judge_units(struct judge *judge);
/* What clients were told against what the ledger says: GHOST, ORPHAN, DUPLICATE. */
void judge_promises(struct judge *judge);
/* What clients were refused: UNDERSELL, EARLY-SOLD-OUT. */
void judge_refusals(struct judge *judge);
/* The linearizability check of each stock row, after the others: STALE, and what they have not
 * found. 0, or -1 without memory. */
__attribute__((warn_unused_result)) int judge_rows(struct judge *judge);
/* How many pairs of attempts overlapped: 0, or -1 without memory. */
__attribute__((warn_unused_result)) int judge_overlaps(struct judge *judge);

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
