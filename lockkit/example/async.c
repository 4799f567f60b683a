/* Hold a distributed lock while a piece of work is done, on a libuv loop that also does other
 * things:
 *
 *     async redis://127.0.0.1 nightly-report
 *
 * Run it twice at the same time: the second waits for the first. */
#include <lockkit.h>

#include <stdio.h>

#define STEP_MS 500

struct job {
    lk_client *client;
    lk_lease *lease; /* while the lock is held */
    uv_timer_t timer;
    int steps;
    int code;
};

static void end(struct job *job, const char *what, enum lk_status status) {
    if (status != LK_OK) {
        (void)fprintf(stderr, "async: %s: %s\n", what, lk_status_text(status));
        job->code = 1;
    }
    uv_close((uv_handle_t *)&job->timer, NULL);
    lk_client_close(job->client, NULL, NULL); /* after its end nothing is left on the loop */
}

static void on_released(enum lk_status status, void *data) {
    end((struct job *)data, "release", status);
}

static void release(struct job *job) {
    lk_lease *lease = job->lease;

    job->lease = NULL;
    (void)uv_timer_stop(&job->timer);
    lk_release(lease, on_released, job);
}

/* A step begins only if the lease is valid for as long as the step may take. Each write should
 * carry the fencing token, and the resource should refuse an older one. The check alone cannot help
 * a program that is paused right after it. */
static void on_step(uv_timer_t *timer) {
    struct job *job = (struct job *)timer->data;

    if (lk_lease_check(job->lease, STEP_MS + 100) != LK_OK) {
        release(job);
        return;
    }
    (void)printf("step %d with fencing token %llu\n", ++job->steps,
                 (unsigned long long)lk_lease_fence(job->lease));
    if (job->steps == 3)
        release(job);
}

/* Runs as soon as the loss is known, and before anyone else can have the lock. */
static void on_state(lk_lease *lease, enum lk_state state, const char *why, void *data) {
    (void)lease;
    if (state != LK_LOST_STATE)
        return;
    (void)fprintf(stderr, "async: the lock is lost: %s\n", why);
    release((struct job *)data);
}

static void on_acquired(lk_request *request, enum lk_status status, lk_lease *lease, void *data) {
    struct job *job = (struct job *)data;

    (void)request;
    if (status != LK_OK) {
        end(job, "not acquired", status);
        return;
    }
    job->lease = lease;
    lk_lease_on_state(lease, on_state, job);
    (void)uv_timer_start(&job->timer, on_step, 0, STEP_MS);
}

static int start(struct job *job, uv_loop_t *loop, const char *url, const char *name) {
    enum lk_status status = lk_client_open(&job->client, loop, url, NULL);
    lk_lock *lock;

    if (status != LK_OK) {
        (void)fprintf(stderr, "async: %s: %s\n", url, lk_status_text(status));
        return 1;
    }
    (void)uv_timer_init(loop, &job->timer);
    job->timer.data = job;
    status = lk_lock_open(&lock, job->client, name, NULL);
    if (status == LK_OK)
        status = lk_acquire(lock, 30000, on_acquired, job, NULL);
    if (status != LK_OK)
        end(job, name, status);
    return 0;
}

int main(int argc, char **argv) {
    static struct job job;

    if (argc != 3) {
        (void)fprintf(stderr, "usage: async URL NAME\n");
        return 64;
    }
    if (start(&job, uv_default_loop(), argv[1], argv[2]) != 0)
        return 1;
    (void)uv_run(uv_default_loop(), UV_RUN_DEFAULT);
    return job.code;
}
