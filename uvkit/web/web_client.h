/* A client for any site over http and https: libcurl's multi interface on a libuv loop.
 *
 * Requests are made by visitors. A visitor has cookies of its own, and one request at a time.
 * Connections are shared by all visitors. A request is sent at most once: if a
 * kept connection ends before the reply, libcurl repeats the request, and this client stops that
 * repetition, because the first request may have had its effect.
 *
 * Proxies, netrc files and credentials of the environment are never used. Unless `any_address` is
 * set, the client connects to loopback and private addresses only. It checks each address at the
 * moment of the connection, so a name that changes its address gains nothing. */
#ifndef UVKIT_WEB_CLIENT_H
#define UVKIT_WEB_CLIENT_H

#include "web_request.h"

#include <uv.h>

struct web_client;

/* Zero means the default in brackets. */
struct web_client_options {
    bool any_address;       /* also connect to public addresses */
    size_t reply_limit;     /* bytes of a reply body, without its encodings [1 MiB] */
    const char *user_agent; /* copied [none is sent] */
};

/* 0; or a negative libuv code, and then there is nothing to undo. */
__attribute__((warn_unused_result)) int web_client_open(struct web_client **client, uv_loop_t *loop,
                                                        const struct web_client_options *options);

/* Close. Running requests end as if cancelled. Then `cb` runs exactly once, later, on the loop,
 * with the client freed; not before the last visitor is closed. No request may start after this
 * call. */
typedef void (*web_client_cb)(void *data);
void web_client_close(struct web_client *client, web_client_cb cb, void *data);

/* A new visitor without cookies; or NULL without memory. */
__attribute__((warn_unused_result)) struct web_visitor *web_visitor_open(struct web_client *client);
/* It must have no running request. */
void web_visitor_close(struct web_visitor *visitor);

/* Append the value that the visitor's cookie of this name has now. Returns 1; 0 without such a
 * cookie; -1 without memory. If sites of several names have set it, one of them counts. */
__attribute__((warn_unused_result)) int web_visitor_cookie(struct web_visitor *visitor,
                                                           const char *name, struct buffer *to);

/* Start a request. `cb` runs exactly once, later, on the loop, even if the request cannot be
 * sent. */
void web_request_start(struct web_visitor *visitor, struct web_request *request, web_request_cb cb);
/* Break off a request that was started. If it has not ended, its callback runs soon. */
void web_request_cancel(struct web_request *request);

#endif
