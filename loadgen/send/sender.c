/* The open loop: a pacer (pacer.h) says when requests are due. */
#include "sender.h"

#include "answer.h"
#include "clock.h"
#include "http_client.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* Requests in one turn of the loop, if no answer came since the last turn. A sender that is behind
 * sends only one request per answer and one per turn. More connections in use would be colder in
 * the caches of both sides, and it would never catch up. */
#define BURST 16

/* Most connections that are opening at a time while it sends: opening takes longer than sending,
 * and new connections would slow down a server that is behind. */
#define OPENING        16

#define WARM_NS        50000000
#define WARM_MOST      4096
#define WARM_WITHIN_MS 1000

#define TYPE_LINE      "Content-Type: application/json\r\n"
static const char header_lines[] =
    TYPE_LINE "Idempotency-Key: 00000000-0000-0000-0000-000000000000\r\n";

#define KEY_PLACE (sizeof header_lines - sizeof "00000000-0000-0000-0000-000000000000\r\n")

/* One request in flight. */
struct sender_slot {
    struct http_call call;
    struct sender *sender;
    struct record *record;
    struct sender_slot *next;
    char headers[sizeof header_lines];
    char body[UUID_TEXT + sizeof "{\"product_id\":\"\"}"];
};

static void sender_on_part_closed(void *data) {
    struct sender *sender = data;

    assert(sender->open_handles > 0);
    if (--sender->open_handles == 0)
        fiber_event_set(&sender->finished);
}

static void sender_on_handle_closed(uv_handle_t *handle) {
    sender_on_part_closed(handle->data);
}

static void close_client(struct sender *sender) {
    if (sender->is_closing)
        return;
    sender->is_closing = true;
    http_client_close(sender->client, sender_on_part_closed, sender);
}

static void maybe_finished(struct sender *sender) {
    if (sender->in_flight > 0 || (sender->next < sender->plan->count && !sender->is_stopped))
        return;
    if (uv_is_closing((uv_handle_t *)&sender->cut_timer))
        return;
    assert(sender->recorder->ended == sender->recorder->count);
    pacer_close(&sender->pacer, sender_on_part_closed);
    uv_close((uv_handle_t *)&sender->cut_timer, sender_on_handle_closed);
    close_client(sender);
}

static int64_t due_ns(const struct sender *sender) {
    return sender->recorder->start_ns + sender->plan->arrivals[sender->next].due_ns;
}

static bool is_due(const struct sender *sender, int64_t now_ns) {
    return sender->next < sender->plan->count && !sender->is_stopped && due_ns(sender) <= now_ns;
}

static void skip_others(struct sender *sender) {
    while (sender->next < sender->plan->count &&
           !plan_is_own(sender->plan, sender->next, sender->parts, sender->part))
        sender->next++;
}

/* It gets a new key, or the key of the arrival that it repeats. */
static struct record *begin_next(struct sender *sender) {
    const size_t number = sender->next++;
    const struct arrival *arrival = &sender->plan->arrivals[number];
    const bool is_repeat = arrival->repeats != number;
    struct record *record =
        recorder_begin(sender->recorder, number, arrival->due_ns,
                       is_repeat ? &sender->recorder->records[arrival->repeats].key : NULL);

    assert(arrival->repeats <= number);
    record->item = arrival->item;
    if (sender->is_keyless)
        record_leave_nameless(record);
    skip_others(sender);
    return record;
}

static void leave_unsent(struct sender *sender) {
    recorder_end(sender->recorder, begin_next(sender));
}

static void sender_on_answer(struct http_call *call);

static void sender_send_next(struct sender *sender, int64_t now_ns) {
    struct sender_slot *slot = sender->free_slots;
    char *end;

    if (slot == NULL) {
        leave_unsent(sender);
        return;
    }
    assert(!sender->is_closing); /* a closing client accepts no call */
    sender->free_slots = slot->next;
    slot->record = begin_next(sender);
    assert(slot->record->item < sender->items);
    end = stpcpy(slot->body, "{\"product_id\":\"");
    end = stpcpy(end, sender->products[slot->record->item].id);
    end = stpcpy(end, "\"}");
    if (sender->is_keyless)
        slot->headers[strlen(TYPE_LINE)] = '\0';
    else
        memcpy(slot->headers + KEY_PLACE, record_id(&slot->record->key), UUID_TEXT - 1);
    slot->call = (struct http_call){.method = "POST",
                                    .target = sender->path,
                                    .headers = slot->headers,
                                    .body = slot->body,
                                    .body_length = (size_t)(end - slot->body),
                                    .deadline_ms = now_ns / 1000000 + sender->timeout_ms,
                                    .data = slot,
                                    .want_header = "Server-Timing"};
    sender->in_flight++;
    http_call_start(sender->client, &slot->call, sender_on_answer);
}

/* At --max-in-flight due requests wait for answers, in order. */
static void send_due(struct sender *sender, int most) {
    for (int sent = 0; sent < most; sent++) {
        int64_t now = clock_now_ns();

        if (!is_due(sender, now)) {
            sender->is_held = false;
            break;
        }
        if (sender->max_in_flight > 0 && sender->in_flight >= sender->max_in_flight) {
            sender->is_held = true;
            break;
        }
        sender->recorder->late_launches += sender->is_held;
        sender_send_next(sender, now);
    }
    maybe_finished(sender);
}

static void sender_on_due(void *data) {
    struct sender *sender = data;
    const bool was_answered = sender->is_answered;

    sender->is_answered = false;
    send_due(sender, was_answered ? 1 : BURST);
}

/* 0 if it only waits for answers. */
static int64_t sender_next_ns(void *data) {
    const struct sender *sender = data;
    const bool is_waiting =
        !sender->is_held && !sender->is_stopped && sender->next < sender->plan->count;

    return is_waiting ? due_ns(sender) : 0;
}

/* Many answers may come at once; a request that becomes due does not wait for the last of them. */
static void sender_on_answer(struct http_call *call) {
    struct sender_slot *slot = call->data;
    struct sender *sender = slot->sender;

    assert(sender->in_flight > 0);
    answer_take(sender->recorder, slot->record, call);
    slot->next = sender->free_slots;
    sender->free_slots = slot;
    sender->in_flight--;
    sender->is_answered = true;
    send_due(sender, 1);
}

static int make_slots(struct sender *sender) {
    size_t count = 2 * (size_t)sender->connections;

    if (count > sender->plan->count)
        count = sender->plan->count;
    sender->slots = calloc(count, sizeof *sender->slots);
    if (sender->slots == NULL)
        return UV_ENOMEM;
    for (size_t i = count; i-- > 0;) {
        sender->slots[i].sender = sender;
        memcpy(sender->slots[i].headers, header_lines, sizeof header_lines);
        sender->slots[i].next = sender->free_slots;
        sender->free_slots = &sender->slots[i];
    }
    return 0;
}

static int sender_open_client(struct sender *sender) {
    struct http_client_options options = {.host = sender->host,
                                          .name = sender->name,
                                          .port = sender->port,
                                          .connections = sender->connections,
                                          .opening = OPENING,
                                          .queue = 2 * sender->connections,
                                          .connect_timeout_ms = (uint64_t)sender->timeout_ms};

    return http_client_open(&sender->client, sender->loop, &options);
}

/* From here on maybe_finished() closes the handles. */
static int start_pacer(struct sender *sender) {
    int rc;

    sender->pacer =
        (struct pacer){.next_ns = sender_next_ns, .on_due = sender_on_due, .data = sender};
    rc = pacer_start(&sender->pacer, sender->loop);
    if (rc != 0)
        return rc;
    sender->cut_timer.data = sender;
    (void)uv_timer_init(sender->loop, &sender->cut_timer); /* cannot fail */
    sender->open_handles = 3;                              /* the client is the third */
    return 0;
}

/* The most arrivals within WARM_NS: a server with that delay has so many requests at a time. */
static size_t most_at_once(const struct plan *plan) {
    size_t first = 0, most = 0;

    for (size_t i = 0; i < plan->count; i++) {
        while (plan->arrivals[i].due_ns - plan->arrivals[first].due_ns > WARM_NS)
            first++;
        if (i - first + 1 > most)
            most = i - first + 1;
    }
    return most;
}

/* Opening a connection costs more than sending a request, on both sides. If the first requests
 * opened all connections at once, they would be late, and would need even more connections. */
static void warm_up(struct sender *sender) {
    const int64_t deadline_ms = clock_now_ms() + WARM_WITHIN_MS;
    struct http_client_stats stats;
    const size_t parts = sender->parts > 1 ? sender->parts : 1;
    size_t count = (most_at_once(sender->plan) + parts - 1) / parts;

    if (count > WARM_MOST)
        count = WARM_MOST;
    if (sender->max_in_flight > 0 && count > sender->max_in_flight)
        count = sender->max_in_flight;
    http_client_warm(sender->client, (unsigned)count);
    http_client_stats(sender->client, &stats);
    while (stats.idle < stats.connections && !sender->is_stopped && clock_now_ms() < deadline_ms) {
        fiber_sleep(sender->loop, 1);
        http_client_stats(sender->client, &stats);
    }
}

static int sender_start(struct sender *sender) {
    int rc = make_slots(sender);

    if (rc != 0)
        return rc;
    rc = sender_open_client(sender);
    if (rc != 0)
        return rc;
    warm_up(sender);
    sender->recorder->start_ns = sender->choose_start != NULL ? sender->choose_start(sender->data)
                                                              : clock_now_ns() + SENDER_LEAD_NS;
    rc = start_pacer(sender);
    if (rc == 0) {
        if (sender->on_start != NULL)
            sender->on_start(sender->data);
        maybe_finished(sender); /* it may have been stopped meanwhile */
        return 0;
    }
    sender->open_handles = 1;
    close_client(sender);
    fiber_event_wait(&sender->finished);
    return rc;
}

static void on_cut(uv_timer_t *timer) {
    close_client(timer->data);
}

void sender_stop(struct sender *sender, uint64_t grace_ms) {
    if (sender->is_stopped)
        return;
    if (sender->open_handles == 0) { /* not started, or already ended */
        sender->is_stopped = true;
        return;
    }
    send_due(sender, BURST); /* due since this turn of the loop began */
    while (is_due(sender, clock_now_ns()))
        leave_unsent(sender);
    sender->is_stopped = true;
    maybe_finished(sender);
    if (!sender->is_closing)
        (void)uv_timer_start(&sender->cut_timer, on_cut, grace_ms, 0);
}

int sender_run(struct sender *sender) {
    int rc;

    assert(sender->recorder->size >= sender->plan->count);
    skip_others(sender);
    if (sender->plan->count == 0)
        return 0;
    rc = sender_start(sender);
    if (rc == 0)
        fiber_event_wait(&sender->finished);
    assert(sender->in_flight == 0);
    free(sender->slots);
    return rc;
}
