/* Writes to a terminal that may be slow or stopped. */
#include "screen.h"

#include "clock.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

/* O_NONBLOCK belongs to the open file, and stderr shares its open file with stdout and the shell.
 * So we open the terminal once more. */
void screen_open(struct screen *screen) {
    char path[128];

    screen->fd = -1;
    if (ttyname_r(STDERR_FILENO, path, sizeof path) == 0)
        screen->fd = open(path, O_WRONLY | O_NOCTTY | O_NONBLOCK | O_CLOEXEC);
    if (screen->fd < 0)
        screen->fd = STDERR_FILENO;
    screen->lines = 0;
    screen->length = screen->written = 0;
}

void screen_size(const struct screen *screen, unsigned *columns, unsigned *rows) {
    struct winsize size;

    *columns = *rows = 0;
    if (ioctl(screen->fd, TIOCGWINSZ, &size) != 0)
        return;
    *columns = size.ws_col;
    *rows = size.ws_row;
}

/* Needed without O_NONBLOCK: for a pipe, or if the terminal could not be opened again. A file with
 * room takes more than a frame. */
static bool screen_has_room(const struct screen *screen) {
    struct pollfd poll_fd = {.fd = screen->fd, .events = POLLOUT};

    return poll(&poll_fd, 1, 0) == 1;
}

/* Drops the bytes if writing fails, for example to a terminal that is gone. */
static void write_on(struct screen *screen) {
    assert(screen->written <= screen->length);
    while (screen->written < screen->length && screen_has_room(screen)) {
        ssize_t length =
            write(screen->fd, screen->bytes + screen->written, screen->length - screen->written);

        if (length > 0)
            screen->written += (size_t)length;
        else if (length < 0 && errno == EAGAIN)
            return;
        else if (length == 0 || errno != EINTR)
            screen->written = screen->length;
    }
    if (screen->written == screen->length)
        screen->written = screen->length = 0;
}

bool screen_is_ready(struct screen *screen) {
    pid_t foreground = tcgetpgrp(screen->fd);

    write_on(screen);
    return screen->length == 0 && (foreground < 0 || foreground == getpgrp());
}

__attribute__((format(printf, 2, 3))) static void screen_append(struct screen *screen,
                                                                const char *format, ...) {
    size_t room = sizeof screen->bytes - screen->length;
    va_list args;
    int length;

    va_start(args, format);
    length = vsnprintf(screen->bytes + screen->length, room, format, args);
    va_end(args);
    if (length > 0 && (size_t)length < room)
        screen->length += (size_t)length;
}

/* A terminal that became narrower has wrapped the drawn lines. */
static size_t rows_drawn(const struct screen *screen) {
    unsigned columns, rows;
    size_t drawn = 0;

    screen_size(screen, &columns, &rows);
    for (size_t i = 0; i < screen->lines; i++)
        drawn += columns > 0 && screen->width[i] > columns
                     ? (screen->width[i] + columns - 1) / columns
                     : 1;
    return drawn;
}

static void go_to_start(struct screen *screen) {
    size_t rows = rows_drawn(screen);

    screen_append(screen, "\r");
    if (rows > 1)
        screen_append(screen, "\033[%zuA", rows - 1);
}

void screen_show(struct screen *screen, const struct progress_frame *frame) {
    const char *line = frame->text;

    assert(frame->lines <= PROGRESS_LINES);
    assert(screen->length == 0); /* screen_is_ready() */
    screen_append(screen, "\033[?25l");
    go_to_start(screen);
    for (size_t i = 0; i < frame->lines; i++) {
        int length = (int)strcspn(line, "\n");

        screen_append(screen, "%s%.*s\033[K", i > 0 ? "\r\n" : "", length, line);
        line += length + 1;
        screen->width[i] = frame->width[i];
    }
    screen_append(screen, "\033[J\033[?25h");
    screen->lines = frame->lines;
    write_on(screen);
}

void screen_say(struct screen *screen, const char *text) {
    if (screen->lines > 0) {
        go_to_start(screen);
        screen_append(screen, "\033[J");
        screen->lines = 0;
    }
    screen_append(screen, "%s", text);
    write_on(screen);
}

void screen_flush(struct screen *screen, int timeout_ms) {
    int64_t end_ms = clock_now_ms() + timeout_ms;

    write_on(screen);
    while (screen->length > 0 && clock_now_ms() < end_ms) {
        (void)poll(NULL, 0, 10);
        write_on(screen);
    }
    screen->length = screen->written = 0;
}

void screen_close(struct screen *screen) {
    if (screen->fd != STDERR_FILENO)
        (void)close(screen->fd);
    screen->fd = STDERR_FILENO;
}
