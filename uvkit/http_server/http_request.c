/* One request as it arrives: what llhttp finds, kept in the exchange, checked, and looked up.
 *
 * llhttp is strict and its lenient flags stay off, and on top of its checks a request is refused
 * when two readers could disagree on where it ends: a field name with a space, a field over two
 * lines, a transfer coding that is not exactly `chunked`, chunks in HTTP/1.0, no Host. The same
 * holds for a field that decides something and comes twice.
 * Trailers are read and forgotten. */
#include "http_server_internal.h"

#include <string.h>
#include <strings.h>

static struct http_exchange *exchange_of(llhttp_t *parser) {
    struct http_inbound *inbound = parser->data;

    return &inbound->exchange;
}

static bool refuse_version(struct http_exchange *exchange) {
    return http_exchange_refuse(exchange, 505, "http_version", "speak HTTP/1.1 or HTTP/1.0");
}

/* llhttp 9 calls this an invalid version, and earlier ones take it. */
static bool refuse_bare_line(struct http_exchange *exchange) {
    return http_exchange_refuse(exchange, 400, "bad_request", "end the request line with CRLF");
}

void http_exchange_refuse_malformed(struct http_exchange *exchange, const llhttp_t *parser) {
    llhttp_errno_t error = llhttp_get_errno(parser);

    if (exchange->lines.is_bare)
        (void)refuse_bare_line(exchange);
    else if (error == HPE_INVALID_VERSION || error == HPE_PAUSED_H2_UPGRADE)
        (void)refuse_version(exchange);
    else
        (void)http_exchange_refuse(exchange, 400, "bad_request", llhttp_get_error_reason(parser));
}

static int http_request_keep(struct buffer *buffer, llhttp_t *parser, const char *at,
                             size_t length) {
    if (buffer_append(buffer, at, length))
        return 0;
    (void)http_exchange_refuse_for_memory(exchange_of(parser));
    return HPE_USER;
}

static int on_head_text(llhttp_t *parser, const char *at, size_t length) {
    struct http_exchange *exchange = exchange_of(parser);

    return exchange->is_head_complete ? 0 : http_request_keep(&exchange->head, parser, at, length);
}

static int on_url_complete(llhttp_t *parser) {
    struct http_exchange *exchange = exchange_of(parser);
    int err = http_request_keep(&exchange->head, parser, "", 1);

    exchange->headers_start = exchange->head.length;
    return err;
}

static int on_field_complete(llhttp_t *parser) {
    return on_head_text(parser, "", 1);
}

static int on_value_complete(llhttp_t *parser) {
    struct buffer *head = &exchange_of(parser)->head;

    if (exchange_of(parser)->is_head_complete)
        return 0;
    while (head->length > 0 && strchr(" \t", head->bytes[head->length - 1]) != NULL &&
           head->bytes[head->length - 1] != '\0')
        head->length--;
    return on_head_text(parser, "", 1);
}

/* The fields with one value that decide something: which order, which site, where the body ends.
 * Of two, a proxy may take one and we the other. A proxy may also join two of them by a comma,
 * which none of the values that `may_not_join` can have. */
static const struct single {
    const char *name;
    bool may_not_join;
    const char *message;
} singles[] = {
#define SINGLE(name, may_not_join)                                                                 \
    { name, may_not_join, "send " name " once, and with one value" }
    SINGLE("authorization", false), SINGLE("content-length", false),
    SINGLE("content-type", true),   SINGLE("expect", false),
    SINGLE("host", false),          SINGLE("idempotency-key", true),
    SINGLE("origin", true),         SINGLE("transfer-encoding", false),
    SINGLE("x-class-token", false),
#undef SINGLE
};

/* What the checks below need to know of the header fields. */
struct framing {
    unsigned seen;                /* bits: those of `singles` that came */
    const struct single *doubled; /* one that came twice, or NULL */
    bool has_host, has_coding, is_chunked_only, expects_continue, has_bad_name;
};

static void look_at_single(struct framing *framing, const char *name, const char *value) {
    for (unsigned i = 0; i < sizeof singles / sizeof *singles; i++) {
        if ((*name | 0x20) != *singles[i].name || strcasecmp(name, singles[i].name) != 0)
            continue;
        if ((framing->seen & 1U << i) != 0 ||
            (singles[i].may_not_join && strchr(value, ',') != NULL))
            framing->doubled = &singles[i];
        framing->seen |= 1U << i;
        return;
    }
}

static void look_at_field(struct framing *framing, const char *name, const char *value) {
    look_at_single(framing, name, value);
    if (strcasecmp(name, "host") == 0) {
        framing->has_host = true;
    } else if (strcasecmp(name, "transfer-encoding") == 0) {
        framing->has_coding = true;
        framing->is_chunked_only = strcasecmp(value, "chunked") == 0;
    } else if (strcasecmp(name, "expect") == 0) {
        framing->expects_continue = strcasecmp(value, "100-continue") == 0;
    } else if (*name == '\0' || strchr(name, ' ') != NULL) {
        framing->has_bad_name = true;
    }
}

static struct framing look_at_fields(const struct http_exchange *exchange) {
    struct framing framing = {0};
    const char *name = exchange->head.bytes + exchange->headers_start;
    const char *end = exchange->head.bytes + exchange->head.length;
    const char *value;

    for (; name < end; name = value + strlen(value) + 1) {
        value = name + strlen(name) + 1;
        look_at_field(&framing, name, value);
    }
    return framing;
}

static bool is_well_framed(struct http_exchange *exchange, const llhttp_t *parser,
                           const struct framing *framing) {
    bool is_1_1 = parser->http_minor == 1;

    if (exchange->lines.is_bare)
        return refuse_bare_line(exchange);
    if (parser->http_major != 1 || !exchange->lines.is_http)
        return refuse_version(exchange);
    if (exchange->lines.is_folded)
        return http_exchange_refuse(exchange, 400, "bad_request",
                                    "a header field goes over two lines");
    if (framing->has_bad_name)
        return http_exchange_refuse(exchange, 400, "bad_request",
                                    "a header field has no valid name");
    if (framing->doubled != NULL)
        return http_exchange_refuse(exchange, 400, "bad_request", framing->doubled->message);
    if (is_1_1 && !framing->has_host)
        return http_exchange_refuse(exchange, 400, "bad_request", "send exactly one Host header");
    if (framing->has_coding && !is_1_1)
        return http_exchange_refuse(exchange, 400, "bad_request",
                                    "HTTP/1.0 has no Transfer-Encoding");
    if (framing->has_coding && !framing->is_chunked_only)
        return http_exchange_refuse(exchange, 501, "transfer_encoding",
                                    "the only transfer coding is chunked");
    return true;
}

static bool http_request_has_room(struct http_exchange *exchange, uint64_t more) {
    if (more <= exchange->inbound->server->options.body_limit - exchange->body.length)
        return true;
    return http_exchange_refuse(exchange, 413, "too_large",
                                "the body is over the limit: send less");
}

static void send_continue(struct http_inbound *inbound) {
    static char text[] = "HTTP/1.1 100 Continue\r\n\r\n";
    uv_buf_t buf = uv_buf_init(text, sizeof text - 1);

    http_inbound_send(inbound, &buf, 1);
}

/* False: the connection cannot go on, and `refusal` says why. A refusal that leaves the framing
 * intact waits for the end of the body, unless the client waits for our word before it sends one.
 */
static bool accept_head(struct http_exchange *exchange, llhttp_t *parser) {
    struct framing framing = look_at_fields(exchange);
    bool has_body = parser->content_length > 0 || (parser->flags & F_CHUNKED) != 0;

    if (!is_well_framed(exchange, parser, &framing))
        return false;
    if (!http_request_has_room(exchange, parser->content_length))
        return false;
    if (http_host_is_welcome(exchange) && !http_route(exchange))
        return false;
    exchange->keeps_alive = llhttp_should_keep_alive(parser) != 0;
    if (has_body && framing.expects_continue && parser->http_minor == 1) {
        if (exchange->refusal.status != 0)
            return exchange->keeps_alive = false;
        send_continue(exchange->inbound);
    }
    return true;
}

static int http_request_on_headers_complete(llhttp_t *parser) {
    struct http_exchange *exchange = exchange_of(parser);

    exchange->is_head_complete = true;
    exchange->method = llhttp_method_name(parser->method);
    exchange->is_head = parser->method == HTTP_HEAD;
    parser->upgrade = 0; /* an offer that we do not take up */
    return accept_head(exchange, parser) ? 0 : -1;
}

static int http_request_on_body(llhttp_t *parser, const char *at, size_t length) {
    struct http_exchange *exchange = exchange_of(parser);

    return http_request_has_room(exchange, length)
               ? http_request_keep(&exchange->body, parser, at, length)
               : HPE_USER;
}

static int on_chunk_header(llhttp_t *parser) {
    return http_request_has_room(exchange_of(parser), parser->content_length) ? 0 : HPE_USER;
}

static int http_request_on_message_complete(llhttp_t *parser) {
    struct http_exchange *exchange = exchange_of(parser);

    /* llhttp lets a trailer end the connection too, and then takes no more requests from it. */
    if (llhttp_should_keep_alive(parser) == 0)
        exchange->keeps_alive = false;
    if (http_request_keep(&exchange->body, parser, "", 1) ==
        0) /* so no body is NULL, and none without end */
        exchange->body.length--;
    else
        exchange->keeps_alive = false;
    return HPE_PAUSED;
}

const llhttp_settings_t http_request_callbacks = {
    .on_url = on_head_text,
    .on_url_complete = on_url_complete,
    .on_header_field = on_head_text,
    .on_header_field_complete = on_field_complete,
    .on_header_value = on_head_text,
    .on_header_value_complete = on_value_complete,
    .on_headers_complete = http_request_on_headers_complete,
    .on_chunk_header = on_chunk_header,
    .on_body = http_request_on_body,
    .on_message_complete = http_request_on_message_complete,
};
