/* The child's whole life, and the parent's view of it. */
#include "holder.h"

#include "process_end.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

/* In the child. */
static int told;
static struct news news;

static void tell(void) {
    if (write(told, &news, sizeof news) != sizeof news)
        _exit(1);
}

static void on_released(enum lk_status status, void *data) {
    (void)data;
    news.released = status;
    tell();
}

static void on_state(lk_lease *lease, enum lk_state state, const char *why, void *data) {
    (void)why;
    (void)data;
    if (state != LK_LOST_STATE)
        return;
    news.state = state;
    news.checked = lk_lease_check(lease, 0);
    lk_release(lease, on_released, NULL);
}

static void on_acquired(lk_request *request, enum lk_status status, lk_lease *lease, void *data) {
    (void)request;
    (void)data;
    if (status != LK_OK)
        _exit(1);
    lk_lease_on_state(lease, on_state, NULL);
    news.fence = lk_lease_fence(lease);
    tell();
}

static void hold_for_ever(const char *url, const char *name, uint32_t ttl_ms) {
    struct lk_client_options client_options = {.size = sizeof client_options,
                                               .reply_ms = FIXTURE_REPLY_MS};
    struct lk_lock_options options = {.size = sizeof options, .ttl_ms = ttl_ms};
    lk_client *client;
    lk_lock *lock;
    uv_loop_t loop;

    if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || uv_loop_init(&loop) != 0 ||
        lk_client_open(&client, &loop, url, &client_options) != LK_OK ||
        lk_lock_open(&lock, client, name, &options) != LK_OK ||
        lk_acquire(lock, LK_FOREVER, on_acquired, NULL, NULL) != LK_OK)
        _exit(1);
    (void)uv_run(&loop, UV_RUN_DEFAULT);
    _exit(1);
}

void holder_start(struct holder *holder, const char *url, const char *name, uint32_t ttl_ms) {
    int ends[2];

    memset(holder, 0, sizeof *holder);
    assert_int_equal(pipe2(ends, O_NONBLOCK | O_CLOEXEC), 0);
    holder->pid = fork();
    assert_true(holder->pid >= 0);
    told = ends[1];
    holder->pipe = ends[0];
    if (holder->pid == 0)
        hold_for_ever(url, name, ttl_ms);
    (void)close(ends[1]);
}

bool holder_has_news(struct holder *holder) {
    return read(holder->pipe, &holder->news, sizeof holder->news) == sizeof holder->news;
}

void holder_end(struct holder *holder) {
    if (holder->pid <= 0)
        return;
    process_end(&holder->pid, SIGKILL);
    (void)close(holder->pipe);
}
