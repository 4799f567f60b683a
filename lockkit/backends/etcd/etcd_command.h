/* Commands under way, each of a few questions, one after the other; and owners, each with its place
 * in the line of a name, and the etcd leases that they stand on.
 *
 * Each acquisition has a lease of its own, so that it ends by its own TTL, whatever else the client
 * holds, and so that revoking it undoes what may still arrive late of it: a put that names a
 * revoked lease is refused. A lease that was given back without any doubt is spared for the next
 * acquisition of the same TTL, which saves both of them a write. */
#ifndef LOCKKIT_ETCD_COMMAND_H
#define LOCKKIT_ETCD_COMMAND_H

#include "answer.h"
#include "etcd_line.h"

#define SPARE_MOST 64

struct etcd_lease {
    int64_t id; /* 0: none. We choose it, so that a lease can be revoked whose grant was not
                   answered. */
    bool is_granted;
    uint32_t asked_s, ttl_s; /* what was asked for, and what was granted */
    int64_t confirmed_ns;    /* no later than etcd began to count the TTL; on CLOCK_BOOTTIME */
};

struct etcd {
    struct lk_backend base;
    struct lk_backend_config config;
    char prefix[ETCD_PREFIX_SIZE];
    struct etcd_servers *servers;
    void *owners; /* a tree by token */
    TAILQ_HEAD(, etcd_owner) by_use;
    struct etcd_lease spare[SPARE_MOST];
    unsigned spare_count;
    struct log_limit refusals;
    struct answers answers;
    struct etcd_ask goodbye; /* revokes what is to spare, before it closes */
};

/* A command's part of ours. */
struct etcd_sent {
    struct lk_command *command;
    struct etcd *etcd;
    struct etcd_line line;
    struct etcd_owner *owner; /* in use; NULL of INSPECT and BREAK, and when it is not known */
    struct etcd_ask ask;
    int64_t started_ns, deadline_ms;
    int64_t asked_ns; /* when the question was sent */
    unsigned rounds;  /* of questions, so that they end */
    bool is_kept; /* its lease was kept alive at `kept_ns`, by a member in the term `kept_term` */
    int64_t kept_ns, kept_term;
    enum lk_status left; /* what the release of it is to answer */
    json_t *found;       /* of INSPECT: the keys */
};

/* Ask, and have `on_answer` run later. `body` is taken. */
void etcd_sent_ask(struct etcd_sent *sent, const char *path, json_t *body, bool is_repeatable,
                   void (*on_answer)(struct etcd_ask *ask));
/* The command's end: it is answered, and gone. */
void etcd_sent_end(struct etcd_sent *sent, enum lk_status status);
/* The same, of one whose question has an answer that is none: with LK_UNKNOWN. */
void etcd_sent_end_puzzled(struct etcd_sent *sent);

/* ACQUIRE, RENEW or RELEASE. */
void etcd_sent_start(struct etcd_sent *sent);

/* All owners go, with none in use. */
void etcd_owners_clear(struct etcd *etcd);

#endif
