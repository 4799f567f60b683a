/* Commands under way, each of a few questions, one after another. Owners, each with its place in
 * the line of a name and its etcd leases.
 *
 * Each acquisition has a lease of its own. So it ends by its own TTL, independently of the client's
 * other leases. Revoking that lease also undoes requests that arrive late: etcd refuses a put on a
 * revoked lease. A lease that was given back without any doubt is spared for the next acquisition
 * with the same TTL, which saves both of them a write. */
#ifndef LOCKKIT_ETCD_COMMAND_H
#define LOCKKIT_ETCD_COMMAND_H

#include "answer.h"
#include "etcd_line.h"

#define SPARE_MOST 64

struct etcd_lease {
    /* 0: none. The client chooses it, so that it can revoke a lease even without an answer to the
     * grant. */
    int64_t id;
    bool is_granted;
    uint32_t asked_s, ttl_s; /* asked for, and granted */
    int64_t confirmed_ns;    /* no later than etcd began to count the TTL; on CLOCK_BOOTTIME */
};

struct etcd {
    struct lk_backend base;
    struct lk_backend_config config;
    char prefix[ETCD_PREFIX_SIZE];
    struct etcd_servers *servers;
    void *owners; /* tree by token */
    TAILQ_HEAD(, etcd_owner) by_use;
    struct etcd_lease spare[SPARE_MOST];
    unsigned spare_count;
    struct log_limit refusals;
    struct answers answers;
    struct etcd_ask goodbye; /* revokes spare leases, before it closes */
};

/* The backend's memory for a command. */
struct etcd_sent {
    struct lk_command *command;
    struct etcd *etcd;
    struct etcd_line line;
    struct etcd_owner *owner; /* in use; NULL for INSPECT and BREAK, and when it is not known */
    struct etcd_ask ask;
    int64_t started_ns, deadline_ms;
    int64_t asked_ns; /* when the question was sent */
    unsigned rounds;  /* number of questions, with a limit */
    bool is_kept; /* its lease was kept alive at `kept_ns`, by a member in the term `kept_term` */
    int64_t kept_ns, kept_term;
    enum lk_status left; /* the answer of the RELEASE once the lease is revoked */
    json_t *found;       /* INSPECT: the keys */
};

/* Ask; `on_answer` runs later. Takes `body` over. */
void etcd_sent_ask(struct etcd_sent *sent, const char *path, json_t *body, bool is_repeatable,
                   void (*on_answer)(struct etcd_ask *ask));
/* Answer the command, which ends here. */
void etcd_sent_end(struct etcd_sent *sent, enum lk_status status);
/* The same with LK_UNKNOWN, after an answer that is not understood. */
void etcd_sent_end_puzzled(struct etcd_sent *sent);

/* ACQUIRE, RENEW or RELEASE. */
void etcd_sent_start(struct etcd_sent *sent);

/* Free all owners. None may be in use. */
void etcd_owners_clear(struct etcd *etcd);

#endif
