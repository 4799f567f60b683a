/* zookeeper://host:port[,host:port...][/path][?session=ms][&fair=0][&layout=curator|kazoo] */
#ifndef LOCKKIT_ZOOKEEPER_BACKEND_H
#define LOCKKIT_ZOOKEEPER_BACKEND_H

#include "backend.h"

extern const struct lk_backend_ops backend_zookeeper;

#endif
