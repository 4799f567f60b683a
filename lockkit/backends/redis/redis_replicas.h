/* redis://...?wait=2&wait_ms=100: how many replicas are to have a grant before it counts. */
#ifndef LOCKKIT_REDIS_REPLICAS_H
#define LOCKKIT_REDIS_REPLICAS_H

#include "redis_server.h"

/* Read it from `url` into `server`. `*rest`, for free(), is the URL without it. LK_INVALID, also
 * for what is neither that nor `db`; LK_NOMEM. */
enum lk_status redis_replicas_parse(struct redis_server *server, const char *url, char **rest);

#endif
