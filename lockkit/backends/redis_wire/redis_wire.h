/* Locks that other libraries take, too, on one Redis server: each in the layout that they use. */
#ifndef LOCKKIT_REDIS_WIRE_H
#define LOCKKIT_REDIS_WIRE_H

#include "backend.h"

extern const struct lk_backend_ops backend_redis_string;   /* redis+string://... */
extern const struct lk_backend_ops backend_redis_redisson; /* redis+redisson://... */

#endif
