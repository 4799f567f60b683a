/* A Postgres of this test's own, to be crashed and started again. */
#ifndef TEST_OWN_POSTGRES_H
#define TEST_OWN_POSTGRES_H

#include <sys/types.h>

struct own_postgres {
    pid_t pid;
    int port; /* of 127.0.0.1 */
    char folder[64];
    char url[96]; /* postgres://..., which takes parameters from "?" on; no password is asked */
};

/* Make it and start it: this takes seconds. It ends with this process at the latest. */
void own_postgres_start(struct own_postgres *own);
void own_postgres_stop(struct own_postgres *own);

/* It ends at once, without writing what it has in memory but not in its log. */
void own_postgres_crash(struct own_postgres *own);
/* At its port, with what its log has. */
void own_postgres_start_again(struct own_postgres *own);

#endif
