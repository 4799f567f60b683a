/* A command under way: each takes a few questions, one after the other. */
#ifndef LOCKKIT_ETCD_COMMAND_H
#define LOCKKIT_ETCD_COMMAND_H

#include "etcd_line.h"
#include "etcd_owner.h"
#include "log.h"

struct etcd_sent;
STAILQ_HEAD(etcd_answers, etcd_sent);

struct etcd {
    struct lk_backend base;
    struct lk_backend_config config;
    char prefix[ETCD_PREFIX_SIZE];
    struct etcd_servers *servers;
    struct etcd_owners owners;
    struct log_limit refusals;
    uv_idle_t idle; /* answers what needed no question, or could ask none */
    struct etcd_answers answers;
    struct etcd_ask goodbye; /* revokes what is to spare, before it closes */
    lk_close_cb on_closed;
    void *data;
};

/* A command's part of ours. */
struct etcd_sent {
    struct lk_command *command;
    struct etcd *etcd;
    struct etcd_owner *owner; /* referenced; NULL of INSPECT and BREAK, and when it is not known */
    struct etcd_ask ask;
    int64_t started_ns, deadline_ms;
    int64_t asked_ns; /* when the question was sent */
    unsigned rounds;  /* of questions, so that they end */
    bool is_kept; /* its lease was kept alive at `kept_ns`, by a member in the term `kept_term` */
    int64_t kept_ns, kept_term;
    enum lk_status left;           /* what the release of it is to answer */
    json_t *line;                  /* of INSPECT, and of BREAK the keys that are to go */
    STAILQ_ENTRY(etcd_sent) entry; /* in `answers` */
};

/* Ask, and have `on_answer` run later. `body` is taken. */
void etcd_sent_ask(struct etcd_sent *sent, const char *path, json_t *body, bool is_repeatable,
                   void (*on_answer)(struct etcd_ask *ask));
/* The command's end: it is answered, and gone. */
void etcd_sent_end(struct etcd_sent *sent, enum lk_status status);
/* The same, of one whose question has an answer that is none: with LK_UNKNOWN. */
void etcd_sent_end_puzzled(struct etcd_sent *sent);
/* The same, in the next turn of the loop. */
void etcd_sent_end_later(struct etcd_sent *sent, enum lk_status status);
void etcd_sent_keys(const struct etcd_sent *sent, struct etcd_keys *keys);

/* etcd_command.c */
void etcd_acquire(struct etcd_sent *sent);
void etcd_renew(struct etcd_sent *sent);
void etcd_release(struct etcd_sent *sent);

#endif
