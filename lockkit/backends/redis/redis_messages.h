/* The channel of one client: it is told there that a lock was handed over to it. */
#ifndef LOCKKIT_REDIS_MESSAGES_H
#define LOCKKIT_REDIS_MESSAGES_H

#include "redis_server.h"

/* Name the client and its channel. False when the system gives no random numbers. */
bool redis_messages_init(struct redis_server *server);

/* News for one of ours: keep it, and wake it. */
void redis_messages_take(struct redis_server *server, const char *news);

/* Subscribe, once. Without memory for it the poll goes on alone, and the next wait tries again. */
void redis_messages_listen(struct redis_server *server);

#endif
