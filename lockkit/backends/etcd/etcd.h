/* Locks in etcd. */
#ifndef LOCKKIT_ETCD_H
#define LOCKKIT_ETCD_H

#include "backend.h"

extern const struct lk_backend_ops backend_etcd;

#endif
