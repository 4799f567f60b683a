/* Customers on their way through the steps of a shop file: fills the requests, sends them, reads
 * the replies, and says how each order ended.
 *
 * A step: fill -> send -> captures -> rules of the outcome (only in `order`) -> status and asserts.
 * A capture that finds nothing keeps the value from before. The first rule that holds ends the
 * order.
 *
 * docs/shop-file.md tells this to the authors of shop files.
 *
 * A text in a URL keeps the characters that have a meaning there, such as / and ?, so a capture may
 * be a path or a whole URL; other bytes become %XX. In [Query] and [Form] all of them do.
 *
 *     a reply, and a rule holds                      the word of the rule
 *     a reply that meets the step, and no rule holds the next step; after the last one UNKNOWN
 *     any other reply                                UNKNOWN, never "no"
 *     no reply, before the commit mark               REFUSED: nothing was sold
 *     the request with the mark was not sent         REFUSED
 *     no reply, from the mark on                     UNKNOWN */
#ifndef LOADGEN_FLOW_H
#define LOADGEN_FLOW_H

#include "shop.h"
#include "values.h"
#include "web_client.h"
#include "why.h"

#include <stddef.h>
#include <stdint.h>
#include <uv.h>

struct flow;

struct flow_result;

/* Gets a customer's way. Each function may be NULL. Texts live until the function returns. */
struct flow_watch {
    /* Before it is sent; the request lives until its reply, or its end without one. */
    void (*on_step)(void *data, const struct shop_step *step, const struct web_request *request);
    void (*on_talk)(void *data, enum web_talk part, const char *bytes, size_t length);
    /* After its captures, so that a mask knows them; not without a reply. */
    void (*on_reply)(void *data, const struct web_request *request);
    void (*on_capture)(void *data, const struct shop_capture *capture, const char *value);
    /* After each request, also one that was not sent. `result` is the way up to here; with a reply
     * and in `order`, DONE means that the next step follows. */
    void (*on_end)(void *data, const struct web_request *request, const struct flow_result *result);
    void *data;
};

/* Zero means the default in brackets. */
struct flow_options {
    bool any_address;   /* also connect to public addresses */
    int64_t timeout_ms; /* of each request [30,000] */
    size_t captured;    /* bytes of all captures, at most [512 MiB] */
};

/* Takes the values of the file's `set`, `env` and `run` (runs its commands, and waits for them),
 * and compiles its programs of jq and its expressions. `shop` must live as long as the flow. 0; or
 * -1 with the reason, and then there is nothing to undo. */
__attribute__((warn_unused_result)) int flow_open(struct flow **flow, uv_loop_t *loop,
                                                  const struct shop *shop,
                                                  const struct flow_options *options, int64_t stock,
                                                  struct why *why);
/* All customers must be closed. `cb` runs once, later, on the loop, with the flow freed. */
typedef void (*flow_cb)(void *data);
void flow_close(struct flow *flow, flow_cb cb, void *data);

#define FLOW_ENDS(X)                                                                               \
    X(DONE, "done")     /* each step of the section went as it must; never of `order` */           \
    X(FAILED, "failed") /* a step did not: `why` has the reason; never of `order` */               \
    X(SOLD, "sold")                                                                                \
    X(SOLD_OUT, "soldout")                                                                         \
    X(BUSY, "busy")                                                                                \
    X(REFUSED, "refused")                                                                          \
    X(UNKNOWN, "unknown")

enum flow_end {
#define X(id, text) FLOW_##id,
    FLOW_ENDS(X)
#undef X
};
const char *flow_end_name(enum flow_end end);

/* How a section ended for a customer. */
struct flow_result {
    enum flow_end end;
    const struct shop_step *step;    /* the last one that was asked; NULL: the section is empty */
    const struct shop_outcome *rule; /* the one that held; or NULL */
    enum web_outcome reached;        /* of the last step */
    struct why why;                  /* without a rule: the reason */
};

struct flow_customer;

/* Customers 1, 2, ... go to the bases in turn; 0, for `setup` and `teardown`, goes to the first.
 * NULL without memory. `watch` may be NULL, and must live as long as the customer. */
__attribute__((warn_unused_result)) struct flow_customer *flow_customer_open(
    struct flow *flow, int64_t number, const struct flow_watch *watch);
void flow_customer_close(struct flow_customer *customer);
const struct values *flow_customer_values(const struct flow_customer *customer);

/* Take the customer through a section, in a fiber. Captures of `setup` become values of the
 * round. */
void flow_run(struct flow_customer *customer, enum shop_section section,
              struct flow_result *result);
/* Break off its way, if flow_run() runs: its request ends as without a reply, and no other follows.
 */
void flow_cancel(struct flow_customer *customer);

#endif
