/* The addresses of a name: their order, and the time for each one. */
#include "addresses.h"

#include <arpa/inet.h>
#include <assert.h>
#include <stdio.h>
#include <string.h>

#define PATIENCE_MS 250 /* RFC 8305, 8 */

void addresses_begin(struct addresses *addresses, struct addrinfo *all,
                     const struct sockaddr_storage *first, int64_t now_ms, int64_t timeout_ms) {
    *addresses = (struct addresses){
        .all = all, .current = all, .timeout_ms = timeout_ms, .until_ms = now_ms + timeout_ms};
    for (struct addrinfo *each = all; each != NULL; each = each->ai_next) {
        addresses->count++;
        if (each->ai_addrlen <= sizeof *first && first->ss_family == each->ai_family &&
            memcmp(first, each->ai_addr, each->ai_addrlen) == 0)
            addresses->current = each;
    }
}

int64_t addresses_due_ms(const struct addresses *addresses, int64_t now_ms) {
    int64_t patience_ms = (int64_t)PATIENCE_MS << (addresses->round < 16 ? addresses->round : 16);
    int64_t share_ms = addresses->timeout_ms / (addresses->count > 0 ? addresses->count : 1);
    int64_t due_ms = now_ms + (share_ms < patience_ms ? share_ms : patience_ms);

    return addresses->count < 2 || due_ms > addresses->until_ms ? addresses->until_ms : due_ms;
}

bool addresses_next(struct addresses *addresses, bool is_silent, int64_t now_ms) {
    if (addresses->count < 2 || now_ms >= addresses->until_ms)
        return false;
    assert(addresses->current != NULL && addresses->tried < addresses->count);
    addresses->has_silent |= is_silent;
    addresses->tried++;
    if (addresses->tried == addresses->count) {
        if (!addresses->has_silent)
            return false;
        addresses->tried = 0;
        addresses->has_silent = false;
        addresses->round++;
    }
    addresses->current =
        addresses->current->ai_next != NULL ? addresses->current->ai_next : addresses->all;
    return true;
}

bool address_is_literal(const char *host) {
    unsigned char address[sizeof(struct in6_addr)];

    return inet_pton(AF_INET, host, address) == 1 || inet_pton(AF_INET6, host, address) == 1;
}

static bool is_private_v4(uint32_t host) {
    return host >> 24 == 127 || host >> 24 == 10 || host >> 20 == 0xac1 || host >> 16 == 0xc0a8;
}

bool address_is_private(const struct sockaddr *address) {
    const struct in6_addr *v6 = &((const struct sockaddr_in6 *)address)->sin6_addr;
    uint32_t mapped;

    if (address->sa_family == AF_INET)
        return is_private_v4(ntohl(((const struct sockaddr_in *)address)->sin_addr.s_addr));
    if (address->sa_family != AF_INET6)
        return false;
    memcpy(&mapped, v6->s6_addr + 12, sizeof mapped);
    return IN6_IS_ADDR_LOOPBACK(v6) || (v6->s6_addr[0] & 0xfe) == 0xfc ||
           (IN6_IS_ADDR_V4MAPPED(v6) && is_private_v4(ntohl(mapped)));
}

void address_host(char text[ADDRESS_TEXT], const struct sockaddr *address) {
    if (getnameinfo(address,
                    address->sa_family == AF_INET6 ? sizeof(struct sockaddr_in6)
                                                   : sizeof(struct sockaddr_in),
                    text, ADDRESS_TEXT, NULL, 0, NI_NUMERICHOST) != 0)
        (void)snprintf(text, ADDRESS_TEXT, "?");
}

void address_text(char text[ADDRESS_TEXT], const struct sockaddr *address) {
    bool is_v6 = address->sa_family == AF_INET6;
    char host[ADDRESS_TEXT];

    address_host(host, address);
    (void)snprintf(text, ADDRESS_TEXT, "%s%.60s%s:%d", is_v6 ? "[" : "", host, is_v6 ? "]" : "",
                   ntohs(is_v6 ? ((const struct sockaddr_in6 *)address)->sin6_port
                               : ((const struct sockaddr_in *)address)->sin_port));
}
