/* The customers of a shop file in a run: `prepare` before the sale, a few at a time; then each
 * begins `order` at its planned moment, however the replies come.
 *
 * A customer is one arrival of the plan, and one record. Its key is the customer's {{key}}. Its
 * order id is the captured {{order}} at the end, also of a refused or unknown order. It is sent
 * when the first step of `order` is sent, because a shop may sell from then on.
 *
 *     sold, soldout, busy, refused, unknown    the same words of record.h
 *     the first step of `order` was not sent   UNREACHED
 *     `prepare` failed, or there is no memory  UNSENT
 *
 * No request is sent twice, and no customer orders twice. */
#ifndef LOADGEN_CROWD_H
#define LOADGEN_CROWD_H

#include "flow.h"
#include "histogram.h"
#include "plan.h"
#include "record.h"
#include "shop.h"
#include "why.h"

#include <stddef.h>
#include <stdint.h>
#include <uv.h>

struct crowd;

#define CROWD_REPLY_BYTES 400

/* Zero means the default in brackets. */
struct crowd_options {
    unsigned lanes; /* customers in `prepare` at a time [8] */
    /* NULL or: called once recorder->start_ns is set; it is in the future. */
    void (*on_start)(void *data);
    void *data;
};

/* A step of `order`. */
struct crowd_step {
    const struct shop_step *step;
    size_t sent;            /* requests */
    size_t no_reply;        /* of these, without a complete reply */
    struct histogram *time; /* of each reply, from the start of its request, ns */
};

/* A reply that no rule matches. */
struct crowd_reply {
    const struct shop_step *step;
    int status;
    struct why why;               /* such as `line 12: the reply has status 500, and not 200` */
    char text[CROWD_REPLY_BYTES]; /* the start of its body: one printable line, secrets masked */
};

struct crowd_counts {
    size_t prepared;       /* customers that are ready for `order` */
    size_t failed;         /* in `prepare` */
    struct why why_failed; /* the first of these; printable, secrets masked */
    size_t on_way;         /* in `order` now */
    size_t silent;         /* orders that ended without a reply to their last request */
    struct why why_silent; /* the first of these; printable, secrets masked */
    size_t unmatched;      /* replies; their orders are UNKNOWN */
    struct crowd_reply first_unmatched;
    size_t sold_without_id; /* sold orders without an {{order}} that is an id (record_is_id()) */
};

/* One customer for each arrival of the plan, which has no repeats; number 0 is the caller's.
 * `flow`, `shop`, `plan` and `recorder` must live until crowd_close(). 0; or -1 with the reason,
 * and then there is nothing to close. */
__attribute__((warn_unused_result)) int crowd_open(struct crowd **crowd, uv_loop_t *loop,
                                                   struct flow *flow, const struct shop *shop,
                                                   const struct plan *plan,
                                                   struct recorder *recorder,
                                                   const struct crowd_options *options,
                                                   struct why *why);

/* In a fiber: takes all customers through `prepare`. A customer that fails stays at home, and is
 * counted. 0; or -1 with the reason: no customer is ready, or crowd_stop() was called. */
__attribute__((warn_unused_result)) int crowd_prepare(struct crowd *crowd, struct why *why);

/* In a fiber: takes each customer through `order` at its planned moment. Returns after the last
 * one, with all records ended. 0; or a negative libuv code, and then nothing was sent. */
__attribute__((warn_unused_result)) int crowd_send(struct crowd *crowd);

/* At any time, and more than once. In crowd_prepare(): breaks off all requests, and sends no other.
 * In crowd_send(): begins a last burst of due orders; other due ones become UNSENT; after
 * `grace_ms` it breaks off the orders on the way. */
void crowd_stop(struct crowd *crowd, uint64_t grace_ms);

const struct crowd_counts *crowd_counts(const struct crowd *crowd);
/* The steps of `order`, `count` of them. They live until crowd_close(). */
const struct crowd_step *crowd_steps(const struct crowd *crowd, size_t *count);

/* Closes the customers. Neither crowd_prepare() nor crowd_send() may be running. */
void crowd_close(struct crowd *crowd);

#endif
