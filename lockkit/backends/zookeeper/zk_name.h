/* Where a lock is in the tree: the path of its folder, by its name. */
#ifndef LOCKKIT_ZK_NAME_H
#define LOCKKIT_ZK_NAME_H

#include "backend.h"

#include "zk_url.h"

/* A folder's path with its NUL, and that of a node in it. A node's name that is longer than that
 * leaves room for was given by somebody else. */
#define ZK_FOLDER_SIZE (ZK_BASE_MAX + 1 + 3 * NAME_MAX_BYTES + 1)
#define ZK_PATH_SIZE   (ZK_FOLDER_SIZE + 1 + 1024)

/* The folder of lock `name`. Anything but printable ASCII, a slash, a percent sign, and the names .
 * and .. are percent-encoded: ZooKeeper knows only well-formed text. */
void zk_folder(char folder[ZK_FOLDER_SIZE], const char *base, const char *name);

/* The path of `node` in `folder`; false when it is too long. */
bool zk_path(char path[ZK_PATH_SIZE], const char *folder, const char *node);

/* The last part of a path. */
const char *zk_node_of(const char *path);

#endif
