/* A call in a fiber, which waits for its end. */
#include "fiber.h"
#include "http_client.h"

#include <stdlib.h>

static void on_awaited_ended(struct http_call *call) {
    fiber_event_set(call->internal.awaited);
}

enum http_call_outcome http_call_await(struct http_client *client, struct http_call *call) {
    struct fiber_event ended = FIBER_EVENT_INIT;

    http_call_start(client, call, on_awaited_ended);
    call->internal.awaited = &ended; /* it ends later, from the loop */
    fiber_event_wait(&ended);
    return call->outcome;
}

void http_call_done(struct http_call *call) {
    free(call->internal.body);
    call->internal.body = NULL;
    call->reply = NULL;
    call->reply_length = 0;
}
