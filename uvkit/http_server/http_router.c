/* Which handler a request is for: the target taken apart, matched by segment, and decoded. */
#include "http_server_internal.h"

#include <assert.h>
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* The next character of percent-encoded text, with `*at` moved past it; -1: a bad escape or NUL. */
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

/* Append what is decoded and a NUL to the parameters. This, and what calls it, is false when the
 * exchange is refused for it. */
static bool keep_decoded(struct http_exchange *exchange, const char *at, const char *end,
                         bool is_query) {
    while (at < end) {
        int c = decode_one(&at, end, is_query);
        char byte = (char)c;

        if (c < 0)
            return http_exchange_refuse(exchange, 400, "bad_request",
                                        "a bad %-escape in the request target");
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

/* Both begin with a slash. */
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

/* Of a path that matches its route: the name of each placeholder, and what stands there. */
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

/* "/path?query" or "http://host/path?query". */
static bool split_target(struct http_exchange *exchange) {
    char *target = exchange->head.bytes;
    char *question;

    if (strncasecmp(target, "http://", 7) == 0)
        target = strchr(target + 7, '/');
    if (target == NULL || *target != '/')
        return http_exchange_refuse(exchange, 400, "bad_request",
                                    "the request target is not a path");
    question = strchr(target, '?');
    if (question != NULL)
        *question = '\0';
    exchange->path = target;
    exchange->query = question == NULL ? "" : question + 1;
    return true;
}

/* Find the first route that matches path and method; else say what would have been allowed. */
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

bool http_route(struct http_exchange *exchange) {
    if (!split_target(exchange))
        return false;
    find_route(exchange);
    assert((exchange->route == NULL) == (exchange->refusal.status != 0));
    if (exchange->route != NULL && !keep_path_params(exchange))
        return false;
    exchange->query_params_start = exchange->params.length;
    return keep_query(exchange);
}
