/* A client of ZooKeeper: what is under way on its session, and who of us stands in which line.
 *
 * A command is carried out by an operation, which sends requests and lives until the last of them
 * is completed, which may be long after its command was answered UNKNOWN. A contender is an owner's
 * node, from the first request for it until it is known to be gone; nodes are ephemeral, so with
 * the session all contenders go, and none is ever taken over by the next one. */
#ifndef LOCKKIT_ZK_CLIENT_H
#define LOCKKIT_ZK_CLIENT_H

#include "answer.h"
#include "zk_line.h"

struct zk_contender {
    const char *owner; /* the key; first, so that a search needs no whole `struct zk_contender` */
    char node[ZK_NODE_SIZE]; /* its name; empty: none that we know of */
    int64_t czxid;           /* of the node: its fencing token */
    uint64_t watched, own;   /* hashes of the paths that are watched for it, 0: none: of the one
                                before it, and of its own node once it is renewed */
    bool is_doubtful;        /* a create is not answered: it may have made a node, or may still */
    bool is_granted;
    bool is_unwanted; /* to be deleted: a release was asked for and is not confirmed */
    bool is_gone;     /* no longer among the client's */
    unsigned refs;    /* by operations, and by being among the client's */
    TAILQ_ENTRY(zk_contender) entry;
    char owner_copy[OWNER_SIZE];
    char name[];
};

/* A command's part of ours. */
struct zk_sent {
    struct lk_command *command;
    struct zk_operation *operation; /* NULL until it is begun */
    int64_t deadline_ms;
    TAILQ_ENTRY(zk_sent) entry; /* by deadline: in `fresh`, then in `begun` */
};
TAILQ_HEAD(zk_sent_list, zk_sent);

struct zk_client {
    struct lk_backend base;
    struct lk_backend_config config;
    struct zk_url url;
    struct zk_session session;
    uv_timer_t timer; /* of the next deadline */
    struct zk_sent_list fresh, begun;
    void *by_owner; /* tree of contenders */
    TAILQ_HEAD(, zk_contender) contenders;
    struct log_limit refusals;
    int64_t synced_ms; /* uv_now() of the last sync that was sent in this session */
    int sync_error;    /* of the last that was completed */
};

struct zk_operation {
    struct zk_client *client;
    struct lk_command *command;     /* NULL once answered, or when nobody asked for it */
    struct zk_contender *contender; /* a reference; NULL of INSPECT and BREAK */
    enum lk_verb verb;
    unsigned pending; /* requests that are not completed */
    bool is_done;     /* answered for good: what is pending is of no interest */
    int error;        /* of the request before this one */
    bool is_peeking;  /* ACQUIRE: looks before it creates */
    bool has_synced;
    bool has_hit;                                 /* BREAK: one was deleted */
    void (*next)(struct zk_operation *operation); /* when the folder is made */
    struct zk_look *look;                         /* INSPECT: what it has found */
    zoo_op_result_t results[2];
    char folder[ZK_FOLDER_SIZE];
};

/* ---- What to do for a command, when there is a connection */

struct zk_kind {
    void (*run[LK_BREAK + 1])(struct zk_operation *operation); /* by verb; but not LK_RENEW */
};
extern const struct zk_kind zk_fair;   /* with a line of nodes */
extern const struct zk_kind zk_single; /* with one node that all watch */

/* ---- What they share: zookeeper_backend.c */

/* From the data of a completion. */
static inline struct zk_operation *zk_operation_of(const void *data) {
    return (struct zk_operation *)(uintptr_t)data;
}

static inline zhandle_t *zk_handle(const struct zk_operation *operation) {
    return operation->client->session.handle;
}

/* A request was handed to the library, which said `error`. False when it did not take it: then the
 * operation has failed, or will when what is pending is completed. */
bool zk_sending(struct zk_operation *operation, int error);
/* One is completed: true when it was the last, and the operation is to go on. */
bool zk_completed(struct zk_operation *operation);

/* The answer, if somebody still waits for it, and the end of the operation: the last line of what
 * calls it. */
void zk_finish(struct zk_operation *operation, enum lk_status status);
/* The same for what the library or the server says, which is not ZOK. */
void zk_fail(struct zk_operation *operation, int error);
/* LOST, and it has no node any more. */
void zk_lose(struct zk_operation *operation);
/* OK, with what a grant tells. */
void zk_grant(struct zk_operation *operation);
/* A completion of requests to delete: of a contender's node, or of those that are broken. */
void zk_on_deleted(int error, const void *data);
/* Nobody knows whether the request had an effect. */
bool zk_is_unanswered(int error);

/* Ask the leader whether the session goes on, once in a turn of the loop: what this server says
 * after that is no older. Like zk_sending(). */
bool zk_sync(struct zk_operation *operation);

/* Make the folder, and those above it, then call `next`, or fail. */
void zk_make_folder(struct zk_operation *operation, void (*next)(struct zk_operation *operation));

/* The watcher of all nodes, with the client as its context: once for each path, however many wait.
 * It tells those of us whose `watched` or `own` is the path's hash. */
void zk_on_node_event(zhandle_t *handle, int type, int state, const char *path, void *client);
uint64_t zk_hash(const char *path);

#endif
