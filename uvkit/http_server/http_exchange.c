/* One exchange: the request as it was kept, why it is refused, and the headers of its reply. */
#include "http_server_internal.h"

#include <assert.h>
#include <string.h>
#include <strings.h>

bool http_exchange_refuse(struct http_exchange *exchange, int status, const char *code,
                          const char *message) {
    assert(status >= 400);
    exchange->refusal = (struct http_refusal){status, code, message};
    return false;
}

bool http_exchange_refuse_for_memory(struct http_exchange *exchange) {
    return http_exchange_refuse(exchange, 503, "out_of_memory",
                                "the server is short of memory: retry");
}

void http_exchange_reset(struct http_exchange *exchange) {
    buffer_reset(&exchange->head);
    buffer_reset(&exchange->body);
    buffer_reset(&exchange->params);
    buffer_reset(&exchange->reply_headers);
    *exchange = (struct http_exchange){.inbound = exchange->inbound,
                                       .head = exchange->head,
                                       .body = exchange->body,
                                       .params = exchange->params,
                                       .reply_headers = exchange->reply_headers,
                                       .method = "",
                                       .path = "",
                                       .query = ""};
}

void http_exchange_free(struct http_exchange *exchange) {
    buffer_free(&exchange->head);
    buffer_free(&exchange->body);
    buffer_free(&exchange->params);
    buffer_free(&exchange->reply_headers);
}

/* The value of `name` in a part of a buffer that holds name NUL value NUL name NUL ... */
static const char *http_exchange_find(const struct buffer *list, size_t from, size_t to,
                                      const char *name,
                                      int (*compare)(const char *, const char *)) {
    const char *at, *end, *value;

    assert(from <= to && to <= list->length);
    if (from == to)
        return NULL;
    end = list->bytes + to;
    for (at = list->bytes + from; at < end; at = value + strlen(value) + 1) {
        value = at + strlen(at) + 1;
        if (compare(at, name) == 0)
            return value;
    }
    return NULL;
}

const char *http_header(const struct http_exchange *exchange, const char *name) {
    return http_exchange_find(&exchange->head, exchange->headers_start, exchange->head.length, name,
                              strcasecmp);
}

const char *http_path_param(const struct http_exchange *exchange, const char *name) {
    return http_exchange_find(&exchange->params, 0, exchange->query_params_start, name, strcmp);
}

const char *http_query_param(const struct http_exchange *exchange, const char *name) {
    return http_exchange_find(&exchange->params, exchange->query_params_start,
                              exchange->params.length, name, strcmp);
}

const char *http_body(const struct http_exchange *exchange, size_t *length) {
    *length = exchange->body.length;
    return exchange->body.bytes;
}

static bool is_sane_id(const char *id) {
    size_t length = strspn(id, "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-_.");

    return length > 0 && length <= 64 && id[length] == '\0';
}

const char *http_request_id(const struct http_exchange *exchange) {
    const char *given = http_header(exchange, "X-Request-Id");

    return given != NULL && is_sane_id(given) ? given : exchange->id;
}

/* Control characters become spaces, so that no value starts a line of its own. */
static bool append_clean(struct buffer *buffer, const char *text) {
    size_t from = buffer->length;

    if (!buffer_append_text(buffer, text))
        return false;
    for (; from < buffer->length; from++)
        if ((unsigned char)buffer->bytes[from] < ' ' || buffer->bytes[from] == 0x7f)
            buffer->bytes[from] = ' ';
    return true;
}

void http_reply_header(struct http_exchange *exchange, const char *name, const char *value) {
    struct buffer *headers = &exchange->reply_headers;

    assert(!exchange->is_replied);
    if (!append_clean(headers, name) || !buffer_append_text(headers, ": ") ||
        !append_clean(headers, value) || !buffer_append_text(headers, "\r\n"))
        exchange->has_lost_header = true;
}
