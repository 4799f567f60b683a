/* A handle for each signal. */
#include "interrupts.h"

#include <assert.h>
#include <signal.h>

static const int numbers[INTERRUPTS] = {SIGINT, SIGTERM, SIGQUIT, SIGHUP};

static void on_number(uv_signal_t *handle, int number) {
    struct interrupts *interrupts = handle->data;

    if (number == SIGHUP && interrupts->has_hung_up)
        return;
    interrupts->has_hung_up = interrupts->has_hung_up || number == SIGHUP;
    interrupts->on_signal(interrupts->data, number);
}

/* A script ignores SIGINT and SIGQUIT for its background jobs, but these two still ask for an end.
 */
static bool is_left_ignored(int number) {
    struct sigaction now;

    return number == SIGHUP && sigaction(number, NULL, &now) == 0 && now.sa_handler == SIG_IGN;
}

static void block(int how) {
    sigset_t all;

    (void)sigemptyset(&all);
    for (size_t i = 0; i < INTERRUPTS; i++)
        (void)sigaddset(&all, numbers[i]);
    (void)pthread_sigmask(how, &all, NULL);
}

void interrupts_watch(struct interrupts *interrupts, uv_loop_t *loop,
                      void (*on_signal)(void *data, int number), void *data) {
    assert(interrupts->count == 0); /* its handles are not open */
    *interrupts = (struct interrupts){.on_signal = on_signal, .data = data};
    for (size_t i = 0; i < INTERRUPTS; i++) {
        uv_signal_t *handle = &interrupts->handles[interrupts->count];

        if (is_left_ignored(numbers[i]))
            continue;
        interrupts->count++;
        (void)uv_signal_init(loop, handle);
        handle->data = interrupts;
        (void)uv_signal_start(handle, on_number, numbers[i]);
        uv_unref((uv_handle_t *)handle);
    }
    block(SIG_UNBLOCK);
}

void interrupts_close(struct interrupts *interrupts) {
    if (interrupts->count > 0)
        block(SIG_BLOCK);
    while (interrupts->count > 0)
        uv_close((uv_handle_t *)&interrupts->handles[--interrupts->count], NULL);
}
