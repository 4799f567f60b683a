/* A port of 127.0.0.1 for a server of this test's own. */
#ifndef TEST_OWN_PORT_H
#define TEST_OWN_PORT_H

#include <stddef.h>

/* One that nobody else is given while this process runs: a socket stays bound to it, with
 * SO_REUSEADDR and without listening, so that a server with SO_REUSEADDR may listen there, end, and
 * listen again, and that connections are refused meanwhile. */
int own_port(void);

/* The answer to this request, on a new connection that the server ends; "": it does not
 * serve. `answer` may be where the request is. */
void own_port_ask(int port, const char *request, char *answer, size_t size);

#endif
