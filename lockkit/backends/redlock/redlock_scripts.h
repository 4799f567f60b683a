/* What is asked of one node, as Lua scripts, each atomic there. */
#ifndef LOCKKIT_REDLOCK_SCRIPTS_H
#define LOCKKIT_REDLOCK_SCRIPTS_H

/* Keys of their own, so that they are in nobody's way on a server which is also used by redis://.
 * The lock's value on a node, its vote, is `owner:ballot:fence:label`. */
#define REDLOCK_VOTE    "lk:{%s}:vote"
#define REDLOCK_FENCE   "lk:{%s}:vote:fence"
#define REDLOCK_CHANNEL "lk:{%s}:vote:free"

enum redlock_script_id { REDLOCK_VOTES, REDLOCK_RENEWS, REDLOCK_RELEASES, REDLOCK_INSPECTS };

/* All take the same arguments, used or not:
 *   KEYS  1 vote, 2 fence counter
 *   ARGV  1 owner token, 2 ballot, 3 TTL in ms, 4 fencing token, 5 the latest moment at which it
 * may take effect, by the node's clock in ms, 6 "mint" a token, or "", 7 label, 8 channel, or ""
 * and answer {code, now in ms by the node's clock, ...}; see redlock_code. */
extern const struct redlock_script {
    const char *text;
    const char *sha1; /* of the text, for EVALSHA; the tests hold it against the server's */
} redlock_scripts[];

enum redlock_code {
    REDLOCK_NO = 0,   /* VOTES: the TTL of who is in the way. RENEWS: 1 when nobody is */
    REDLOCK_YES = 1,  /* VOTES, RENEWS: the fencing token. INSPECTS: value, TTL */
    REDLOCK_LATE = 2, /* it came too late, and did nothing */
};

#endif
