/* The blocking facade: a client on a loop thread of its own. Other threads hand jobs to it and wait
 * for them. A job lives on the stack of the waiting thread. */
#include "lockkit.h"

#include "fork.h"
#include "loop.h"

#include <assert.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/queue.h>

struct job {
    lk_sync *sync;
    void (*start)(struct job *job); /* on the loop thread */
    const char *name;
    const struct lk_lock_options *options;
    uint32_t wait_ms;
    lk_lease *lease;
    enum lk_status status;
    bool is_done;
    STAILQ_ENTRY(job) entry;
};

struct lk_held {
    lk_sync *sync;
    lk_lease *lease;
};

struct lk_sync {
    uv_loop_t loop;
    uv_thread_t thread;
    uv_async_t async;
    lk_client *client;
    uv_mutex_t mutex; /* guards the jobs and their is_done */
    uv_cond_t is_done;
    STAILQ_HEAD(, job) jobs;
    unsigned fork_depth; /* of the process that opened it: only there the thread runs */
};

static void sync_finish(struct job *job, enum lk_status status) {
    lk_sync *sync = job->sync;

    uv_mutex_lock(&sync->mutex);
    assert(!job->is_done);
    job->status = status;
    job->is_done = true;
    uv_cond_broadcast(&sync->is_done); /* some job is done: each waiter looks at its own */
    uv_mutex_unlock(&sync->mutex);
}

/* Takes all jobs: several uv_async_send() may arrive as one call. */
static void on_job(uv_async_t *async) {
    lk_sync *sync = async->data;
    STAILQ_HEAD(, job) jobs = STAILQ_HEAD_INITIALIZER(jobs);
    struct job *job;

    uv_mutex_lock(&sync->mutex);
    STAILQ_CONCAT(&jobs, &sync->jobs);
    uv_mutex_unlock(&sync->mutex);
    while ((job = STAILQ_FIRST(&jobs)) != NULL) {
        STAILQ_REMOVE_HEAD(&jobs, entry);
        job->start(job);
    }
}

static enum lk_status sync_run(struct job *job) {
    lk_sync *sync = job->sync;

    if (sync->fork_depth != fork_depth())
        return LK_INVALID;
    uv_mutex_lock(&sync->mutex);
    STAILQ_INSERT_TAIL(&sync->jobs, job, entry);
    (void)uv_async_send(&sync->async);
    while (!job->is_done)
        uv_cond_wait(&sync->is_done, &sync->mutex);
    uv_mutex_unlock(&sync->mutex);
    return job->status;
}

static void sync_on_acquired(lk_request *request, enum lk_status status, lk_lease *lease,
                             void *data) {
    struct job *job = data;

    (void)request;
    job->lease = lease;
    sync_finish(job, status);
}

static void start_acquire(struct job *job) {
    lk_lock *lock;
    enum lk_status status = lk_lock_open(&lock, job->sync->client, job->name, job->options);

    if (status == LK_OK)
        status = lk_acquire(lock, job->wait_ms, sync_on_acquired, job, NULL);
    lk_lock_close(lock);
    if (status != LK_OK)
        sync_finish(job, status);
}

static void sync_on_released(enum lk_status status, void *data) {
    sync_finish(data, status);
}

static void start_release(struct job *job) {
    assert(job->lease);
    lk_release(job->lease, sync_on_released, job);
}

static void sync_on_client_closed(void *data) {
    struct job *job = data;

    uv_close((uv_handle_t *)&job->sync->async, NULL);
    sync_finish(job, LK_OK);
}

static void start_close(struct job *job) {
    lk_client_close(job->sync->client, sync_on_client_closed, job);
}

static void run_loop(void *arg) {
    lk_sync *sync = arg;

    (void)uv_run(&sync->loop, UV_RUN_DEFAULT);
}

enum lk_status lk_sync_open(lk_sync **out, const char *url,
                            const struct lk_client_options *options) {
    lk_sync *sync = calloc(1, sizeof *sync);
    enum lk_status status = LK_NOMEM;

    *out = NULL;
    if (sync == NULL)
        return LK_NOMEM;
    sync->fork_depth = fork_depth();
    STAILQ_INIT(&sync->jobs);
    if (uv_mutex_init(&sync->mutex) != 0)
        goto err_after_sync;
    if (uv_cond_init(&sync->is_done) != 0)
        goto err_after_mutex;
    if (loop_init(&sync->loop) != 0)
        goto err_after_cond;
    status = lk_client_open(&sync->client, &sync->loop, url, options);
    if (status != LK_OK)
        goto err_after_loop;
    status = LK_NOMEM;
    if (uv_async_init(&sync->loop, &sync->async, on_job) != 0)
        goto err_after_client;
    sync->async.data = sync;
    if (uv_thread_create(&sync->thread, run_loop, sync) != 0)
        goto err_after_async;
    *out = sync;
    return LK_OK;

err_after_async:
    uv_close((uv_handle_t *)&sync->async, NULL);
err_after_client: /* no thread runs yet, so this thread may run the loop */
    lk_client_close(sync->client, NULL, NULL);
    (void)uv_run(&sync->loop, UV_RUN_DEFAULT);
err_after_loop:
    (void)uv_loop_close(&sync->loop);
err_after_cond:
    uv_cond_destroy(&sync->is_done);
err_after_mutex:
    uv_mutex_destroy(&sync->mutex);
err_after_sync:
    free(sync);
    return status;
}

void lk_sync_close(lk_sync *sync) {
    struct job job = {.sync = sync, .start = start_close};

    if (sync_run(&job) == LK_INVALID)
        return; /* what the parent uses is left alone */
    (void)uv_thread_join(&sync->thread);
    assert(STAILQ_EMPTY(&sync->jobs));
    (void)uv_loop_close(&sync->loop);
    uv_cond_destroy(&sync->is_done);
    uv_mutex_destroy(&sync->mutex);
    free(sync);
}

enum lk_status lk_sync_acquire(lk_sync *sync, const char *name,
                               const struct lk_lock_options *options, uint32_t wait_ms,
                               lk_held **out) {
    struct job job = {
        .sync = sync, .start = start_acquire, .name = name, .options = options, .wait_ms = wait_ms};
    lk_held *held = malloc(sizeof *held);
    enum lk_status status;

    *out = NULL;
    if (held == NULL)
        return LK_NOMEM;
    status = sync_run(&job);
    if (status != LK_OK) {
        free(held);
        return status;
    }
    held->sync = sync;
    held->lease = job.lease;
    *out = held;
    return LK_OK;
}

enum lk_status lk_sync_release(lk_held *held) {
    struct job job = {.sync = held->sync, .start = start_release, .lease = held->lease};

    free(held);
    return sync_run(&job);
}

enum lk_status lk_sync_check(const lk_held *held, uint32_t need_ms) {
    return lk_lease_check(held->lease, need_ms);
}

uint64_t lk_sync_fence(const lk_held *held) {
    return lk_lease_fence(held->lease);
}
