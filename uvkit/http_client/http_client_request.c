/* The bytes of a request: what a call may contain, and how it is written. */
#include "http_client_internal.h"

#include <stdio.h>
#include <stdlib.h>
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

/* Every line is "name: value CR LF", so that no value brings a line or a request of its own. */
static bool are_header_lines(const char *lines) {
    while (*lines != '\0') {
        size_t length = token_length(lines);

        if (length == 0 || lines[length] != ':')
            return false;
        for (lines += length; *lines != '\r'; lines++)
            if (*lines == '\0' || *lines == 0x7f || ((unsigned char)*lines < ' ' && *lines != '\t'))
                return false;
        if (lines[1] != '\n')
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
static void format_length(const struct http_call *call, char *line, size_t size) {
    bool is_without = strcmp(call->method, "GET") == 0 || strcmp(call->method, "HEAD") == 0 ||
                      strcmp(call->method, "DELETE") == 0;

    line[0] = '\0';
    if (call->body != NULL || !is_without)
        (void)snprintf(line, size, "Content-Length: %zu\r\n",
                       call->body != NULL ? call->body_length : 0);
}

static bool reserve(struct http_client *client, size_t length) {
    char *grown;

    if (length <= client->request_capacity)
        return true;
    grown = realloc(client->request, length * 2);
    if (grown == NULL)
        return false;
    client->request = grown;
    client->request_capacity = length * 2;
    return true;
}

static char *put(char *at, const char *text) {
    size_t length = strlen(text);

    memcpy(at, text, length);
    return at + length;
}

size_t http_request_build(struct http_client *client, const struct http_call *call) {
    const char *headers = call->headers != NULL ? call->headers : "";
    size_t body = call->body != NULL ? call->body_length : 0;
    char length_line[64];
    char *at;

    format_length(call, length_line, sizeof length_line);
    if (!reserve(client, strlen(call->method) + strlen(call->target) + strlen(client->authority) +
                             strlen(headers) + strlen(length_line) + body +
                             sizeof "  HTTP/1.1\r\nHost: \r\n\r\n"))
        return 0;
    at = put(client->request, call->method);
    at = put(at, " ");
    at = put(at, call->target);
    at = put(at, " HTTP/1.1\r\nHost: ");
    at = put(at, client->authority);
    at = put(at, "\r\n");
    at = put(at, headers);
    at = put(at, length_line);
    at = put(at, "\r\n");
    if (body > 0)
        memcpy(at, call->body, body);
    return (size_t)(at - client->request) + body;
}
