/* Names that lead where a test wants: a getaddrinfo() instead of the system's. */
#ifndef TEST_NAMES_H
#define TEST_NAMES_H

#define SILENT_TAKEN 4

/* From now on every name has these literal addresses, separated by spaces, in this order. NULL: the
 * system's addresses. */
void names_lead_to(const char *addresses);
/* Until names_let_go() the resolvers of those names hang. */
void names_hold(void);
void names_let_go(void);

/* An address that neither accepts nor refuses a connection, because its queue is full. */
struct silent {
    int listener, taken[SILENT_TAKEN];
};
void silent_start(struct silent *silent, const char *text, int port);
void silent_stop(struct silent *silent);

#endif
