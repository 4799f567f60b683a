/* To be told once that a key was deleted: one stream of answers from etcd, for one key or a range
 * of them. */
#ifndef LOCKKIT_ETCD_WATCH_H
#define LOCKKIT_ETCD_WATCH_H

#include "etcd_servers.h"

struct etcd_watch;

/* The watch is over and gone: a key was deleted at or after the revision, or it could not be made,
 * or broke, and nothing is known. */
typedef void (*etcd_watch_cb)(void *data, bool is_deleted);

/* From `revision` on; `range_end` NULL: `key` alone. Both are in base64, and copied. NULL without
 * memory. `cb` runs once, later, unless it is stopped. */
struct etcd_watch *etcd_watch_start(struct etcd_servers *servers, const char *key,
                                    const char *range_end, int64_t revision, etcd_watch_cb cb,
                                    void *data);
bool etcd_watch_is_of(const struct etcd_watch *watch, const char *key);
/* `cb` does not run any more. */
void etcd_watch_stop(struct etcd_watch *watch);

#endif
