/* A port of 127.0.0.1 for a server of this test's own. */
#ifndef TEST_OWN_PORT_H
#define TEST_OWN_PORT_H

#include <stddef.h>

/* A port that no other program gets while this process runs. A socket stays bound to it, with
 * SO_REUSEADDR and without listening. So a server with SO_REUSEADDR may listen there, end, and
 * listen again, and in between connections are refused. */
int own_port(void);

/* Send this request on a new connection, and read the answer until the server ends it. "": the
 * server does not serve. `answer` and `request` may be the same memory. */
void own_port_ask(int port, const char *request, char *answer, size_t size);

#endif
