/* Checks the headers of a request. */
#include "guard.h"

#include <arpa/inet.h>
#include <assert.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/random.h>

#define HOST_BYTES 80 /* more than an address in brackets and a port */

/* Cuts off the port and the brackets. Returns NULL if it is no host. */
static const char *address_of(char host[HOST_BYTES]) {
    bool is_ipv6 = host[0] == '[';
    char *end = host + strcspn(host, is_ipv6 ? "]" : ":");
    const char *port = is_ipv6 && *end != '\0' ? end + 1 : end;

    if (is_ipv6 && *end == '\0')
        return NULL;
    if (*port != '\0' && (*port != ':' || port[1 + strspn(port + 1, "0123456789")] != '\0'))
        return NULL;
    *end = '\0';
    return host + is_ipv6;
}

static bool is_same_address(const char *a, const char *b) {
    unsigned char bytes_a[sizeof(struct in6_addr)], bytes_b[sizeof bytes_a];

    if (inet_pton(AF_INET, a, bytes_a) == 1 && inet_pton(AF_INET, b, bytes_b) == 1)
        return memcmp(bytes_a, bytes_b, sizeof(struct in_addr)) == 0;
    return inet_pton(AF_INET6, a, bytes_a) == 1 && inet_pton(AF_INET6, b, bytes_b) == 1 &&
           memcmp(bytes_a, bytes_b, sizeof bytes_a) == 0;
}

static bool is_loopback(const char *address) {
    unsigned char bytes[sizeof(struct in_addr)];

    return strcasecmp(address, "localhost") == 0 || is_same_address(address, "::1") ||
           (inet_pton(AF_INET, address, bytes) == 1 && bytes[0] == 127);
}

static bool guard_is_host(const char *host, const char *listen) {
    char text[HOST_BYTES];
    const char *address;

    if (host == NULL || snprintf(text, sizeof text, "%s", host) >= HOST_BYTES)
        return false;
    address = address_of(text);
    return address != NULL && (is_loopback(address) || is_same_address(address, listen));
}

/* The Origin must be http:// with the same Host. */
static bool guard_is_origin(const char *origin, const char *host) {
    static const char scheme[] = "http://";

    return origin != NULL && host != NULL && strncmp(origin, scheme, strlen(scheme)) == 0 &&
           strcasecmp(origin + strlen(scheme), host) == 0;
}

/* Takes the same time for every given token. */
static bool guard_is_token(const char *given, const char *token) {
    const size_t length = given != NULL ? strlen(given) : 0;
    volatile unsigned char differs = length != GUARD_TOKEN - 1;

    assert(strlen(token) == GUARD_TOKEN - 1); /* guard_init() made it */
    for (size_t i = 0; i < GUARD_TOKEN - 1; i++)
        differs |= (unsigned char)(token[i] ^ (i < length ? given[i] : 0));
    return differs == 0;
}

int guard_init(struct guard *guard, const char *listen) {
    unsigned char bytes[GUARD_TOKEN / 2];

    guard->listen = listen;
    if (getrandom(bytes, sizeof bytes, 0) != (ssize_t)sizeof bytes)
        return -1;
    for (size_t i = 0; i < sizeof bytes; i++)
        (void)snprintf(guard->token + 2 * i, 3, "%02x", bytes[i]);
    return 0;
}

const struct guard_refusal *guard_look(const struct guard *guard, const struct guard_headers *asked,
                                       bool is_change) {
    static const struct guard_refusal
        foreign_host = {421, "foreign_host",
                        "use localhost, a loopback address, or the address of --listen"},
        foreign_origin = {403, "foreign_origin", "only the page of this server may do this"},
        wrong_token = {403, "wrong_token",
                       "open the address that loadgen printed: its token changes at each start"};

    if (!guard_is_host(asked->host, guard->listen))
        return &foreign_host;
    if (is_change && !guard_is_origin(asked->origin, asked->host))
        return &foreign_origin;
    return is_change && !guard_is_token(asked->token, guard->token) ? &wrong_token : NULL;
}
