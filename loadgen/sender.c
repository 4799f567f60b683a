/* The open loop on a timerfd.
 *
 * libuv's own timers count in milliseconds; the timerfd is armed with the absolute nanosecond of
 * the next planned request, and being a file descriptor it wakes the loop's epoll at once. */
#include "sender.h"

#include "clock.h"
#include "http_client.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/timerfd.h>
#include <unistd.h>

#define LEAD_NS 20000000 /* between the decision to start and the first planned request */
#define BURST   64       /* requests sent before answers are looked at again */

/* One request in flight. */
struct sender_slot {
    struct http_call call;
    struct sender *sender;
    struct record *record;
    struct sender_slot *next;
    char headers[sizeof "Content-Type: application/json\r\nIdempotency-Key: \r\n" + UUID_TEXT];
};

static void on_handle_closed(uv_handle_t *handle) {
    struct sender *sender = handle->data;

    if (--sender->open_handles == 0)
        fiber_event_set(&sender->finished);
}

static void on_client_closed(void *data) {
    struct sender *sender = data;

    sender->client = NULL;
    if (--sender->open_handles == 0)
        fiber_event_set(&sender->finished);
}

static void close_client(struct sender *sender) {
    if (sender->is_closing)
        return;
    sender->is_closing = true;
    http_client_close(sender->client, on_client_closed, sender);
}

static void maybe_finished(struct sender *sender) {
    if (sender->in_flight > 0 || (sender->next < sender->plan->count && !sender->is_stopped))
        return;
    if (uv_is_closing((uv_handle_t *)&sender->poll))
        return;
    uv_close((uv_handle_t *)&sender->poll, on_handle_closed);
    uv_close((uv_handle_t *)&sender->cut_timer, on_handle_closed);
    close_client(sender);
}

static void on_answer(struct http_call *call) {
    struct sender_slot *slot = call->data;
    struct sender *sender = slot->sender;

    recorder_end(sender->recorder, slot->record, call);
    slot->next = sender->free_slots;
    sender->free_slots = slot;
    sender->in_flight--;
    maybe_finished(sender);
}

static void send_next(struct sender *sender, int64_t now_ns) {
    struct sender_slot *slot = sender->free_slots;
    struct record *record = recorder_next(sender->recorder, sender->plan->due_ns[sender->next++]);

    if (slot == NULL) {
        recorder_unsent(sender->recorder, record);
        return;
    }
    sender->free_slots = slot->next;
    slot->record = record;
    snprintf(slot->headers, sizeof slot->headers,
             "Content-Type: application/json\r\nIdempotency-Key: %s\r\n", record->key);
    slot->call = (struct http_call){.method = "POST",
                                    .target = sender->path,
                                    .headers = slot->headers,
                                    .body = sender->body,
                                    .body_length = strlen(sender->body),
                                    .deadline_ms = now_ns / 1000000 + sender->timeout_ms,
                                    .data = slot};
    sender->in_flight++;
    http_client_call(sender->client, &slot->call, on_answer);
}

static int64_t due_ns(const struct sender *sender) {
    return sender->recorder->start_ns + sender->plan->due_ns[sender->next];
}

/* A moment that has passed fires at once. */
static void arm(struct sender *sender) {
    int64_t at = due_ns(sender);
    struct itimerspec when = {.it_value = {at / 1000000000, at % 1000000000}};

    (void)timerfd_settime(sender->timer_fd, TFD_TIMER_ABSTIME, &when, NULL);
}

static void on_due(uv_poll_t *poll, int status, int events) {
    struct sender *sender = poll->data;
    uint64_t expirations;

    (void)status;
    (void)events;
    (void)!read(sender->timer_fd, &expirations, sizeof expirations);
    for (int sent = 0; sent < BURST && !sender->is_stopped && sender->next < sender->plan->count;
         sent++) {
        int64_t now = clock_now_ns();

        if (due_ns(sender) > now)
            break;
        send_next(sender, now);
    }
    if (!sender->is_stopped && sender->next < sender->plan->count)
        arm(sender);
    else
        maybe_finished(sender);
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
        sender->slots[i].next = sender->free_slots;
        sender->free_slots = &sender->slots[i];
    }
    return 0;
}

static int open_client(struct sender *sender) {
    struct http_client_options options = {.host = sender->host,
                                          .port = sender->port,
                                          .connections = sender->connections,
                                          .queue = sender->connections,
                                          .connect_timeout_ms = (uint64_t)sender->timeout_ms};

    return http_client_open(&sender->client, sender->loop, &options);
}

/* The handles are closed by maybe_finished() from here on. */
static int start_timer(struct sender *sender) {
    int rc;

    rc = uv_poll_init(sender->loop, &sender->poll, sender->timer_fd);
    if (rc != 0)
        return rc;
    sender->poll.data = sender;
    sender->cut_timer.data = sender;
    (void)uv_timer_init(sender->loop, &sender->cut_timer);
    sender->open_handles = 3; /* the client is the third */
    sender->recorder->start_ns = clock_now_ns() + LEAD_NS;
    arm(sender);
    return uv_poll_start(&sender->poll, UV_READABLE, on_due);
}

static int start(struct sender *sender) {
    int rc = make_slots(sender);

    if (rc != 0)
        return rc;
    sender->timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
    if (sender->timer_fd < 0)
        return UV_EMFILE;
    rc = open_client(sender);
    if (rc != 0)
        return rc;
    rc = start_timer(sender);
    if (rc == 0)
        return 0;
    if (sender->open_handles == 0) { /* no poll handle: the client alone is to be closed */
        sender->open_handles = 1;
        close_client(sender);
    } else {
        sender->is_stopped = true;
        maybe_finished(sender);
    }
    fiber_event_wait(&sender->finished);
    return rc;
}

static void on_cut(uv_timer_t *timer) {
    close_client(timer->data);
}

void sender_stop(struct sender *sender, uint64_t grace_ms) {
    if (sender->is_stopped || sender->open_handles == 0)
        return;
    sender->is_stopped = true;
    maybe_finished(sender);
    if (!sender->is_closing)
        (void)uv_timer_start(&sender->cut_timer, on_cut, grace_ms, 0);
}

int sender_run(struct sender *sender) {
    int rc;

    sender->timer_fd = -1;
    if (sender->plan->count == 0)
        return 0;
    rc = start(sender);
    if (rc == 0)
        fiber_event_wait(&sender->finished);
    if (sender->timer_fd >= 0)
        (void)close(sender->timer_fd);
    free(sender->slots);
    return rc;
}
