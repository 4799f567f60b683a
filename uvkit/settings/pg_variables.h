/* The variables of libpq, PGHOSTADDR and its like. Our programs connect to what their settings say,
 * so these variables are not for them. libpq reads some at each connection, and three of them win
 * over the connection string: a program of ours forgets them all at its start. */
#ifndef UVKIT_PG_VARIABLES_H
#define UVKIT_PG_VARIABLES_H

/* No variable of libpq's is in the environment any more: no PG..., but for PG_.... Once, before
 * there are threads. */
void pg_variables_forget(void);
/* They are there again: in a child, for a command of the user's. */
void pg_variables_remember(void);

#endif
