/* Locks on one Redis server. */
#ifndef LOCKKIT_REDIS_BACKEND_H
#define LOCKKIT_REDIS_BACKEND_H

#include "backend.h"

extern const struct lk_backend_ops backend_redis;

#endif
