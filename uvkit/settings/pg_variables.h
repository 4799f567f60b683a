/* The environment variables of libpq, such as PGHOSTADDR. Our programs connect where their settings
 * say, so they ignore these variables. libpq reads some at each connection, and three of them
 * override the connection string. So each of our programs removes them all at its start. */
#ifndef UVKIT_PG_VARIABLES_H
#define UVKIT_PG_VARIABLES_H

/* Remove libpq's variables from the environment: PG..., except PG_.... Call it once, before there
 * are threads. */
void pg_variables_forget(void);
/* Put them back, in a child that runs a command of the user's. */
void pg_variables_remember(void);

#endif
