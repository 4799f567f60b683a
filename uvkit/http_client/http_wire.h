/* A call as bytes: its request, and its reply as llhttp parses it. */
#ifndef UVKIT_HTTP_WIRE_H
#define UVKIT_HTTP_WIRE_H

#include "buffer.h"
#include "http_call.h"
#include "http_lines.h"

#include <llhttp.h>
#include <sys/types.h>

/* Zeroed before the first call. */
struct http_reply {
    struct http_call *call; /* that it answers; filled in by http_reply_expect() */
    llhttp_t parser;
    struct buffer body;
    size_t limit;            /* of the body's bytes */
    struct http_lines lines; /* of the head */
    const char *error;       /* why the parser was stopped by us */
    size_t name_length;      /* bytes of a header's name that were read */
    bool is_wanted;          /* and so far it is the name that the call wants */
    bool has_input, has_headers;
    bool is_complete, keeps_alive;
};

/* NULL, or what is wrong with the call. */
const char *http_request_flaw(const struct http_call *call);
/* Write the whole request in the place of what `request` has. False without memory. */
bool http_request_write(struct buffer *request, const struct http_call *call,
                        const char *authority);

void http_reply_expect(struct http_reply *reply, struct http_call *call, size_t limit);
/* Parse what uv_read_start() has got: sets is_complete and keeps_alive; else NULL, or why the
 * connection is of no more use. */
const char *http_reply_read(struct http_reply *reply, const char *bytes, ssize_t length);

#endif
