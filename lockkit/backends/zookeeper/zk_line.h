/* The line of a lock: those who hold it or wait for it, as the nodes in its folder tell.
 *
 * A node's name ends with a kind and the sequence number that the server gave it:
 *
 *     _c_<owner>-lock-0000000017                 alone         (Apache Curator: InterProcessMutex)
 *     _c_<owner>-read-lock-0000000018            shared        (for Curator's mutex one like any)
 *     _c_<owner>-read-2.10-lock-0000000019       shared, with 2 of 10 permits
 *     <owner>__lock__0000000020                  alone         (kazoo: Lock, WriteLock)
 *     <owner>__rlock__0000000021                 shared        (kazoo: ReadLock)
 *
 * All of them are understood in each folder, and also the __WRIT__ and __READ__ of Curator's
 * InterProcessReadWriteLock, so that a folder that others use, too, is never taken for free. Any
 * other node with a sequence number counts as alone, and its whole name as its owner. Who comes
 * first has the lower number, wherever that counter has wrapped around. A node without a number is
 * none of the line. */
#ifndef LOCKKIT_ZK_LINE_H
#define LOCKKIT_ZK_LINE_H

#include "backend.h"

#include "zk_session.h"

#define ZK_NODE_SIZE 128 /* of a name that we give */

struct zk_entry {
    const char *node; /* its name: the list's */
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

/* What stands between an entry and the lock. */
struct zk_stand {
    bool is_granted;
    /* Else the one whose going may change that; NULL: any of those ahead. */
    const struct zk_entry *watched;
};

/* A folder's path with its NUL, and that of a node in it. A node's name that is longer than that
 * leaves room for was given by somebody else. */
#define ZK_FOLDER_SIZE (ZK_BASE_MAX + 1 + 3 * NAME_MAX_BYTES + 1)
#define ZK_PATH_SIZE   (ZK_FOLDER_SIZE + 1 + 1024)

/* The folder of lock `name`. Anything but printable ASCII, a slash, a percent sign, and the names .
 * and .. are percent-encoded: ZooKeeper knows only well-formed text. */
void zk_folder(char folder[ZK_FOLDER_SIZE], const char *base, const char *name);
/* The path of `node` in `folder`; false when it is too long. */
bool zk_path(char path[ZK_PATH_SIZE], const char *folder, const char *node);

/* The name of a node up to its sequence number. */
void zk_line_node(char node[ZK_NODE_SIZE], enum zk_layout layout, const struct lk_command *command);

/* Sort the nodes of a folder. The strings stay the caller's. 0, or -1 without memory. */
int zk_line_read(struct zk_line *line, char *const *nodes, int32_t count);
void zk_line_free(struct zk_line *line);

/* Whose node has this name, or whose owner is this; NULL when there is none. */
const struct zk_entry *zk_line_find(const struct zk_line *line, const char *node,
                                    const char *owner);
struct zk_stand zk_line_stand(const struct zk_line *line, const struct zk_entry *entry);
/* Whether one who joins now for what `command` asks would be granted it. */
bool zk_line_admits(const struct zk_line *line, const struct lk_command *command);

#endif
