/* The bytes of a request: what a call may contain, and how it is written. */
#include "http_client_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* RFC 9110, 5.6.2. Returns the length of the token that `text` starts with. */
static size_t token_length(const char *text) {
    return strspn(text, "!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyz"
                        "ABCDEFGHIJKLMNOPQRSTUVWXYZ");
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

size_t http_request_build(struct http_client *client, const struct http_call *call) {
    static const char format[] = "%s %s HTTP/1.1\r\nHost: %s\r\n%s%s\r\n";
    const char *headers = call->headers != NULL ? call->headers : "";
    size_t body = call->body != NULL ? call->body_length : 0;
    char length_line[64];
    size_t head;

    format_length(call, length_line, sizeof length_line);
    head = sizeof format + strlen(call->method) + strlen(call->target) + strlen(client->authority) +
           strlen(headers) + strlen(length_line);
    if (!reserve(client, head + body))
        return 0;
    head = (size_t)snprintf(client->request, head, format, call->method, call->target,
                            client->authority, headers, length_line);
    if (body > 0)
        memcpy(client->request + head, call->body, body);
    return head + body;
}
