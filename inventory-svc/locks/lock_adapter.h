/* lockkit's callbacks as waits of a fiber: the only file that knows both. */
#ifndef INVENTORY_LOCK_ADAPTER_H
#define INVENTORY_LOCK_ADAPTER_H

#include <lockkit.h>

#include <stddef.h>

/* In a fiber: acquire the lock `name` under these options, waiting up to `wait_ms` (LK_TRY: one
 * attempt). LK_OK, and `lease` is the caller's until lk_release() or lk_abandon(); else *lease is
 * NULL. `attempts` made at the server are counted in both cases. `kept_ns`: lk_request_kept_ns().
 */
LK_CHECK enum lk_status lock_acquire_await(lk_client *client, const char *name,
                                           const struct lk_lock_options *options, uint32_t wait_ms,
                                           lk_lease **lease, unsigned *attempts, int64_t *kept_ns);

/* In a fiber: the label of who holds the lock `name` now; "" when nobody does, or when it could not
 * be learned in the time that the client gives a reply. */
void lock_holder_await(lk_client *client, const char *name, char *label, size_t size);

#endif
