/* The addresses of a name, tried in turn until one answers.
 *
 * An address that refuses is left at once. A silent one is left after 250 ms, the delay of RFC
 * 8305, or after its share of the time to connect when that is shorter; when all were tried, the
 * silent ones get another round, with twice the patience. A single address has all the time. */
#ifndef UVKIT_ADDRESSES_H
#define UVKIT_ADDRESSES_H

#include <netdb.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

#define ADDRESS_TEXT 80

struct addresses {
    struct addrinfo *all;           /* of getaddrinfo(): the caller's to free; or NULL */
    const struct addrinfo *current; /* the one to try */
    unsigned count, tried, round;   /* tried: in this round */
    bool has_silent;                /* in this round */
    int64_t timeout_ms, until_ms;
};

/* Begin with `first` if it is among them; ss_family 0: with the first one. */
void addresses_begin(struct addresses *addresses, struct addrinfo *all,
                     const struct sockaddr_storage *first, int64_t now_ms, int64_t timeout_ms);
/* The moment to leave the current one. */
int64_t addresses_due_ms(const struct addresses *addresses, int64_t now_ms);
/* The current one has failed, or stayed silent. False: there is none left to try, or no time. */
bool addresses_next(struct addresses *addresses, bool is_silent, int64_t now_ms);

/* The host is an address, so that there is nothing to look up. */
bool address_is_literal(const char *host);
/* "127.0.0.1:80" or "[::1]:80". */
void address_text(char text[ADDRESS_TEXT], const struct sockaddr *address);
/* The host alone. */
void address_host(char text[ADDRESS_TEXT], const struct sockaddr *address);

#endif
