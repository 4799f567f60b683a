/* The HTTP client's one clock: the calls in the order of their deadlines, and a timer for whatever
 * is due first. What has been for longest is due first among the connections of a state, too, so
 * the oldest in each list is all that has to be looked at. */
#include "http_client_internal.h"

static int64_t due_in_state(const struct http_client *client, enum http_connection_state state,
                            uint64_t limit_ms) {
    const struct http_connection *oldest = http_client_oldest(client, state);

    return oldest != NULL ? oldest->since_ms + (int64_t)limit_ms : HTTP_CLIENT_NEVER_MS;
}

/* When the first of the addresses that are tried is left. */
static int64_t next_leave_ms(const struct http_client *client) {
    const struct http_connection *connection;
    int64_t due_ms = HTTP_CLIENT_NEVER_MS;

    if (client->has_several)
        TAILQ_FOREACH (connection, &client->connections[CONNECTION_OPENING], entry)
            if (connection->leave_ms < due_ms)
                due_ms = connection->leave_ms;
    return due_ms;
}

static int64_t next_due_ms(const struct http_client *client) {
    const struct http_call *call = TAILQ_FIRST(&client->running);
    int64_t opening = due_in_state(client, CONNECTION_OPENING, client->options.connect_timeout_ms);
    int64_t idle = due_in_state(client, CONNECTION_IDLE, client->options.idle_ms);
    int64_t leave = next_leave_ms(client);
    int64_t due = leave < client->retry_ms ? leave : client->retry_ms;

    if (call != NULL && call->deadline_ms < due)
        due = call->deadline_ms;
    if (opening < due)
        due = opening;
    return idle < due ? idle : due;
}

static void on_polled(uv_check_t *polled) {
    struct http_client *client = polled->data;

    (void)uv_check_stop(polled);
    (void)uv_timer_stop(&client->timer);
    http_client_expire(client);
    http_client_arm(client, next_due_ms(client));
}

/* After a stall of this process, timers run before input is read, and an answer may have come in
 * time. So let the loop read first; the timer keeps it from waiting long for that. */
static void client_deadline_on_timer(uv_timer_t *timer) {
    struct http_client *client = timer->data;
    int64_t due_ms = next_due_ms(client);

    if (due_ms > (int64_t)uv_now(client->loop)) {
        http_client_arm(client, due_ms);
        return;
    }
    (void)uv_check_start(&client->polled, on_polled); /* like the timer: cannot fail */
    (void)uv_timer_start(timer, client_deadline_on_timer, 1, 0);
}

/* A timer that fires too early only looks again; so it is set anew only for an earlier moment. */
void http_client_arm(struct http_client *client, int64_t due_ms) {
    int64_t now_ms = (int64_t)uv_now(client->loop);

    if (due_ms == HTTP_CLIENT_NEVER_MS || client->closing_handles > 0)
        return;
    if (uv_is_active((uv_handle_t *)&client->timer) && client->armed_ms <= due_ms)
        return;
    client->armed_ms = due_ms;
    (void)uv_timer_start(&client->timer,
                         client_deadline_on_timer, /* fails only without a callback */
                         due_ms > now_ms ? (uint64_t)(due_ms - now_ms) : 0, 0);
}

/* Deadlines mostly come in order, so the place is near the end. */
void http_client_run(struct http_client *client, struct http_call *call) {
    struct http_call *before = TAILQ_LAST(&client->running, http_calls);

    while (before != NULL && before->deadline_ms > call->deadline_ms)
        before = TAILQ_PREV(before, http_calls, internal.by_deadline);
    if (before != NULL)
        TAILQ_INSERT_AFTER(&client->running, before, call, internal.by_deadline);
    else
        TAILQ_INSERT_HEAD(&client->running, call, internal.by_deadline);
    call->internal.is_running = true;
    http_client_arm(client, call->deadline_ms);
}
