/* Whom a request is for, and from which site it comes: what a browser cannot be made to lie about.
 *
 * A page of another site can have its own name lead to our address, and would then be let read what
 * we reply (DNS rebinding); it cannot change the name that its requests carry. A page can also send
 * us a POST across sites without being let read the reply; its Origin tells. */
#include "http_server_internal.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#define HOST_BYTES 300 /* the longest DNS name has 253; then a port */

static bool is_port(const char *text) {
    return *text == ':' && text[1 + strspn(text + 1, "0123456789")] == '\0';
}

static bool http_host_is_named(const char *names, const char *name) {
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
           (options->hosts != NULL && http_host_is_named(options->hosts, host));
}

static bool is_ours_of(const struct http_exchange *exchange, const char *text, size_t length) {
    char host[HOST_BYTES];

    return snprintf(host, sizeof host, "%.*s", (int)length, text) < HOST_BYTES &&
           is_ours(&exchange->inbound->server->options, host);
}

/* A target such as http://host/path names the host, too, and then more than Host does: RFC 9112,
 * 3.2.2. */
static bool is_host_ours(const struct http_exchange *exchange, const char *host) {
    const char *target = exchange->head.bytes;

    if (strncasecmp(target, "http://", 7) == 0 &&
        !is_ours_of(exchange, target + 7, strcspn(target + 7, "/?#")))
        return false;
    return host == NULL || is_ours_of(exchange, host, strlen(host)); /* HTTP/1.0 may have none */
}

static bool is_same_site(const char *origin, const char *host) {
    const char *mark = strstr(origin, "://"); /* a page without a site of its own says `null` */

    return mark != NULL && host != NULL && strcasecmp(mark + 3, host) == 0;
}

bool http_host_is_welcome(struct http_exchange *exchange) {
    const char *host = http_header(exchange, "Host"), *origin = http_header(exchange, "Origin");

    if (!is_host_ours(exchange, host))
        return http_exchange_refuse(
            exchange, 421, "foreign_host",
            exchange->inbound->server->options.hosts == NULL
                ? "ask by an address, such as 127.0.0.1, or by the name localhost"
                : "ask by an address, as localhost, or by a name that --allow-host gives");
    if (origin != NULL && !is_same_site(origin, host))
        return http_exchange_refuse(exchange, 403, "foreign_origin",
                                    "a page of another site may not ask");
    return true;
}
