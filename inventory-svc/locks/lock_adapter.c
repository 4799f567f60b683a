/* lockkit's callbacks as waits of a fiber. */
#include "lock_adapter.h"

#include "fiber.h"
#include "text_copy.h"

#include <assert.h>
#include <stdio.h>

/* An acquire that a fiber waits for; on its stack. */
struct acquiring {
    struct fiber_event done;
    enum lk_status status;
    lk_lease **lease;
    unsigned *attempts;
    int64_t *kept_ns;
};

static void lock_adapter_on_acquired(lk_request *request, enum lk_status status, lk_lease *lease,
                                     void *data) {
    struct acquiring *acquiring = data;

    assert((status == LK_OK) == (lease != NULL));
    acquiring->status = status;
    *acquiring->attempts = lk_request_round_trips(request);
    *acquiring->kept_ns = lk_request_kept_ns(request);
    *acquiring->lease = lease;
    fiber_event_set(&acquiring->done);
}

enum lk_status lock_acquire_await(lk_client *client, const char *name,
                                  const struct lk_lock_options *options, uint32_t wait_ms,
                                  lk_lease **lease, unsigned *attempts, int64_t *kept_ns) {
    struct acquiring acquiring = {
        .done = FIBER_EVENT_INIT, .lease = lease, .attempts = attempts, .kept_ns = kept_ns};
    lk_lock *lock;
    enum lk_status status = lk_lock_open(&lock, client, name, options);

    *lease = NULL;
    *attempts = 0;
    *kept_ns = -1;
    if (status == LK_OK)
        status = lk_acquire(lock, wait_ms, lock_adapter_on_acquired, &acquiring, NULL);
    if (status == LK_OK) {
        fiber_event_wait(&acquiring.done);
        status = acquiring.status;
    }
    lk_lock_close(lock); /* lives on as long as the lease */
    return status;
}

/* An inspection that a fiber waits for; on its stack. */
struct inspecting {
    struct fiber_event done;
    char *label;
    size_t size;
};

static void lock_adapter_on_inspected(enum lk_status status, const struct lk_inspection *inspection,
                                      void *data) {
    struct inspecting *inspecting = data;

    if (status == LK_OK && inspection->holder_count > 0)
        text_copy(inspecting->label, inspecting->size, inspection->holders[0].label);
    fiber_event_set(&inspecting->done);
}

void lock_holder_await(lk_client *client, const char *name, char *label, size_t size) {
    struct inspecting inspecting = {.done = FIBER_EVENT_INIT, .label = label, .size = size};
    lk_lock *lock;

    label[0] = '\0';
    if (lk_lock_open(&lock, client, name, NULL) == LK_OK &&
        lk_inspect(lock, lock_adapter_on_inspected, &inspecting) == LK_OK)
        fiber_event_wait(&inspecting.done);
    lk_lock_close(lock);
}
