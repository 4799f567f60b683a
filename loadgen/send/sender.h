/* The open loop: sends each request when the plan says so, whatever the answers do.
 *
 * Connections are opened before the first planned moment, as many as arrivals may come within 50
 * ms. A request that finds no free connection opens one, up to a limit; beyond it the request waits
 * in the client's queue, which shows as lateness; beyond twice the limit it is UNSENT. At
 * `max_in_flight` it waits, however many there are, and is launched in order as answers come: late,
 * and counted as that. A repeat sends the key of the arrival that it repeats. */
#ifndef LOADGEN_SENDER_H
#define LOADGEN_SENDER_H

#include "fiber.h"
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
    const char *host;
    int port;
    const char *path;               /* of the POST */
    const struct product *products; /* `items` of them: what arrivals ask for */
    size_t items;
    const struct plan *plan;
    struct recorder *recorder;
    int64_t timeout_ms;   /* of each request */
    unsigned connections; /* the most to open */
    bool is_keyless;      /* no Idempotency-Key is sent; then the plan has no repeats */
    size_t max_in_flight; /* 0: no limit; an arrival beyond it is launched when another has ended */
    /* Unless NULL: when the first request is planned, on clock_now_ns(); asked for in the fiber,
     * once the connections are open. */
    int64_t (*choose_start)(void *data);
    void (*on_start)(void *data); /* unless NULL: recorder->start_ns is settled, and yet to come */
    void *data;
    size_t worker, workers; /* of so many senders, each of which sends its part; 0: the only one */

    /* The sender's own. */
    struct http_client *client;
    struct sender_slot *slots, *free_slots;
    int timer_fd;
    uv_poll_t poll;
    uv_prepare_t prepare;
    uv_idle_t near;   /* active while the next planned moment is too near for the timer */
    int64_t armed_ns; /* when the timer fires, 0 for never */
    uv_timer_t cut_timer;
    size_t next, in_flight;
    bool is_stopped, is_closing;
    bool is_held;     /* arrivals are due and wait, at max_in_flight */
    bool is_answered; /* since the last burst */
    unsigned open_handles;
    struct fiber_event finished;
};

#define SENDER_LEAD_NS 20000000 /* between the decision to start and the first planned request */

/* In a fiber: send its part of the plan and wait for the last answer. 0, or a negative libuv code
 * when it could not start; then nothing was sent. */
__attribute__((warn_unused_result)) int sender_run(struct sender *sender);

/* Send what became due in this turn of the loop, and no more (what else is due by now is UNSENT);
 * and give up what is not answered in `grace_ms`. May be called at any time while sender_run()
 * runs, and more than once. */
void sender_stop(struct sender *sender, uint64_t grace_ms);

#endif
