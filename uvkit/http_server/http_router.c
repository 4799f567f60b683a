/* Which handler a request is for: the target taken apart, matched by segment, and decoded. */
#include "http_server_internal.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

static int hex_digit(char c) {
    if (c >= '0' && c <= '9')
        return c - '0';
    c = (char)(c | 0x20);
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* The next character of percent-encoded text, with `*at` moved past it; -1: a bad escape or NUL. */
static int decode_one(const char **at, const char *end, bool is_query) {
    const char *from = *at;
    int high, low;

    *at = from + 1;
    if (*from == '+' && is_query)
        return ' ';
    if (*from != '%')
        return (unsigned char)*from;
    if (end - from < 3)
        return -1;
    high = hex_digit(from[1]);
    low = hex_digit(from[2]);
    *at = from + 3;
    return high < 0 || low < 0 || high + low == 0 ? -1 : high * 16 + low;
}

enum outcome { FINE, MALFORMED, NO_MEMORY };

/* Append the decoded text and a NUL to the parameters. */
static enum outcome keep_decoded(struct buffer *params, const char *at, const char *end,
                                 bool is_query) {
    int c;
    char byte;

    while (at < end) {
        c = decode_one(&at, end, is_query);
        if (c < 0)
            return MALFORMED;
        byte = (char)c;
        if (!buffer_append(params, &byte, 1))
            return NO_MEMORY;
    }
    return buffer_append(params, "", 1) ? FINE : NO_MEMORY;
}

static enum outcome keep_param(struct buffer *params, const char *name, size_t name_length,
                               const char *value, const char *value_end) {
    if (!buffer_append(params, name, name_length) || !buffer_append(params, "", 1))
        return NO_MEMORY;
    return keep_decoded(params, value, value_end, false);
}

static enum outcome keep_query(struct buffer *params, const char *query) {
    while (*query != '\0') {
        const char *end = query + strcspn(query, "&");
        const char *name_end = query + strcspn(query, "=&");
        const char *value = name_end < end ? name_end + 1 : end;
        enum outcome outcome = keep_decoded(params, query, name_end, true);

        if (outcome == FINE)
            outcome = keep_decoded(params, value, end, true);
        if (outcome != FINE)
            return outcome;
        query = *end == '&' ? end + 1 : end;
    }
    return FINE;
}

static bool is_placeholder(const char *segment) {
    return *segment == '{';
}

static bool is_same_segment(const char *pattern, size_t pattern_length, const char *segment,
                            size_t length) {
    if (is_placeholder(pattern))
        return length > 0;
    return pattern_length == length && memcmp(pattern, segment, length) == 0;
}

/* Both begin with a slash. */
static bool is_match(const char *pattern, const char *path) {
    size_t pattern_length, length;

    while (*pattern == '/' && *path == '/') {
        pattern_length = strcspn(++pattern, "/");
        length = strcspn(++path, "/");
        if (!is_same_segment(pattern, pattern_length, path, length))
            return false;
        pattern += pattern_length;
        path += length;
    }
    return *pattern == '\0' && *path == '\0';
}

static enum outcome keep_path_params(struct buffer *params, const char *pattern, const char *path) {
    enum outcome outcome = FINE;

    while (*pattern == '/' && outcome == FINE) {
        size_t pattern_length = strcspn(++pattern, "/");
        size_t length = strcspn(++path, "/");

        if (is_placeholder(pattern))
            outcome = keep_param(params, pattern + 1, pattern_length - 2, path, path + length);
        pattern += pattern_length;
        path += length;
    }
    return outcome;
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

static bool is_method(const struct http_exchange *exchange, const char *method) {
    return strcmp(method, exchange->is_head ? "GET" : exchange->method) == 0;
}

/* Find the first route that matches path and method; else say what would have been allowed. */
static void find_route(struct http_exchange *exchange) {
    const struct http_route *route = exchange->inbound->server->options.routes;
    char allow[128] = "";
    size_t length = 0;

    for (; route->method != NULL; route++) {
        if (!is_match(route->path, exchange->path))
            continue;
        if (is_method(exchange, route->method)) {
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
    enum outcome outcome = FINE;

    if (!split_target(exchange))
        return false;
    find_route(exchange);
    if (exchange->route != NULL)
        outcome = keep_path_params(&exchange->params, exchange->route->path, exchange->path);
    exchange->query_params_start = exchange->params.length;
    if (outcome == FINE)
        outcome = keep_query(&exchange->params, exchange->query);
    if (outcome == MALFORMED)
        return http_exchange_refuse(exchange, 400, "bad_request",
                                    "a bad %-escape in the request target");
    if (outcome == NO_MEMORY)
        return http_exchange_refuse_for_memory(exchange);
    return true;
}
