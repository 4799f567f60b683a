/* Draws the progress bar, four times a second. */
#include "progress.h"

#include <stdio.h>
#include <unistd.h>

#define BAR       30
#define PERIOD_MS 250

static void draw(const struct progress *progress) {
    const struct recorder *recorder = progress->recorder;
    size_t filled = progress->total > 0 ? recorder->count * BAR / progress->total : BAR;
    char bar[BAR + 1];

    for (size_t i = 0; i < BAR; i++)
        bar[i] = i < filled ? '#' : '.';
    bar[BAR] = '\0';
    fprintf(stderr, "\r%-16.16s [%s] %zu/%zu sent, %zu answered, %zu sold\033[K", progress->name,
            bar, recorder->count, progress->total, recorder->answered,
            recorder->by_outcome[RECORD_SOLD]);
}

static void on_tick(uv_timer_t *timer) {
    draw(timer->data);
}

void progress_init(struct progress *progress, uv_loop_t *loop, bool is_wanted) {
    progress->is_shown = is_wanted && isatty(STDERR_FILENO);
    progress->recorder = NULL;
    (void)uv_timer_init(loop, &progress->timer);
    progress->timer.data = progress;
    uv_unref((uv_handle_t *)&progress->timer);
}

void progress_start(struct progress *progress, const char *name, size_t total,
                    const struct recorder *recorder) {
    progress->name = name;
    progress->total = total;
    progress->recorder = recorder;
    if (progress->is_shown)
        (void)uv_timer_start(&progress->timer, on_tick, 0, PERIOD_MS);
}

void progress_stop(struct progress *progress) {
    (void)uv_timer_stop(&progress->timer);
    if (progress->is_shown && progress->recorder != NULL)
        fprintf(stderr, "\r\033[K");
    progress->recorder = NULL;
}

void progress_close(struct progress *progress) {
    uv_close((uv_handle_t *)&progress->timer, NULL);
}
