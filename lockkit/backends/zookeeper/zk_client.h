/* A client of ZooKeeper: the operations on its session, and its contenders in the lines.
 *
 * An operation carries out a command. It sends requests and lives until the last of them is
 * completed, which may be long after its command was answered UNKNOWN. A contender is the node of
 * an owner, from the first request for it until it is known to be gone. Nodes are ephemeral: when
 * the session ends all contenders go, and the next session takes over none of them. */
#ifndef LOCKKIT_ZK_CLIENT_H
#define LOCKKIT_ZK_CLIENT_H

#include "answer.h"
#include "zk_line.h"

struct zk_contender {
    const char *owner; /* the key; first, so that a search needs no whole `struct zk_contender` */
    char node[ZK_NODE_SIZE]; /* its name; empty: no node that we know of */
    int64_t czxid;           /* of the node: the fencing token */
    /* hashes of watched paths, 0: none: the node before it, and its own node once it is renewed */
    uint64_t watched, own;
    bool is_doubtful; /* a create was not answered: it may have made a node, or may still do so */
    bool is_granted;
    bool is_unwanted; /* delete it: a release was asked for, and is not confirmed */
    bool is_gone;     /* no longer in the client's list */
    unsigned refs;    /* by operations, and by the client's list */
    TAILQ_ENTRY(zk_contender) entry;
    char owner_copy[OWNER_SIZE];
    char name[];
};

/* The backend's memory for a command. */
struct zk_sent {
    struct lk_command *command;
    struct zk_operation *operation; /* NULL until the command begins */
    int64_t deadline_ms;
    /* both by deadline: a command is first in `fresh`, then in `begun` */
    TAILQ_ENTRY(zk_sent) entry;
};
TAILQ_HEAD(zk_sent_list, zk_sent);

struct zk_client {
    struct lk_backend base;
    struct lk_backend_config config;
    struct zk_url url;
    struct zk_session session;
    uv_timer_t timer; /* for the next deadline */
    struct zk_sent_list fresh, begun;
    void *by_owner; /* tree of contenders by owner */
    TAILQ_HEAD(, zk_contender) contenders;
    struct log_limit refusals;
    int64_t synced_ms; /* uv_now() at the last sync of this session */
    int sync_error;    /* the result of the last completed sync */
    int missing;       /* of 256 folders that recent ACQUIREs met, about how many were missing */
};

struct zk_operation {
    struct zk_client *client;
    struct lk_command *command;     /* NULL once it is answered, or when nobody asked for it */
    struct zk_contender *contender; /* a reference; NULL for INSPECT and BREAK */
    enum lk_verb verb;
    unsigned pending; /* requests that are not completed */
    bool is_done;     /* the answer is final: pending requests no longer matter */
    int error;        /* the result of the request before this one */
    bool is_peeking;  /* ACQUIRE: it reads the line before it creates a node */
    bool has_synced;
    bool has_made_folder, is_folder_new; /* zk_add_folder() was called; it made the folder */
    bool has_hit;                        /* BREAK: a node was deleted */
    void (*next)(struct zk_operation *operation); /* runs when the folder is there */
    struct zk_look *look;                         /* INSPECT: the holders and waiters found */
    zoo_op_result_t results[2];
    char folder[ZK_FOLDER_SIZE];
};

/* ---- The two kinds of lock, each with a function for each command */

struct zk_kind {
    void (*run[LK_BREAK + 1])(struct zk_operation *operation); /* by verb; without LK_RENEW */
};
extern const struct zk_kind zk_fair;   /* with a line of nodes */
extern const struct zk_kind zk_single; /* with one node that all waiters watch */

/* ---- For both kinds: zookeeper_backend.c */

/* The operation, from the data of a completion. */
static inline struct zk_operation *zk_operation_of(const void *data) {
    return (struct zk_operation *)(uintptr_t)data;
}

static inline zhandle_t *zk_handle(const struct zk_operation *operation) {
    return operation->client->session.handle;
}

/* The library took a request, or refused it with `error`. False: it refused. Then the operation has
 * failed, or will fail when its pending requests are completed. */
bool zk_sending(struct zk_operation *operation, int error);
/* A request is completed. True: it was the last, and the operation goes on. */
bool zk_completed(struct zk_operation *operation);

/* Answer the command, if it still waits, and end the operation. Make it the last line of the
 * calling function. */
void zk_finish(struct zk_operation *operation, enum lk_status status);
/* The same, for an error of the library or the server. */
void zk_fail(struct zk_operation *operation, int error);
/* LOST, and the owner has no node any more. */
void zk_lose(struct zk_operation *operation);
/* OK, with the fields of a grant. */
void zk_grant(struct zk_operation *operation);
/* The completion of a request to delete the node of a contender, or of a broken holder. */
void zk_on_deleted(int error, const void *data);
/* Whether it is unknown if the request had an effect. */
bool zk_is_unanswered(int error);

/* Ask the leader whether the session goes on, once in a turn of the loop. Later answers of this
 * server are no older. Returns like zk_sending(). */
bool zk_sync(struct zk_operation *operation);

/* Whether the folder of a lock is probably there, judged by recent ones. The server removes a folder
 * when it was empty for some time, so it lacks each name that nobody locked of late. To find that
 * out takes two requests, and making a folder that is there takes one. */
bool zk_expects_folder(const struct zk_client *client);
void zk_saw_folder(struct zk_client *client, bool was_there);

/* Make the folder, if its parents are there. The caller sends the next request at once, and fails
 * when that one says ZNONODE. Returns like zk_sending(). */
bool zk_add_folder(struct zk_operation *operation);

/* Make the folder and its parents, then call `next`, or fail. */
void zk_make_folder(struct zk_operation *operation, void (*next)(struct zk_operation *operation));

/* The watcher of all nodes; its context is the client. It runs once for each path, however many
 * wait, and tells the contenders with that path's hash in `watched` or `own`. */
void zk_on_node_event(zhandle_t *handle, int type, int state, const char *path, void *client);
uint64_t zk_hash(const char *path);

#endif
