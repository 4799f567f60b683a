/* Locks on one Redis server: redis://...[?wait=k][&wait_ms=ms].
 *
 * `wait`: a grant counts if k replicas have it within `wait_ms` [100]. Otherwise it is given back.
 */
#ifndef LOCKKIT_REDIS_BACKEND_H
#define LOCKKIT_REDIS_BACKEND_H

#include "backend.h"
#include "redis_answer.h"
#include "redis_link.h"

/* The backend's memory for a command. */
struct redis_sent {
    struct redis_server *server;
    struct lk_command *command;
    int64_t deadline_ms;
    bool is_answered; /* its status is told at the end of this turn */
    TAILQ_ENTRY(redis_sent) entry;
};
TAILQ_HEAD(redis_sent_list, redis_sent);

struct redis_server {
    struct lk_backend base;
    struct lk_backend_config config; /* without its URL */
    struct redis_link link;
    unsigned replicas, replicas_ms; /* replicas that must have a grant, and the time for it */
    struct redis_handovers handovers;
    /* For a node of a cluster: one name in a command, and no redirection in the log. */
    bool is_in_cluster;
    bool is_asking; /* while a command starts: ASKING goes before it */
    /* Commands for the end of this turn of the loop. */
    uv_idle_t turn; /* an idle handle keeps the loop from sleeping before that */
    struct redis_sent_list due;
    unsigned parts; /* parts that have not closed yet */
};

#endif
