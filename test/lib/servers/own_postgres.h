/* A Postgres of this test's own, which the test may crash and start again. */
#ifndef TEST_OWN_POSTGRES_H
#define TEST_OWN_POSTGRES_H

#include <sys/types.h>

struct own_postgres {
    pid_t pid;
    int port; /* of 127.0.0.1 */
    char folder[64];
    char url[96]; /* postgres://...; append parameters from "?" on; no password is needed */
};

/* Create and start it, which takes seconds. It ends with this process at the latest. */
void own_postgres_start(struct own_postgres *own);
void own_postgres_stop(struct own_postgres *own);

/* End it at once: data in memory that is not in its log is lost. */
void own_postgres_crash(struct own_postgres *own);
/* Start it again at its port, with the data in its log. */
void own_postgres_start_again(struct own_postgres *own);

#endif
