/* Names that lead where a test wants: a getaddrinfo() in place of the system's. */
#ifndef TEST_NAMES_H
#define TEST_NAMES_H

#define SILENT_TAKEN 4

/* From now on every name has these literal addresses, with spaces between, in this order; NULL:
 * those that the system knows. */
void names_lead_to(const char *addresses);
/* Until names_let_go() those names are not resolved: their resolvers hang. */
void names_hold(void);
void names_let_go(void);

/* An address that neither takes a connection nor refuses one: its queue is full. */
struct silent {
    int listener, taken[SILENT_TAKEN];
};
void silent_start(struct silent *silent, const char *text, int port);
void silent_stop(struct silent *silent);

#endif
