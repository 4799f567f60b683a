/* Asks the target before a run, over HTTP. */
#include "target.h"

#include "clock.h"
#include "fiber.h"
#include "http_client.h"
#include "json_read.h"
#include "text_copy.h"
#include "user_command.h"

#include <netdb.h>
#include <stdio.h>

#define CALL_MS 10000

struct lookup {
    struct fiber_event done;
    struct addrinfo *addresses;
};

static void target_on_resolved(uv_getaddrinfo_t *request, int status, struct addrinfo *addresses) {
    struct lookup *lookup = request->data;

    lookup->addresses = status == 0 ? addresses : NULL;
    fiber_event_set(&lookup->done);
}

/* Prefers IPv4: a service on a name such as localhost listens there. */
static const struct addrinfo *target_choose(const struct addrinfo *addresses) {
    const struct addrinfo *at = addresses;

    while (at != NULL && at->ai_family != AF_INET)
        at = at->ai_next;
    return at != NULL ? at : addresses;
}

/* Looks up the name before the run: a client would look it up for each connection. Among containers
 * a look-up takes some milliseconds, and makes a request late. An unknown name stays; the first
 * call reports it. */
static void resolve_host(struct target *target, uv_loop_t *loop) {
    static const struct addrinfo hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM};
    struct lookup lookup = {.done = FIBER_EVENT_INIT};
    uv_getaddrinfo_t request = {.data = &lookup};
    const struct addrinfo *chosen;

    if (uv_getaddrinfo(loop, &request, target_on_resolved, target->host, NULL, &hints) != 0)
        return;
    fiber_event_wait(&lookup.done);
    chosen = target_choose(lookup.addresses);
    if (chosen != NULL)
        (void)getnameinfo(chosen->ai_addr, chosen->ai_addrlen, target->host, sizeof target->host,
                          NULL, 0, NI_NUMERICHOST);
    uv_freeaddrinfo(lookup.addresses);
}

int target_open(struct target *target, uv_loop_t *loop, const char *url, struct why *why) {
    struct http_client_options options = {
        .host = target->host, .name = target->name, .connections = 1};
    int rc = http_origin_parse(url, target->name, sizeof target->name, &target->port);

    options.port = target->port;
    if (rc == 0) {
        text_copy(target->host, sizeof target->host, target->name);
        resolve_host(target, loop);
    }
    if (rc == 0)
        rc = http_client_open(&target->client, loop, &options);
    if (rc != 0)
        why_set(why, "--target %s: %s; write it like http://127.0.0.1:8000", url, uv_strerror(rc));
    return rc == 0 ? 0 : -1;
}

static void target_on_client_closed(void *data) {
    fiber_event_set(data);
}

void target_close(struct target *target) {
    struct fiber_event closed = FIBER_EVENT_INIT;

    if (target->client == NULL)
        return;
    http_client_close(target->client, target_on_client_closed, &closed);
    fiber_event_wait(&closed);
    target->client = NULL;
}

/* The `message` of an error reply, or its status. */
static void tell_error(const struct http_call *call, const char *path, struct why *why) {
    json_t *reply = json_read(call->reply, call->reply_length, NULL);
    const char *message = json_string_value(json_object_get(reply, "message"));

    if (message != NULL)
        why_set(why, "%s", message);
    else
        why_set(why, "the target answers %s with status %d", path, call->status);
    json_decref(reply);
}

/* GET `path`. If `reply` is given, a 200 sets it to its JSON, or to NULL without JSON. */
static enum target_result target_get(struct target *target, const char *path, json_t **reply,
                                     struct why *why) {
    struct http_call call = {
        .method = "GET", .target = path, .deadline_ms = clock_now_ms() + CALL_MS};
    enum target_result result = TARGET_OK;

    if (http_call_await(target->client, &call) != HTTP_CALL_ANSWERED) {
        why_set(why,
                "the target http://%s:%d cannot be reached: %s. Start it with %s, or "
                "name another with --target",
                target->host, target->port, call.error != NULL ? call.error : "no answer",
                user_command(USER_UP));
        result = TARGET_UNREACHABLE;
    } else if (call.status != 200) {
        tell_error(&call, path, why);
        result = call.status == 422 ? TARGET_REFUSED : TARGET_UNREACHABLE;
    } else if (reply != NULL) {
        *reply = json_read(call.reply, call.reply_length, NULL);
    }
    http_call_done(&call);
    return result;
}

enum target_result target_strategies(struct target *target, json_t **strategies, struct why *why) {
    json_t *reply = NULL;
    enum target_result result = target_get(target, "/strategies", &reply, why);

    *strategies = json_incref(json_object_get(reply, "strategies"));
    json_decref(reply);
    if (result == TARGET_OK && !json_is_array(*strategies)) {
        why_set(why, "the target http://%s:%d does not list its strategies", target->host,
                target->port);
        json_decref(*strategies);
        *strategies = NULL;
        return TARGET_UNREACHABLE;
    }
    return result;
}

enum target_result target_meet_product(struct target *target, const char *product_id,
                                       struct why *why) {
    char path[64];

    snprintf(path, sizeof path, "/products/%s", product_id);
    return target_get(target, path, NULL, why);
}

int64_t target_pending(struct target *target, const char *product_id) {
    char path[64];
    struct why why;
    json_t *reply = NULL;
    int64_t pending = 0;

    snprintf(path, sizeof path, "/products/%s", product_id);
    if (target_get(target, path, &reply, &why) == TARGET_OK)
        pending = json_integer_value(json_object_get(reply, "pending"));
    json_decref(reply);
    return pending;
}
