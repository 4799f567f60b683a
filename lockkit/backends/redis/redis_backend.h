/* Locks on one Redis server: redis://...[?wait=k][&wait_ms=ms].
 *
 * `wait`: a grant counts when so many replicas have it within `wait_ms` [100]; a grant that fewer
 * have is given back. */
#ifndef LOCKKIT_REDIS_BACKEND_H
#define LOCKKIT_REDIS_BACKEND_H

#include "backend.h"
#include "redis_answer.h"
#include "redis_link.h"

/* A command's part of ours. */
struct redis_sent {
    struct redis_server *server;
    struct lk_command *command;
    int64_t deadline_ms;
    bool is_answered; /* at the end of the turn the command is told its status */
    TAILQ_ENTRY(redis_sent) entry;
};
TAILQ_HEAD(redis_sent_list, redis_sent);

struct redis_server {
    struct lk_backend base;
    struct lk_backend_config config; /* without its URL */
    struct redis_link link;
    unsigned replicas, replicas_ms; /* that are to have a grant, and how long they may take */
    struct redis_handovers handovers;
    /* Of a node of a cluster: one name in a command, and redirections are not told. */
    bool is_in_cluster;
    bool is_asking; /* while a command is started: ASKING goes before it */
    /* What is done at the end of this turn of the loop. */
    uv_idle_t turn; /* before it the loop never sleeps, whoever starts it */
    struct redis_sent_list due;
    unsigned parts; /* that have still to close */
};

#endif
