/* A call as bytes: its request, and its reply as llhttp parses it. */
#ifndef UVKIT_HTTP_WIRE_H
#define UVKIT_HTTP_WIRE_H

#include "buffer.h"
#include "http_call.h"
#include "http_lines.h"

#include <llhttp.h>
#include <sys/types.h>

/* Zero it before the first call. */
struct http_reply {
    struct http_call *call; /* the call that it answers, set by http_reply_expect() */
    llhttp_t parser;
    struct buffer body;
    size_t limit;            /* most bytes of the body */
    struct http_lines lines; /* of the head */
    const char *error;       /* why we stopped the parser */
    size_t name_length;      /* bytes of a header's name so far */
    bool is_wanted;          /* so far they match the header that the call wants */
    bool has_input, has_headers;
    bool is_complete, keeps_alive;
};

/* The flaw of a call, or NULL. */
const char *http_request_flaw(const struct http_call *call);
/* Replace the content of `request` by the whole request. False without memory. */
bool http_request_write(struct buffer *request, const struct http_call *call,
                        const char *authority);

void http_reply_expect(struct http_reply *reply, struct http_call *call, size_t limit);
/* Parse the bytes of uv_read_start(). Sets is_complete and keeps_alive. NULL; or the reason why the
 * connection cannot be used any more. */
const char *http_reply_read(struct http_reply *reply, const char *bytes, ssize_t length);

#endif
