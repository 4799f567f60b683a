/* Parses an origin, and writes it. */
#include "http_origin.h"

#include "dial.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <uv.h>

static int http_origin_parse_port(const char *text, int *port) {
    size_t length = strspn(text, "0123456789");

    if (length == 0 || length > 5 || text[length] != '\0')
        return UV_EINVAL;
    *port = atoi(text);
    return *port >= 1 && *port <= 65535 ? 0 : UV_EINVAL;
}

int http_origin_parse(const char *url, char *host, size_t host_size, int *port) {
    static const char scheme[] = "http://";
    const char *start, *end;
    bool is_bracketed;

    if (strncasecmp(url, scheme, sizeof scheme - 1) != 0)
        return UV_EINVAL;
    start = url + sizeof scheme - 1;
    is_bracketed = *start == '[';
    start += is_bracketed;
    end = start + strcspn(start, is_bracketed ? "]" : ":");
    if ((size_t)(end - start) >= host_size || (is_bracketed && *end != ']'))
        return UV_EINVAL;
    memcpy(host, start, (size_t)(end - start));
    host[end - start] = '\0';
    end += is_bracketed;
    *port = 80;
    if (!dial_is_host(host) || (*end != '\0' && *end != ':'))
        return UV_EINVAL;
    return *end == ':' ? http_origin_parse_port(end + 1, port) : 0;
}

void http_origin_write(char *authority, size_t size, const char *host, int port) {
    bool is_v6 = strchr(host, ':') != NULL;
    char text[16] = "";

    if (port != 80)
        (void)snprintf(text, sizeof text, ":%d", port);
    (void)snprintf(authority, size, "%s%s%s%s", is_v6 ? "[" : "", host, is_v6 ? "]" : "", text);
}
