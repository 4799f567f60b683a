/* The open loop: sends each request at its planned moment, however the answers come.
 *
 * Before the first planned moment it opens as many connections as arrivals can come within 50 ms. A
 * request without a free connection opens one, up to a limit. Above the limit the request waits in
 * the client's queue, and is late; above twice the limit it is UNSENT. At `max_in_flight` requests
 * wait, in any number, and are sent in order as answers come; these count as late launches. A
 * repeat sends the key of the arrival that it repeats. */
#ifndef LOADGEN_SENDER_H
#define LOADGEN_SENDER_H

#include "fiber.h"
#include "pacer.h"
#include "plan.h"
#include "record.h"

#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

struct http_client;
struct sender_slot;

/* The caller owns it, zeroes it and fills in the first part, which must live until sender_run()
 * returns. */
struct sender {
    uv_loop_t *loop;
    const char *host, *name; /* of http_client_options */
    int port;
    const char *path;               /* of the POST */
    const struct product *products; /* the products of the arrivals, `items` of them */
    size_t items;
    const struct plan *plan;
    struct recorder *recorder;
    int64_t timeout_ms;   /* of each request */
    unsigned connections; /* most connections */
    bool is_keyless;      /* no Idempotency-Key is sent; then the plan has no repeats */
    size_t
        max_in_flight; /* 0: no limit; an arrival beyond it is sent when another request has ended */
    /* NULL or: returns the moment of the first request on clock_now_ns(). Called in the fiber, when
     * the connections are open. */
    int64_t (*choose_start)(void *data);
    void (*on_start)(
        void *data); /* NULL or called once recorder->start_ns is set; it is in the future */
    void *data;
    size_t part, parts; /* it is number `part`, from 0, of `parts` senders; 0 parts: the only one */

    /* Private. */
    struct http_client *client;
    struct sender_slot *slots, *free_slots;
    struct pacer pacer;
    uv_timer_t cut_timer;
    size_t next, in_flight;
    bool is_stopped, is_closing;
    bool is_held;     /* at max_in_flight: due arrivals wait */
    bool is_answered; /* an answer came since the last burst */
    unsigned open_handles;
    struct fiber_event finished;
};

#define SENDER_LEAD_NS 20000000 /* between the decision to start and the first planned request */

/* In a fiber: sends its part of the plan, and returns after the last answer. Returns 0; or a
 * negative libuv code if it could not start, and then nothing was sent. */
__attribute__((warn_unused_result)) int sender_run(struct sender *sender);

/* Sends a last burst of due requests; the other due requests become UNSENT. Gives up requests
 * without an answer after `grace_ms`. May be called at any time while sender_run() runs, and more
 * than once. */
void sender_stop(struct sender *sender, uint64_t grace_ms);

#endif
