/* The line of a lock: its holders and waiters, by the nodes in its folder.
 *
 * A node's name ends with a kind and the sequence number from the server:
 *
 *     _c_<owner>-lock-0000000017                 alone         (Apache Curator: InterProcessMutex)
 *     _c_<owner>-read-lock-0000000018            shared        (for Curator's mutex one like any)
 *     _c_<owner>-read-2.10-lock-0000000019       shared, with 2 of 10 permits
 *     <owner>__lock__0000000020                  alone         (kazoo: Lock, WriteLock)
 *     <owner>__rlock__0000000021                 shared        (kazoo: ReadLock)
 *
 * All of them are understood in each folder, and also the __WRIT__ and __READ__ of Curator's
 * InterProcessReadWriteLock. So a folder that other libraries use, too, is never taken for free.
 * Any other node with a sequence number counts as exclusive, with its whole name as its owner. The
 * lower number comes first, even if the counter has wrapped around. A node without a number does
 * not belong to the line. */
#ifndef LOCKKIT_ZK_LINE_H
#define LOCKKIT_ZK_LINE_H

#include "backend.h"

#include "zk_session.h"

#define ZK_NODE_SIZE 128 /* longest name that this client gives */

struct zk_entry {
    const char *node; /* its name, owned by the list */
    const char *owner;
    int owner_length;
    int32_t sequence;
    bool is_shared;
    uint32_t permits, limit; /* limit 0: none */
};

struct zk_line {
    struct zk_entry *entries;
    size_t count;
};

/* The way of an entry to the lock. */
struct zk_stand {
    bool is_granted;
    /* if not granted: the entry in the way; NULL: any entry ahead */
    const struct zk_entry *watched;
};

/* Sizes of a folder's path and of a node's path, with the NUL. A node with a longer name was made
 * by another program. */
#define ZK_FOLDER_SIZE (ZK_BASE_MAX + 1 + 3 * NAME_MAX_BYTES + 1)
#define ZK_PATH_SIZE   (ZK_FOLDER_SIZE + 1 + 1024)

/* The folder of lock `name`. All but printable ASCII is percent-encoded, and a slash, a percent
 * sign, and the names . and .., because ZooKeeper accepts only well-formed text. */
void zk_folder(char folder[ZK_FOLDER_SIZE], const char *base, const char *name);
/* The path of `node` in `folder`; false when it is too long. */
bool zk_path(char path[ZK_PATH_SIZE], const char *folder, const char *node);

/* The name for a new node, up to its sequence number. */
void zk_line_node(char node[ZK_NODE_SIZE], enum zk_layout layout, const struct lk_command *command);

/* Whether the server gave this node the first number of its folder. */
bool zk_line_is_first(const char *node);

/* Sort the nodes of a folder. The caller keeps the strings. 0; -1: out of memory. */
int zk_line_read(struct zk_line *line, char *const *nodes, int32_t count);
void zk_line_free(struct zk_line *line);

/* The entry with this node name, or, if `node` is NULL, of this owner; NULL: none. */
const struct zk_entry *zk_line_find(const struct zk_line *line, const char *node,
                                    const char *owner);
struct zk_stand zk_line_stand(const struct zk_line *line, const struct zk_entry *entry);
/* Whether an ACQUIRE like `command` would be granted at the end of the line. */
bool zk_line_admits(const struct zk_line *line, const struct lk_command *command);

#endif
