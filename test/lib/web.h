/* For tests of handlers: a server with some routes, and a client that calls them. */
#ifndef TEST_WEB_H
#define TEST_WEB_H

#include "http_client.h"
#include "http_server.h"

struct web {
    uv_loop_t *loop;
    struct http_server *server;
    struct http_client *client;
    json_t *json; /* of the last reply */
    unsigned open;
};

void web_open(struct web *web, uv_loop_t *loop, const struct http_route *routes, void *data);
void web_close(struct web *web);

/* A call and its reply. */
struct web_call {
    const char *method, *target, *headers, *body; /* the last two may be NULL */
    int status;                                   /* 0: no reply */
    char text[32000];
    char timing[HTTP_CALL_HEADER_BYTES]; /* its Server-Timing header */
    const json_t *json; /* owned by the web until its next call; NULL: the reply is no JSON */
    bool is_done;
};

/* Call and wait for the end; returns the status. */
int web_call(struct web *web, struct web_call *call);

#endif
