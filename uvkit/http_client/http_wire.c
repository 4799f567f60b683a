/* Checks and writes a call. Finds the end of its reply, its body, and whether the connection can
 * carry another call. */
#include "http_wire.h"

#include "decimal.h"

#include <string.h>
#include <strings.h>
#include <uv.h>

/* ---- The request */

/* RFC 9110, 5.6.2. */
static bool is_token_char(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           (c != '\0' && strchr("!#$%&'*+.^_`|~", c) != NULL);
}

/* Returns the length of the token that `text` starts with. */
static size_t token_length(const char *text) {
    size_t length = 0;

    while (is_token_char(text[length]))
        length++;
    return length;
}

static bool is_target(const char *target) {
    if (target[0] != '/')
        return false;
    for (; *target != '\0'; target++)
        if ((unsigned char)*target <= ' ' || *target == 0x7f)
            return false;
    return true;
}

static const char *skip_value(const char *value) {
    while (((unsigned char)*value >= ' ' && *value != 0x7f) || *value == '\t')
        value++;
    return value;
}

/* Is every line "name: value CR LF"? Then no value can add a line or a request of its own. */
static bool are_header_lines(const char *lines) {
    while (*lines != '\0') {
        size_t length = token_length(lines);

        if (length == 0 || lines[length] != ':')
            return false;
        lines = skip_value(lines + length);
        if (lines[0] != '\r' || lines[1] != '\n')
            return false;
        lines += 2;
    }
    return true;
}

const char *http_request_flaw(const struct http_call *call) {
    size_t method = token_length(call->method);

    if (method == 0 || call->method[method] != '\0' || !is_target(call->target))
        return "bad request line";
    if (call->headers != NULL && !are_header_lines(call->headers))
        return "bad header";
    return NULL;
}

/* A GET without a body has no Content-Length; a POST without one has length 0. */
static bool append_length(struct buffer *request, const struct http_call *call) {
    char digits[DECIMAL_BYTES];

    if (call->body == NULL &&
        (strcmp(call->method, "GET") == 0 || strcmp(call->method, "HEAD") == 0 ||
         strcmp(call->method, "DELETE") == 0))
        return true;
    (void)decimal_write(digits, call->body != NULL ? (int64_t)call->body_length : 0);
    return buffer_append_text(request, "Content-Length: ") && buffer_append_text(request, digits) &&
           buffer_append_text(request, "\r\n");
}

bool http_request_write(struct buffer *request, const struct http_call *call,
                        const char *authority) {
    request->length = 0;
    return buffer_append_text(request, call->method) && buffer_append_text(request, " ") &&
           buffer_append_text(request, call->target) &&
           buffer_append_text(request, " HTTP/1.1\r\nHost: ") &&
           buffer_append_text(request, authority) && buffer_append_text(request, "\r\n") &&
           (call->headers == NULL || buffer_append_text(request, call->headers)) &&
           append_length(request, call) && buffer_append_text(request, "\r\n") &&
           (call->body == NULL || buffer_append(request, call->body, call->body_length));
}

/* ---- The reply */

static int client_reply_stop(struct http_reply *reply, const char *why) {
    reply->error = why;
    return -1;
}

/* RFC 9112, 6.3. */
static bool is_without_body(unsigned status, const char *method) {
    return status < 200 || status == 204 || status == 304 || strcmp(method, "HEAD") == 0;
}

/* Names and values may come in pieces. Fields after the headers are trailers. */
static int on_header_field(llhttp_t *parser, const char *bytes, size_t length) {
    struct http_reply *reply = parser->data;
    const char *wanted = reply->call->want_header;

    if (reply->name_length == 0)
        reply->is_wanted = wanted != NULL && !reply->has_headers;
    reply->is_wanted = reply->is_wanted && length <= strlen(wanted) - reply->name_length &&
                       strncasecmp(wanted + reply->name_length, bytes, length) == 0;
    reply->name_length += length;
    return 0;
}

static void client_reply_append(char *header, const char *bytes, size_t length) {
    size_t used = strlen(header);

    if (length > HTTP_CALL_HEADER_BYTES - 1 - used)
        length = HTTP_CALL_HEADER_BYTES - 1 - used;
    memcpy(header + used, bytes, length);
    header[used + length] = '\0';
}

static int on_header_field_complete(llhttp_t *parser) {
    struct http_reply *reply = parser->data;
    struct http_call *call = reply->call;

    reply->is_wanted = reply->is_wanted && reply->name_length == strlen(call->want_header);
    reply->name_length = 0;
    if (reply->is_wanted && call->header[0] != '\0')
        client_reply_append(call->header, ", ", 2);
    return 0;
}

static int on_header_value(llhttp_t *parser, const char *bytes, size_t length) {
    struct http_reply *reply = parser->data;

    if (reply->is_wanted)
        client_reply_append(reply->call->header, bytes, length);
    return 0;
}

static int client_reply_on_headers_complete(llhttp_t *parser) {
    struct http_reply *reply = parser->data;

    reply->has_headers = parser->status_code >= 200;
    if (parser->http_major != 1)
        return client_reply_stop(reply, "the reply is not HTTP/1.x");
    if (reply->lines.is_folded)
        return client_reply_stop(reply, "a header of the reply goes over two lines");
    if (parser->status_code == 101)
        return client_reply_stop(reply, "the server switched protocols unasked");
    if (is_without_body(parser->status_code, reply->call->method))
        return 1; /* tells llhttp that there is no body, despite the headers */
    if (reply->call->on_part == NULL && parser->content_length > reply->limit)
        return client_reply_stop(reply, "the reply is too large");
    return 0;
}

static int client_reply_on_body(llhttp_t *parser, const char *bytes, size_t length) {
    struct http_reply *reply = parser->data;
    struct http_call *call = reply->call;

    if (call->on_part != NULL)
        return call->on_part(call, bytes, length) ? 0 : client_reply_stop(reply, "broken off");
    if (length > reply->limit - reply->body.length)
        return client_reply_stop(reply, "the reply is too large");
    if (!buffer_append(&reply->body, bytes, length) || !buffer_append(&reply->body, "", 1))
        return client_reply_stop(reply, "out of memory for the reply");
    reply->body.length--; /* the NUL stays until more bytes come */
    return 0;
}

static int client_reply_on_message_complete(llhttp_t *parser) {
    struct http_reply *reply = parser->data;

    if (parser->status_code < 200) { /* an interim reply: the real one follows */
        reply->call->header[0] = '\0';
        reply->lines = (struct http_lines){0};
        return 0;
    }
    reply->is_complete = true;
    reply->keeps_alive = llhttp_should_keep_alive(parser) == 1;
    return HPE_PAUSED;
}

static const llhttp_settings_t reply_callbacks = {
    .on_header_field = on_header_field,
    .on_header_field_complete = on_header_field_complete,
    .on_header_value = on_header_value,
    .on_headers_complete = client_reply_on_headers_complete,
    .on_body = client_reply_on_body,
    .on_message_complete = client_reply_on_message_complete};

void http_reply_expect(struct http_reply *reply, struct http_call *call, size_t limit) {
    call->header[0] = '\0';
    llhttp_init(&reply->parser, HTTP_RESPONSE, &reply_callbacks);
    reply->parser.data = reply;
    reply->call = call;
    reply->limit = limit;
    reply->body.length = 0;
    reply->lines = (struct http_lines){0};
    reply->error = NULL;
    reply->name_length = 0;
    reply->is_wanted = reply->has_input = reply->has_headers = false;
    reply->is_complete = reply->keeps_alive = false;
}

static const char *http_reply_parse(struct http_reply *reply, const char *bytes, size_t length) {
    const char *end = bytes + length;
    llhttp_errno_t code = HPE_OK;

    reply->has_input = true;
    while (bytes < end && code == HPE_OK) { /* head by head: interim replies have their own */
        size_t taken = http_lines_look(&reply->lines, bytes, (size_t)(end - bytes));

        if (taken == 0) /* all the rest is body */
            taken = (size_t)(end - bytes);
        code = llhttp_execute(&reply->parser, bytes, taken);
        bytes += taken;
    }
    if (reply->is_complete) {
        if (llhttp_get_error_pos(&reply->parser) != end)
            reply->keeps_alive = false; /* more bytes than one reply: do not trust the connection */
        return NULL;
    }
    if (code == HPE_OK)
        return NULL;
    return reply->error != NULL ? reply->error : "malformed reply";
}

static const char *http_reply_parse_end(struct http_reply *reply) {
    if (reply->has_input)
        (void)llhttp_finish(&reply->parser); /* may complete a reply that ends here */
    reply->keeps_alive = false;
    if (reply->is_complete)
        return NULL;
    return reply->has_input ? "the connection closed in the middle of the reply"
                            : "the connection closed before the reply";
}

const char *http_reply_read(struct http_reply *reply, const char *bytes, ssize_t length) {
    if (length == UV_EOF)
        return http_reply_parse_end(reply);
    if (length < 0)
        return uv_strerror((int)length);
    return http_reply_parse(reply, bytes, (size_t)length);
}
