/* A request: llhttp parses it into the exchange; this file checks it, finds its handler, and
 * answers the handler's questions about it.
 *
 * llhttp is strict, and its lenient flags stay off. Beyond its checks, a request is refused when
 * two readers could disagree on its end: a field name with a space, a field over two lines, a
 * transfer coding that is not exactly `chunked`, chunks in HTTP/1.0, no Host. It is also refused
 * when a field that decides something comes twice. Trailers are read and dropped. */
#include "http_server_internal.h"

#include "json_flat.h"
#include "json_read.h"

#include <arpa/inet.h>
#include <assert.h>
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define HOST_BYTES 300 /* the longest DNS name has 253; then a port */

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

static bool refuse_malformed(struct http_exchange *exchange, const char *message) {
    return http_exchange_refuse(exchange, 400, "bad_request", message);
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

/* Control characters become spaces, so that no value starts a line of its own. Without a branch for
 * each character: the compiler takes many at once. */
static void http_request_clean(char *text, size_t length) {
    for (size_t i = 0; i < length; i++)
        text[i] = (unsigned char)text[i] < ' ' || text[i] == 0x7f ? ' ' : text[i];
}

/* Names are our own. */
void http_reply_header(struct http_exchange *exchange, const char *name, const char *value) {
    struct buffer *headers = &exchange->reply_headers;
    const size_t length = strlen(value);

    assert(!exchange->is_replied);
    if (!buffer_append_text(headers, name) || !buffer_append(headers, ": ", 2) ||
        !buffer_append(headers, value, length) || !buffer_append(headers, "\r\n", 2)) {
        exchange->has_lost_header = true;
        return;
    }
    http_request_clean(headers->bytes + headers->length - 2 - length, length);
}

/* ---- Its body as a JSON object, or a refusal that names the mistake */

bool http_body_is_json(const struct http_exchange *exchange) {
    const char *type = http_header(exchange, "Content-Type");

    return type == NULL || (strcspn(type, "; \t") == strlen("application/json") &&
                            strncasecmp(type, "application/json", strlen("application/json")) == 0);
}

json_t *http_body_json(struct http_exchange *exchange) {
    json_error_t error;
    size_t length;
    const char *body = http_body(exchange, &length);
    json_t *json;

    if (!http_body_is_json(exchange)) {
        http_reply_error(exchange, 415, "unsupported_media_type",
                         "send JSON, with Content-Type: application/json");
        return NULL;
    }
    json = json_read(body, length, &error);
    if (json == NULL)
        http_reply_error(exchange, 400, "bad_request", "not valid JSON: line %d, column %d: %s",
                         error.line, error.column, error.text);
    else if (!json_is_object(json))
        http_reply_error(exchange, 400, "bad_request", "send a JSON object");
    else
        return json;
    json_decref(json);
    return NULL;
}

bool http_body_uuid(struct http_exchange *exchange, const char *name, char uuid[UUID_TEXT],
                    const char *otherwise) {
    struct json_flat flat;
    size_t length;
    const char *bytes = http_body(exchange, &length);
    bool is_flat = http_body_is_json(exchange) && json_flat_read(&flat, bytes, length);
    json_t *body = is_flat ? NULL : http_body_json(exchange);
    const char *text =
        is_flat ? json_flat_text(&flat, name) : json_string_value(json_object_get(body, name));
    bool is_good = uuid_parse(text, uuid) == 0;

    if ((is_flat || body != NULL) && !is_good)
        http_reply_error(exchange, 400, "bad_request", "%s", otherwise);
    json_decref(body);
    return is_good;
}

/* ---- Its Host and its Origin, about which a browser cannot be made to lie
 *
 * A page of another site can let its own name lead to our address, and could then read our replies
 * (DNS rebinding). But it cannot change the name that its requests carry. A page can also send us a
 * POST across sites, without reading the reply: its Origin tells. */

static bool is_port(const char *text) {
    return *text == ':' && text[1 + strspn(text + 1, "0123456789")] == '\0';
}

static bool http_request_is_named(const char *names, const char *name) {
    size_t length = strlen(name), next;

    for (; length > 0 && *names != '\0'; names += next + (names[next] == ',')) {
        next = strcspn(names, ",");
        if (next == length && strncasecmp(names, name, length) == 0)
            return true;
    }
    return false;
}

/* `host` is a name, an IPv4 address or an IPv6 address in brackets, with or without a port. */
static bool is_ours(const struct http_server_options *options, char *host) {
    unsigned char address[sizeof(struct in6_addr)];
    bool is_ipv6 = *host == '[';
    char *end = host + strcspn(host, is_ipv6 ? "]" : ":");
    const char *port = is_ipv6 && *end != '\0' ? end + 1 : end;

    if ((*port != '\0' && !is_port(port)) || (is_ipv6 && *end != ']'))
        return false;
    *end = '\0';
    if (is_ipv6)
        return inet_pton(AF_INET6, host + 1, address) == 1;
    return inet_pton(AF_INET, host, address) == 1 || strcasecmp(host, "localhost") == 0 ||
           (options->hosts != NULL && http_request_is_named(options->hosts, host));
}

static bool is_ours_of(const struct http_exchange *exchange, const char *text, size_t length) {
    char host[HOST_BYTES];

    if (length >= sizeof host)
        return false;
    *(char *)mempcpy(host, text, length) = '\0';
    return is_ours(&exchange->inbound->server->options, host);
}

/* A target such as http://host/path names the host, too, and overrides the Host header: RFC 9112,
 * 3.2.2. */
static bool is_host_ours(const struct http_exchange *exchange, const char *host) {
    const char *target = exchange->head.bytes;

    if (strncasecmp(target, "http://", 7) == 0 &&
        !is_ours_of(exchange, target + 7, strcspn(target + 7, "/?#")))
        return false;
    return host == NULL || is_ours_of(exchange, host, strlen(host)); /* HTTP/1.0 may have no Host */
}

static bool is_same_site(const char *origin, const char *host) {
    const char *mark = strstr(origin, "://"); /* a page without its own site sends `null` */

    return mark != NULL && host != NULL && strcasecmp(mark + 3, host) == 0;
}

static bool http_request_is_welcome(struct http_exchange *exchange) {
    const char *host = http_header(exchange, "Host"), *origin = http_header(exchange, "Origin");

    if (!is_host_ours(exchange, host))
        return http_exchange_refuse(
            exchange, 421, "foreign_host",
            exchange->inbound->server->options.hosts == NULL
                ? "ask by an address, such as 127.0.0.1, or by localhost"
                : "ask by an address, by localhost, or by a name of --allow-host");
    if (origin != NULL && !is_same_site(origin, host))
        return http_exchange_refuse(exchange, 403, "foreign_origin",
                                    "a page of another site may not send requests");
    return true;
}

/* ---- Its handler: split the target, match it by segment, decode it */

/* The next character of percent-encoded text, and move `*at` past it; -1: a bad escape or NUL. */
static int decode_one(const char **at, const char *end, bool is_query) {
    const char *from = *at;
    int c;

    *at = from + 1;
    if (*from == '+' && is_query)
        return ' ';
    if (*from != '%')
        return (unsigned char)*from;
    if (end - from < 3 || !isxdigit((unsigned char)from[1]) || !isxdigit((unsigned char)from[2]))
        return -1;
    *at = from + 3;
    c = (int)strtol((char[]){from[1], from[2], '\0'}, NULL, 16);
    return c == 0 ? -1 : c;
}

/* Append the decoded text and a NUL to the parameters. This function and its callers return false
 * when the exchange is refused for it. */
static bool keep_decoded(struct http_exchange *exchange, const char *at, const char *end,
                         bool is_query) {
    while (at < end) {
        int c = decode_one(&at, end, is_query);
        char byte = (char)c;

        if (c < 0)
            return refuse_malformed(exchange, "a bad %-escape in the request target");
        if (!buffer_append(&exchange->params, &byte, 1))
            return http_exchange_refuse_for_memory(exchange);
    }
    return buffer_append(&exchange->params, "", 1) || http_exchange_refuse_for_memory(exchange);
}

static bool keep_query(struct http_exchange *exchange) {
    const char *query = exchange->query;

    while (*query != '\0') {
        const char *end = query + strcspn(query, "&");
        const char *name_end = query + strcspn(query, "=&");
        const char *value = name_end < end ? name_end + 1 : end;

        if (!keep_decoded(exchange, query, name_end, true) ||
            !keep_decoded(exchange, value, end, true))
            return false;
        query = *end == '&' ? end + 1 : end;
    }
    return true;
}

static bool is_placeholder(const char *segment) {
    return *segment == '{';
}

/* Both start with a slash. */
static bool is_match(const char *pattern, const char *path) {
    size_t pattern_length, length;

    while (*pattern == '/' && *path == '/') {
        pattern_length = strcspn(++pattern, "/");
        length = strcspn(++path, "/");
        if (is_placeholder(pattern)
                ? length == 0
                : pattern_length != length || memcmp(pattern, path, length) != 0)
            return false;
        pattern += pattern_length;
        path += length;
    }
    return *pattern == '\0' && *path == '\0';
}

/* For a path that matches its route: keep the name and the value of each placeholder. */
static bool keep_path_params(struct http_exchange *exchange) {
    const char *pattern = exchange->route->path, *path = exchange->path;

    while (*pattern == '/') {
        size_t pattern_length = strcspn(++pattern, "/");
        size_t length = strcspn(++path, "/");

        if (is_placeholder(pattern) &&
            (!keep_decoded(exchange, pattern + 1, pattern + pattern_length - 1, false) ||
             !keep_decoded(exchange, path, path + length, false)))
            return false;
        pattern += pattern_length;
        path += length;
    }
    return true;
}

/* Split "/path?query" or "http://host/path?query". */
static bool split_target(struct http_exchange *exchange) {
    char *target = exchange->head.bytes;
    char *question;

    if (strncasecmp(target, "http://", 7) == 0)
        target = strchr(target + 7, '/');
    if (target == NULL || *target != '/')
        return refuse_malformed(exchange, "the request target is not a path");
    question = strchr(target, '?');
    if (question != NULL)
        *question = '\0';
    exchange->path = target;
    exchange->query = question == NULL ? "" : question + 1;
    return true;
}

/* Find the first route that matches path and method. Otherwise tell which methods are allowed. */
static void find_route(struct http_exchange *exchange) {
    const struct http_route *route = exchange->inbound->server->options.routes;
    const char *method = exchange->is_head ? "GET" : exchange->method;
    char allow[128] = "";
    size_t length = 0;

    for (; route->method != NULL; route++) {
        if (!is_match(route->path, exchange->path))
            continue;
        if (strcmp(method, route->method) == 0) {
            exchange->route = route;
            return;
        }
        if (strstr(allow, route->method) == NULL && length < sizeof allow)
            length += (size_t)snprintf(allow + length, sizeof allow - length, "%s%s%s",
                                       length == 0 ? "" : ", ", route->method,
                                       strcmp(route->method, "GET") == 0 ? ", HEAD" : "");
    }
    if (length == 0) {
        (void)http_exchange_refuse(exchange, 404, "not_found", "there is nothing at this path");
        return;
    }
    http_reply_header(exchange, "Allow", allow);
    (void)http_exchange_refuse(exchange, 405, "method_not_allowed", "see the Allow header");
}

/* False: the refusal ends the connection. */
static bool find_handler(struct http_exchange *exchange) {
    if (!split_target(exchange))
        return false;
    find_route(exchange);
    assert((exchange->route == NULL) == (exchange->refusal.status != 0));
    if (exchange->route != NULL && !keep_path_params(exchange))
        return false;
    exchange->query_params_start = exchange->params.length;
    return keep_query(exchange);
}

/* ---- llhttp's callbacks */

static struct http_exchange *exchange_of(llhttp_t *parser) {
    struct http_inbound *inbound = parser->data;

    return &inbound->exchange;
}

static bool refuse_version(struct http_exchange *exchange) {
    return http_exchange_refuse(exchange, 505, "http_version", "speak HTTP/1.1 or HTTP/1.0");
}

/* llhttp 9 calls this an invalid version; earlier ones accept it. */
static bool refuse_bare_line(struct http_exchange *exchange) {
    return refuse_malformed(exchange, "end the request line with CRLF");
}

static void refuse_unparsed(struct http_exchange *exchange, const llhttp_t *parser) {
    llhttp_errno_t error = llhttp_get_errno(parser);

    if (exchange->lines.is_bare)
        (void)refuse_bare_line(exchange);
    else if (error == HPE_INVALID_VERSION || error == HPE_PAUSED_H2_UPGRADE)
        (void)refuse_version(exchange);
    else
        (void)refuse_malformed(exchange, llhttp_get_error_reason(parser));
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

/* The single fields that decide something: which order, which site, where the body ends. If one
 * came twice, a proxy might take the first and we the second. A proxy may also join two by a comma,
 * and no valid value of a field with `may_not_join` has one. */
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

/* The facts about the header fields that the checks below need. */
struct framing {
    unsigned seen;                /* bits: which of `singles` came */
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
        return refuse_malformed(exchange, "a header field goes over two lines");
    if (framing->has_bad_name)
        return refuse_malformed(exchange, "a header field has no valid name");
    if (framing->doubled != NULL)
        return refuse_malformed(exchange, framing->doubled->message);
    if (is_1_1 && !framing->has_host)
        return refuse_malformed(exchange, "send exactly one Host header");
    if (framing->has_coding && !is_1_1)
        return refuse_malformed(exchange, "HTTP/1.0 has no Transfer-Encoding");
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

/* False: the connection cannot go on, and `refusal` tells why. A refusal that leaves the framing
 * intact waits for the end of the body, unless the client waits for our 100 Continue first. */
static bool accept_head(struct http_exchange *exchange, llhttp_t *parser) {
    struct framing framing = look_at_fields(exchange);
    bool has_body = parser->content_length > 0 || (parser->flags & F_CHUNKED) != 0;

    if (!is_well_framed(exchange, parser, &framing))
        return false;
    if (!http_request_has_room(exchange, parser->content_length))
        return false;
    if (http_request_is_welcome(exchange) && !find_handler(exchange))
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
    parser->upgrade = 0; /* an offer that we decline */
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

    /* llhttp lets a trailer end the connection, too, and then accepts no more requests from it. */
    if (llhttp_should_keep_alive(parser) == 0)
        exchange->keeps_alive = false;
    if (http_request_keep(&exchange->body, parser, "", 1) ==
        0) /* so no body is NULL, and none without end */
        exchange->body.length--;
    else
        exchange->keeps_alive = false;
    return HPE_PAUSED;
}

static const llhttp_settings_t request_callbacks = {
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

void http_request_init(struct http_inbound *inbound) {
    inbound->exchange.inbound = inbound;
    llhttp_init(&inbound->parser, HTTP_REQUEST, &request_callbacks);
    inbound->parser.data = inbound;
    http_exchange_reset(&inbound->exchange);
}

/* Never parses more of a head than its limit. */
static size_t http_request_feedable(const struct http_inbound *inbound, size_t length) {
    const struct http_exchange *exchange = &inbound->exchange;
    size_t room = inbound->server->options.header_limit - exchange->head_bytes;

    return exchange->is_head_complete || length < room ? length : room;
}

/* The most bytes outside the body that a request may have. After the head come sizes and extensions
 * of chunks, and trailers: as many again, and enough to send the body in chunks of one byte. */
static size_t http_request_limit(const struct http_exchange *exchange) {
    size_t limit = exchange->inbound->server->options.header_limit;

    return exchange->is_head_complete ? 2 * limit + 8 * exchange->body.length : limit;
}

size_t http_request_feed(struct http_inbound *inbound, const char *bytes, size_t length) {
    struct http_exchange *exchange = &inbound->exchange;
    size_t taken = http_request_feedable(inbound, length), body_before = exchange->body.length;
    llhttp_errno_t error;

    (void)http_lines_look(&exchange->lines, bytes, taken);
    error = llhttp_execute(&inbound->parser, bytes, taken);
    exchange->is_whole = error == HPE_PAUSED;
    if (exchange->is_whole) {
        taken = (size_t)(llhttp_get_error_pos(&inbound->parser) - bytes);
    } else if (error != HPE_OK) {
        if (exchange->refusal.status == 0)
            refuse_unparsed(exchange, &inbound->parser);
        exchange->is_broken = true;
        return length;
    }
    exchange->head_bytes += taken - (exchange->body.length - body_before);
    if (exchange->head_bytes >= http_request_limit(exchange)) {
        (void)http_exchange_refuse(exchange, 431, "headers_too_large",
                                   "the headers are over the limit: send less");
        exchange->is_broken = true;
    } else if (exchange->is_whole) {
        llhttp_resume(&inbound->parser);
    }
    return taken;
}
