/* The addresses of a name, tried in turn until one answers.
 *
 * An address that refuses is left at once. A silent one is left after 250 ms, the delay of RFC
 * 8305, or after its share of the time to connect if that is shorter. When all were tried, the
 * silent ones get another round, with twice the patience. A single address gets all the time. */
#ifndef UVKIT_ADDRESSES_H
#define UVKIT_ADDRESSES_H

#include <netdb.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

#define ADDRESS_TEXT 80

struct addresses {
    struct addrinfo *all;           /* of getaddrinfo(); the caller frees it; or NULL */
    const struct addrinfo *current; /* the one to try */
    unsigned count, tried, round;   /* tried: in this round */
    bool has_silent;                /* in this round */
    int64_t timeout_ms, until_ms;
};

/* Begin with `first` if it is one of them. ss_family 0: begin with the first in the list. */
void addresses_begin(struct addresses *addresses, struct addrinfo *all,
                     const struct sockaddr_storage *first, int64_t now_ms, int64_t timeout_ms);
/* The moment to leave the current address. */
int64_t addresses_due_ms(const struct addresses *addresses, int64_t now_ms);
/* The current address has failed, or stayed silent: go to the next. False: none is left, or no
 * time. */
bool addresses_next(struct addresses *addresses, bool is_silent, int64_t now_ms);

/* Is the host an address, so that nothing must be looked up? */
bool address_is_literal(const char *host);
/* Is it a loopback address or one of a private network (RFC 1918, RFC 4193), also as IPv4 in
 * IPv6? */
bool address_is_private(const struct sockaddr *address);
/* "127.0.0.1:80" or "[::1]:80". */
void address_text(char text[ADDRESS_TEXT], const struct sockaddr *address);
/* The host alone. */
void address_host(char text[ADDRESS_TEXT], const struct sockaddr *address);

#endif
