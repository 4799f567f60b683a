/* The nodes of an ensemble: their URL, whether each has a vote, how their answers are counted, and
 * the events that they publish. */
#ifndef LOCKKIT_REDLOCK_NODES_H
#define LOCKKIT_REDLOCK_NODES_H

#include "answer.h"
#include "redis.h"

#define REDLOCK_NODES_MOST 15

/* ---- What is asked of a node */

/* Keys of their own, so that they are in nobody's way on a server which is also used by redis://.
 * What a node holds of a lock, its vote, is `owner:ballot:fence:label`. */
#define REDLOCK_VOTE    "lk:{%s}:vote"
#define REDLOCK_FENCE   "lk:{%s}:vote:fence"
#define REDLOCK_CHANNEL "lk:{%s}:vote:free"

/* All take the same arguments, used or not:
 *   KEYS  1 vote, 2 fence counter
 *   ARGV  1 owner token, 2 ballot, 3 TTL in ms, 4 fencing token, 5 "mint" one, or "", 6 label,
 *         7 channel, or ""
 * and answer {1, ...} for yes and {0, ...} for no:
 *   vote      {1, fencing token}; {0, the TTL of who is in the way}
 *   renew     {1, fencing token}; {0, 1 when nobody has the vote}
 *   release   {1}; {0}
 *   inspect   {1, value, TTL}; {0} */
extern const struct redis_script redlock_vote, redlock_renew, redlock_release, redlock_inspect;
#define REDLOCK_SCRIPTS 4

/* ---- The URL */

struct redlock_url {
    char *text; /* whose commas were made ends */
    const char *nodes[REDLOCK_NODES_MOST];
    unsigned node_count;
    uint32_t longest_ms, quarantine_ms;
    uint32_t cutoff_ms; /* 0: by the TTL */
};

/* The text behind `redlock:`. LK_OK, and then url->text is for free(); LK_INVALID or LK_NOMEM. */
enum lk_status redlock_url_parse(struct redlock_url *url, const char *text);

/* ---- A node, and whether it has a vote */

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

/* Before a command: have it tell its age, if it could not before. */
void redlock_node_check(struct redlock_node *node);

/* ---- The counting of votes: the word of an ensemble, from those of its nodes */

/* The nodes by their answer to one command. The sum may be less than `nodes`: a node that says yes
 * without a vote counts nowhere. */
struct redlock_count {
    unsigned nodes;
    unsigned yes; /* with a vote: granted, renewed; released or deleted, where no vote is needed */
    unsigned no;  /* held by another; not held by the owner */
    unsigned refused; /* with an error, without effect */
    unsigned unsent;
    unsigned unknown; /* no answer: it may have taken effect, with a vote where one is needed */
    unsigned pending; /* not answered yet */
    unsigned hopeful; /* of these, whose yes might still count */
};

/* More than half. */
static inline unsigned redlock_quorum(unsigned nodes) {
    return nodes / 2 + 1;
}

/* True when the outcome of an ACQUIRE, RENEW, RELEASE or BREAK is certain, and then it is in
 * `*status`. */
bool redlock_count_decide(const struct redlock_count *count, enum lk_verb verb,
                          enum lk_status *status);

/* ---- Events for those who wait */

LIST_HEAD(redlock_watches, redlock_watch);

/* Somebody waits for `name`, for so long. Without memory for it the poll goes on alone. */
void redlock_watch(struct redlock *redlock, const char *name, uint32_t patience_ms);

/* ---- The ensemble */

LIST_HEAD(redlock_ballots, redlock_ballot);

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
    struct answers answers;
    uv_timer_t timer; /* ends watches; or bounds the close */
    unsigned open;    /* nodes, while it closes */
    bool is_closing, is_shut;
};

/* Open the nodes of the URL. On another status than LK_OK the nodes that are open close, and then
 * `redlock` is freed, in the next turns of the loop. */
enum lk_status redlock_nodes_open(struct redlock *redlock);
/* Close them when the last ballot has gone, or after a while, and free `redlock`; then its
 * on_closed() runs. */
void redlock_nodes_close(struct redlock *redlock);
/* A ballot has gone. */
void redlock_nodes_idle(struct redlock *redlock);

#endif
