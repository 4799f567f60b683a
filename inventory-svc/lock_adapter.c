/* lockkit's callbacks as waits of a fiber. */
#include "lock_adapter.h"

#include "fiber.h"

/* An acquire that a fiber waits for; on its stack. */
struct acquiring {
    struct fiber_event done;
    enum lk_status status;
    lk_lease *lease;
};

static void on_acquired(lk_request *request, enum lk_status status, lk_lease *lease, void *data) {
    struct acquiring *acquiring = data;

    (void)request;
    acquiring->status = status;
    acquiring->lease = lease;
    fiber_event_set(&acquiring->done);
}

enum lk_status lock_acquire_await(lk_client *client, const char *name, uint32_t ttl_ms,
                                  uint32_t wait_ms, lk_lease **lease) {
    struct lk_lock_options options = {.size = sizeof options, .ttl_ms = ttl_ms};
    struct acquiring acquiring = {.done = FIBER_EVENT_INIT};
    lk_lock *lock;
    enum lk_status status = lk_lock_open(&lock, client, name, &options);

    *lease = NULL;
    if (status != LK_OK)
        return status;
    status = lk_acquire(lock, wait_ms, on_acquired, &acquiring, NULL);
    if (status == LK_OK) {
        fiber_event_wait(&acquiring.done);
        status = acquiring.status;
        *lease = acquiring.lease;
    }
    lk_lock_close(lock); /* lives on as long as the lease */
    return status;
}
