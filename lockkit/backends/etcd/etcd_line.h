/* The line of a name: its keys `<prefix><name>/<owner>`, in the order of their creation.
 *
 * The revision that created a key is its place in the line, and its fencing token. The first key of
 * the line holds the lock. A sharer holds it if only sharers stand before it, and permits are left.
 * `etcdctl lock` uses the same layout with a lease instead of an owner token at the end: its locks
 * exclude ours. Slashes in names are percent-encoded: else the keys of `a/b` would stand in the
 * line of `a`. */
#ifndef LOCKKIT_ETCD_LINE_H
#define LOCKKIT_ETCD_LINE_H

#include "backend.h"
#include "etcd_servers.h"

#define ETCD_KEY_SIZE (ETCD_PREFIX_SIZE + 3 * NAME_MAX_BYTES + sizeof "/" + LABEL_MAX_BYTES)
/* In a line with sharers at most so many keys are read; a sharer behind them waits. */
#define ETCD_LINE_MOST  4096
#define ETCD_VALUE_SIZE (LABEL_MAX_BYTES + sizeof "s4294967295 ")

/* In base64. */
struct etcd_keys {
    char own[BASE64_SIZE(ETCD_KEY_SIZE)];
    char first[BASE64_SIZE(ETCD_KEY_SIZE)], end[BASE64_SIZE(ETCD_KEY_SIZE)]; /* of the whole line */
    size_t prefix_length; /* bytes of a key before the owner */
};

/* The line of a command, with the place of its owner. */
struct etcd_line {
    const char *prefix, *label;
    const struct lk_command *command; /* `owner` may be NULL */
};

struct etcd_keys etcd_keys_of(const struct etcd_line *line);

/* Transactions, to POST to /v3/kv/txn; NULL: out of memory. */

/* Enter the line at its end on this lease, unless the owner stands in it already. An exclusive
 * owner that only tries enters only an empty line. */
json_t *etcd_line_enter(const struct etcd_line *line, int64_t lease);
bool etcd_line_is_read(const struct lk_command *command);
/* Read the keys before it, if its key still has this revision. */
json_t *etcd_line_look(const struct etcd_line *line, int64_t revision);
/* Put the same key on another lease. */
json_t *etcd_line_move(const struct etcd_line *line, int64_t revision, int64_t lease);
json_t *etcd_line_leave(const struct etcd_line *line);
/* To POST to /v3/kv/range: read its own key. */
json_t *etcd_line_own(const struct etcd_line *line);

/* How many keys a transaction of deletes has deleted, by its reply; -1: it is no such reply. */
int64_t etcd_line_deleted(const json_t *reply);

/* The outcome of a transaction, by its reply. `success` and `failure` name the operations of each
 * branch, a letter each: put, range, delete. Any other answer is UNKNOWN. */
enum etcd_done { ETCD_DONE_UNKNOWN, ETCD_DONE_SUCCESS, ETCD_DONE_FAILURE };
enum etcd_done etcd_line_done(const json_t *reply, const char *success, const char *failure);

/* Whether this is the whole reply to a range: every key has a name and a revision, and `count` does
 * not tell of missing keys. */
bool etcd_line_is_whole(const json_t *range);

/* The array of the keys that the operation at `index` found, or NULL. */
const json_t *etcd_line_found(const json_t *reply, size_t index);

/* The place of an owner. */
struct etcd_place {
    bool is_held;
    const char *blocker; /* the key in the way; NULL: any key of the line */
};

/* `found`: the keys before `revision`, and maybe others. */
struct etcd_place etcd_line_place(const json_t *found, int64_t revision,
                                  const struct lk_command *command);

/* Read mode and permits from the value of a key. Returns its label, which points into `value`. */
const char *etcd_line_parse(char *value, enum lk_mode *mode, uint32_t *permits);

#endif
