/* Locks on a Postgres server, in two modes that its URL names: advisory locks of a session, and
 * rows of a table. */
#ifndef LOCKKIT_POSTGRES_BACKEND_H
#define LOCKKIT_POSTGRES_BACKEND_H

#include "backend.h"

extern const struct lk_backend_ops backend_postgres;

#endif
