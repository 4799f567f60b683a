/* See pacer.h. */
#include "pacer.h"

#include "clock.h"
#include "punctual.h"

#include <assert.h>
#include <sys/timerfd.h>
#include <unistd.h>

#define NEAR_NS 30000 /* setting the timer, sleeping and waking up takes about this long */

static void pacer_on_due(uv_poll_t *poll, int status, int events) {
    struct pacer *pacer = poll->data;

    (void)status;
    (void)events;
    if (!uv_is_active((uv_handle_t *)&pacer->near)) /* else the timer may be set to the past */
        pacer->on_due(pacer->data);
}

static void on_near(uv_idle_t *near) {
    struct pacer *pacer = near->data;

    pacer->on_due(pacer->data);
}

/* Before the loop waits: sets the timer to the next moment, or off if there is none. Setting it
 * again also clears an old expiry. */
static void pacer_on_prepare(uv_prepare_t *prepare) {
    struct pacer *pacer = prepare->data;
    int64_t at = pacer->next_ns(pacer->data);
    struct itimerspec when = {.it_value = {at / 1000000000, at % 1000000000}};
    int64_t now = clock_now_ns();

    punctual_rest(now, at > now);
    if (at != 0 && at - now < NEAR_NS) {
        (void)uv_idle_start(&pacer->near, on_near);
        return;
    }
    (void)uv_idle_stop(&pacer->near);
    if (at == pacer->armed_ns)
        return;
    pacer->armed_ns = at;
    (void)timerfd_settime(pacer->timer_fd, TFD_TIMER_ABSTIME, &when, NULL);
}

int pacer_start(struct pacer *pacer, uv_loop_t *loop) {
    int code;

    pacer->timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
    if (pacer->timer_fd < 0)
        return UV_EMFILE;
    code = uv_poll_init(loop, &pacer->poll, pacer->timer_fd);
    if (code != 0) {
        (void)close(pacer->timer_fd);
        return code;
    }
    (void)uv_prepare_init(loop, &pacer->prepare); /* none of these can fail */
    (void)uv_idle_init(loop, &pacer->near);
    pacer->poll.data = pacer->prepare.data = pacer->near.data = pacer;
    pacer->open_handles = 3;
    (void)uv_prepare_start(&pacer->prepare, pacer_on_prepare);
    (void)uv_poll_start(&pacer->poll, UV_READABLE, pacer_on_due);
    return 0;
}

static void pacer_on_handle_closed(uv_handle_t *handle) {
    struct pacer *pacer = handle->data;

    assert(pacer->open_handles > 0);
    if (--pacer->open_handles == 0)
        pacer->on_closed(pacer->data);
}

void pacer_close(struct pacer *pacer, pacer_cb cb) {
    pacer->on_closed = cb;
    uv_close((uv_handle_t *)&pacer->poll, pacer_on_handle_closed);
    uv_close((uv_handle_t *)&pacer->prepare, pacer_on_handle_closed);
    uv_close((uv_handle_t *)&pacer->near, pacer_on_handle_closed);
    (void)close(pacer->timer_fd); /* libuv watches it no more */
}
