/* The line of a name: its keys `<prefix><name>/<owner>`, in the order of their creation.
 *
 * The revision at which a key was created is its place in the line, and the fencing token. Who has
 * nobody before him holds the lock; of those that share it, each who has only such before him, as
 * far as there are permits. That is the layout of `etcdctl lock`, whose keys end in a lease instead
 * of an owner token: its locks exclude ours. Slashes in names are percent-encoded, as the keys of
 * `a/b` would otherwise stand in the line of `a`. */
#ifndef LOCKKIT_ETCD_LINE_H
#define LOCKKIT_ETCD_LINE_H

#include "backend.h"
#include "etcd_servers.h"

#define ETCD_KEY_SIZE (ETCD_PREFIX_SIZE + 3 * NAME_MAX_BYTES + sizeof "/" + LABEL_MAX_BYTES)
/* Of a line with sharers so many keys are read; a sharer behind them waits. */
#define ETCD_LINE_MOST  4096
#define ETCD_VALUE_SIZE (LABEL_MAX_BYTES + sizeof "s4294967295 ")

/* In base64. */
struct etcd_keys {
    char own[BASE64_SIZE(ETCD_KEY_SIZE)];
    char first[BASE64_SIZE(ETCD_KEY_SIZE)], end[BASE64_SIZE(ETCD_KEY_SIZE)]; /* of the whole line */
    size_t prefix_length; /* bytes of a key before the owner */
};

/* The line of a command, with the owner of a place in it. */
struct etcd_line {
    const char *prefix, *label;
    const struct lk_command *command; /* its owner may be NULL */
};

struct etcd_keys etcd_keys_of(const struct etcd_line *line);

/* Transactions, to POST to /v3/kv/txn; NULL without memory. */

/* Enter the line at its end on this lease, unless the owner stands in it already; one that only
 * tries, and alone, enters an empty line only. */
json_t *etcd_line_enter(const struct etcd_line *line, int64_t lease);
bool etcd_line_is_read(const struct lk_command *command);
/* Who stands before it, if its key is still the one of this revision. */
json_t *etcd_line_look(const struct etcd_line *line, int64_t revision);
/* The same key on another lease. */
json_t *etcd_line_move(const struct etcd_line *line, int64_t revision, int64_t lease);
json_t *etcd_line_leave(const struct etcd_line *line);
/* To POST to /v3/kv/range: its own key. */
json_t *etcd_line_own(const struct etcd_line *line);

/* How many keys a transaction that only deletes has deleted, by its reply: -1 when it is none. */
int64_t etcd_line_deleted(const json_t *reply);

/* What a transaction has done, by its reply. `success` and `failure` name the operations of each, a
 * letter each: put, range, delete. Any other answer is none. */
enum etcd_done { ETCD_DONE_UNKNOWN, ETCD_DONE_SUCCESS, ETCD_DONE_FAILURE };
enum etcd_done etcd_line_done(const json_t *reply, const char *success, const char *failure);

/* Whether it is the reply to a range: every key has a name and a revision, and `count` does not
 * tell of keys that are left out. */
bool etcd_line_is_whole(const json_t *range);

/* NULL, or the array of the keys that the operation at `index` found. */
const json_t *etcd_line_found(const json_t *reply, size_t index);

/* Where an owner stands. */
struct etcd_place {
    bool is_held;
    const char *blocker; /* the key whose end may change that; NULL: any of the line */
};

/* `found`: those before `revision`, and maybe others. */
struct etcd_place etcd_line_place(const json_t *found, int64_t revision,
                                  const struct lk_command *command);

/* The mode and permits that the value of a key tells; returns its label, which is in `value`. */
const char *etcd_line_parse(char *value, enum lk_mode *mode, uint32_t *permits);

#endif
