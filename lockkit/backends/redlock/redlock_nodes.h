/* The nodes of an ensemble: their URL, whether each has a vote, how their answers are counted, and
 * their events. */
#ifndef LOCKKIT_REDLOCK_NODES_H
#define LOCKKIT_REDLOCK_NODES_H

#include "answer.h"
#include "redis.h"

#define REDLOCK_NODES_MOST 15

/* ---- Requests to a node */

/* The keys differ from those of redis://, so that one server can serve both. A node keeps a vote as
 * `owner:ballot:fence:label`. */
#define REDLOCK_VOTE    "lk:{%s}:vote"
#define REDLOCK_FENCE   "lk:{%s}:vote:fence"
#define REDLOCK_CHANNEL "lk:{%s}:vote:free"

/* All get the same arguments, and may ignore some:
 *   KEYS  1 vote, 2 fence counter
 *   ARGV  1 owner token, 2 ballot, 3 TTL in ms, 4 fencing token, 5 "mint" one, or "", 6 label,
 *         7 channel, or ""
 * They answer {1, ...} for yes and {0, ...} for no:
 *   vote      {1, fencing token}; {0, the TTL of the vote in the way}
 *   renew     {1, fencing token}; {0, 1 when nobody has the vote}
 *   release   {1}; {0}
 *   inspect   {1, value, TTL}; {0} */
extern const struct redis_script redlock_vote, redlock_renew, redlock_release, redlock_inspect;
#define REDLOCK_SCRIPTS 4

/* ---- The URL */

struct redlock_url {
    char *text; /* its commas were made ends; `nodes` point into it */
    const char *nodes[REDLOCK_NODES_MOST];
    unsigned node_count;
    uint32_t longest_ms, quarantine_ms;
    uint32_t cutoff_ms; /* 0: a part of the TTL */
};

/* `text` stands behind `redlock:`. On LK_OK url->text is for free(). Else LK_INVALID or LK_NOMEM.
 */
enum lk_status redlock_url_parse(struct redlock_url *url, const char *text);

/* ---- A node, and whether it has a vote */

struct redlock_node {
    struct redlock *redlock;
    struct redis *redis; /* NULL before it is opened and after it has closed */
    const char *place;   /* host:port, for the log */
    char name[16];

    unsigned connection;   /* counts connections; an answer over an earlier one has no vote */
    bool has_been_up;      /* since it was opened */
    bool is_known;         /* it has told its age on this connection */
    bool is_twin;          /* it is the same server as another node */
    unsigned asking;       /* calls of the greeting under way */
    bool is_asked_again;   /* greet again when they have ended */
    int64_t votes_from_ms; /* the end of its quarantine, once known */
    int64_t heard_ms;      /* its last answer */
    int64_t denied_until_ms;
    char run_id[41];
    struct redis_call loads[REDLOCK_SCRIPTS], info; /* the calls of the greeting */
    int64_t opened_ms;
    unsigned tidying; /* commands with answers that change nothing */
    struct log_limit refusals;
};

/* Before a command: ask for the node's age, if it could not tell before. */
void redlock_node_check(struct redlock_node *node);

/* ---- Counting votes: one outcome from the answers of the nodes */

/* The nodes, sorted by their answer to one command. The sum may be less than `nodes`: a yes without
 * a vote counts nowhere. */
struct redlock_count {
    unsigned nodes;
    unsigned yes;     /* with a vote: granted or renewed; a release or break needs no vote */
    unsigned no;      /* another owner has it; or the owner does not have it */
    unsigned refused; /* an error, without effect */
    unsigned unsent;
    unsigned unknown; /* no answer: it may have taken effect, with a vote if one is needed */
    unsigned pending; /* not answered yet */
    unsigned hopeful; /* pending nodes with a yes that could count */
};

/* More than half. */
static inline unsigned redlock_quorum(unsigned nodes) {
    return nodes / 2 + 1;
}

/* True: the outcome of an ACQUIRE, RENEW, RELEASE or BREAK is certain, and `*status` has it. */
bool redlock_count_decide(const struct redlock_count *count, enum lk_verb verb,
                          enum lk_status *status);

/* ---- Events for waiters */

LIST_HEAD(redlock_watches, redlock_watch);

/* A waiter for `name` comes back within this patience. Without memory only the poll goes on. */
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
    struct redlock_ballots ballots; /* with calls under way */
    struct redlock_watches watches;
    int64_t seen_fence; /* the highest token of any node, within reason */
    unsigned short random[3];
    struct answers answers;
    uv_timer_t timer; /* ends watches; or bounds the close */
    unsigned open;    /* nodes that have not closed yet */
    bool is_closing, is_shut;
};

/* Open the nodes of the URL. On any status but LK_OK the open nodes close, and then `redlock` is
 * freed, in the next turns of the loop. */
enum lk_status redlock_nodes_open(struct redlock *redlock);
/* Close them when the last ballot has ended, or after CLOSE_MS, and free `redlock`. Then its
 * on_closed() runs. */
void redlock_nodes_close(struct redlock *redlock);
/* A ballot has ended. */
void redlock_nodes_idle(struct redlock *redlock);

#endif
