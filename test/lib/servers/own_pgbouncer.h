/* A pgbouncer of this test's own before the Postgres of TEST_PG, in transaction mode. */
#ifndef TEST_OWN_PGBOUNCER_H
#define TEST_OWN_PGBOUNCER_H

#include <sys/types.h>

struct own_pgbouncer {
    pid_t pid;
    int port; /* of 127.0.0.1 */
    char folder[64];
    char url[128]; /* postgres://...; append parameters from "?" on; no password is needed */
};

/* Start it with `connections` to the server, which work in `schema`. It ends with this process
 * at the latest. */
void own_pgbouncer_start(struct own_pgbouncer *own, const char *schema, int connections);
void own_pgbouncer_stop(struct own_pgbouncer *own);

#endif
