/* Locks inside one client. */
#ifndef LOCKKIT_LOCAL_H
#define LOCKKIT_LOCAL_H

#include "backend.h"

extern const struct lk_backend_ops backend_local;

#endif
