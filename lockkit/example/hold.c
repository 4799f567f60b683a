/* Hold a distributed lock while a piece of work is done, from a program without a loop:
 *
 *     hold redis://127.0.0.1 nightly-report
 *
 * Run it twice at the same time: the second waits for the first. */
#include <lockkit.h>

#include <stdio.h>
#include <unistd.h>

static int hold_fail(const char *what, enum lk_status status) {
    (void)fprintf(stderr, "hold: %s: %s\n", what, lk_status_text(status));
    return 1;
}

/* Print lockkit's warnings, such as why it cannot reach the server. */
static void hold_on_log(enum lk_log_level level, const char *message, const char *pairs,
                        void *data) {
    (void)data;
    if (level >= LK_LOG_WARN)
        (void)fprintf(stderr, "hold: %s: %s\n", message, pairs);
}

/* Work in steps. A step begins only if the lease is valid for as long as the step may take. Each
 * write should carry the fencing token, and the resource should refuse an older one. The check
 * alone cannot help a program that is paused right after it. */
static enum lk_status hold_work(const lk_held *held) {
    for (int step = 1; step <= 3; step++) {
        enum lk_status status = lk_sync_check(held, 600);

        if (status != LK_OK)
            return status;
        (void)printf("step %d with fencing token %llu\n", step,
                     (unsigned long long)lk_sync_fence(held));
        (void)usleep(500000);
    }
    return LK_OK;
}

static int hold_hold(lk_sync *sync, const char *name) {
    enum lk_status worked, released, status;
    lk_held *held;

    status = lk_sync_acquire(sync, name, NULL, 30000, &held);
    if (status != LK_OK)
        return hold_fail("not acquired", status);
    worked = hold_work(held);
    released = lk_sync_release(held);
    if (worked != LK_OK)
        return hold_fail("stopped working", worked);
    return released == LK_OK ? 0 : hold_fail("release", released);
}

int main(int argc, char **argv) {
    enum lk_status status;
    lk_sync *sync;
    int code;

    if (argc != 3) {
        (void)fprintf(stderr, "usage: hold URL NAME\n");
        return 64;
    }
    lk_set_log(hold_on_log, NULL);
    status = lk_sync_open(&sync, argv[1], NULL);
    if (status != LK_OK)
        return hold_fail(argv[1], status);
    code = hold_hold(sync, argv[2]);
    lk_sync_close(sync);
    return code;
}
