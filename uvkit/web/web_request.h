/* One request of a web client, and its reply. */
#ifndef UVKIT_WEB_REQUEST_H
#define UVKIT_WEB_REQUEST_H

#include "buffer.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

enum web_outcome {
    WEB_ANSWERED, /* a complete reply arrived; see `status` */
    WEB_NOT_SENT, /* no byte of it was sent: `error` has the reason */
    WEB_UNKNOWN,  /* sent, but no complete reply was kept: `error` has the reason */
};

/* The parts of a conversation, as `on_talk` gets them. */
enum web_talk { WEB_TALK_NOTE, WEB_TALK_HEAD_OUT, WEB_TALK_HEAD_IN };

#define WEB_ERROR_BYTES 320

struct web_visitor;
struct web_request;

typedef void (*web_request_cb)(struct web_request *request);
typedef void (*web_talk_cb)(struct web_request *request, enum web_talk part, const char *bytes,
                            size_t length);

/* The caller owns it, zeroes it and fills in the first part. web_request_start() copies the
 * strings. After the callback the caller calls web_request_free(), and may then use the memory
 * again. */
struct web_request {
    const char *method; /* "POST" */
    const char *url;    /* http or https, printable ASCII */
    const char *const
        *headers;     /* lines "Name: value" without control characters, then NULL; or NULL */
    const char *body; /* or NULL: the request has none; HEAD must have none */
    size_t body_length;
    int64_t timeout_ms;  /* for everything; > 0 */
    bool follows;        /* redirects, at most 10, to http or https only */
    web_talk_cb on_talk; /* gets the heads and notes while the request runs; or NULL. It must not
                             call the client. */
    void *data;          /* the caller's */

    /* Filled in before the callback. */
    enum web_outcome outcome;
    int status;         /* of the last reply; 0: there was none */
    struct buffer head; /* the head of the last reply, unchanged */
    struct buffer
        reply; /* its body, without content encodings; a NUL follows it unless it is empty */
    int64_t started_ns; /* the call of web_request_start(), monotonic */
    int64_t sent_ns;    /* just before its first byte was written, monotonic; 0: not sent */
    /* Moments after started_ns, or 0 where it did not come to that. */
    int64_t connected_ns, first_byte_ns, total_ns;
    char error[WEB_ERROR_BYTES]; /* why it is not ANSWERED; else "" */
    bool is_forbidden;           /* the client may not connect to its address */

    struct {
        struct web_visitor *visitor;
        TAILQ_ENTRY(web_request) entry; /* in the list of running or of ended requests */
        web_request_cb cb;
        struct curl_slist *lines;
        unsigned sent; /* how often libcurl was about to send a request */
        bool is_running, is_too_large, is_out_of_memory;
        char refused[80]; /* the address that the client may not connect to */
        char curl_error[256];
    } internal;
};

/* The value of the first reply header of this name, in any case, from `after` on (NULL: from the
 * first header). Returns NULL when there is none. The value is not NUL-terminated. */
const char *web_reply_header(const struct web_request *request, const char *name, const char *after,
                             size_t *length);
/* Frees the reply. */
void web_request_free(struct web_request *request);

#endif
