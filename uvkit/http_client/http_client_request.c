/* The bytes of a request: what a call may contain, and how it is written. */
#include "http_client_internal.h"

#include "decimal.h"

#include <string.h>

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

/* Every line is "name: value CR LF", so that no value brings a line or a request of its own. */
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

/* A GET without a body says nothing of one; a POST without one says that it is empty. */
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

bool http_request_build(struct http_client *client, const struct http_call *call) {
    struct buffer *request = &client->request;

    request->length = 0;
    return buffer_append_text(request, call->method) && buffer_append_text(request, " ") &&
           buffer_append_text(request, call->target) &&
           buffer_append_text(request, " HTTP/1.1\r\nHost: ") &&
           buffer_append_text(request, client->authority) && buffer_append_text(request, "\r\n") &&
           (call->headers == NULL || buffer_append_text(request, call->headers)) &&
           append_length(request, call) && buffer_append_text(request, "\r\n") &&
           (call->body == NULL || buffer_append(request, call->body, call->body_length));
}
