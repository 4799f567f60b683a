/* What the files of the backend share: the ensemble, its nodes, and a command under way on them. */
#ifndef LOCKKIT_REDLOCK_INTERNAL_H
#define LOCKKIT_REDLOCK_INTERNAL_H

#include "log.h"
#include "redis.h"
#include "redlock.h"
#include "redlock_count.h"
#include "redlock_scripts.h"

#include <sys/queue.h>

#define REDLOCK_NODES_MOST 15

/* ---- redlock_url.c */

struct redlock_url {
    char *text; /* whose commas were made ends */
    const char *nodes[REDLOCK_NODES_MOST];
    unsigned node_count;
    uint32_t longest_ms, quarantine_ms;
    uint32_t cutoff_ms; /* 0: by the TTL */
};

/* LK_OK, LK_INVALID or LK_NOMEM, and then there is nothing to free. */
enum lk_status redlock_url_parse(struct redlock_url *url, const char *text);
void redlock_url_free(struct redlock_url *url);

/* ---- redlock_node.c: a node, and whether it has a vote */

struct redlock_node {
    struct redlock *redlock;
    struct redis *redis; /* NULL before it is opened and after it has closed */
    const char *place;   /* host:port, for people */
    char name[16];

    unsigned connection;   /* counted up; what was sent on an earlier one has no vote */
    bool has_been_up;      /* since it was opened */
    bool is_known;         /* it has told its age on this connection */
    bool is_twin;          /* it is the same server as another node of ours */
    unsigned asking;       /* greetings under way */
    bool is_asked_again;   /* greet again when they have ended */
    int64_t votes_from_ms; /* the end of its quarantine, once known */
    int64_t heard_ms;      /* its last answer */
    int64_t denied_until_ms;
    char run_id[41];
    struct redis_call loads[REDLOCK_SCRIPTS], info; /* the greetings */
    int64_t opened_ms;
    unsigned tidying; /* commands for whose answer nobody waits */
    struct log_limit refusals;
};

int redlock_node_open(struct redlock_node *node, uv_loop_t *loop, const char *url);
/* Before a command: have it tell its age, if it could not before. */
void redlock_node_check(struct redlock_node *node);
/* Its first connection is still being made. */
bool redlock_node_is_new(const struct redlock_node *node);
/* It refused, in these words. */
void redlock_node_refused(struct redlock_node *node, const char *why);
/* A command that was sent on `connection` and has just been answered counts. */
bool redlock_node_has_vote(const struct redlock_node *node, unsigned connection);
/* The answer to a command sent now may count. */
bool redlock_node_may_vote(const struct redlock_node *node);

/* ---- redlock_watch.c: events for those who wait */

LIST_HEAD(redlock_watches, redlock_watch);

/* Somebody waits for `name`, for so long. Without memory for it the poll goes on alone. */
void redlock_watch(struct redlock *redlock, const char *name, uint32_t patience_ms);
/* End those for which nobody waits any more, or all. */
void redlock_unwatch(struct redlock *redlock, bool is_all);

/* ---- redlock_ballot.c: one command on all nodes */

LIST_HEAD(redlock_ballots, redlock_ballot);

/* False without memory for it: then nothing has started. */
bool redlock_ballot_start(struct redlock *redlock, struct lk_command *command);

/* ---- redlock.c */

struct redlock {
    struct lk_backend base;
    struct lk_backend_config config;
    struct redlock_url url;
    struct redlock_node nodes[REDLOCK_NODES_MOST];
    unsigned node_count;
    uint64_t ballots_started;
    struct redlock_ballots ballots; /* with something under way */
    struct redlock_watches watches;
    int64_t seen_fence; /* the highest that a node has told, within reason */
    unsigned short random[3];
    uv_timer_t timer; /* ends watches; or bounds the close */
    unsigned open;    /* nodes, while it closes */
    bool is_closing, is_shut;
    lk_close_cb on_closed;
    void *data;
};

/* The last ballot has gone. */
void redlock_idle(struct redlock *redlock);

#endif
