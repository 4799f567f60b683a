/* Log lines. Each is put together on the stack and leaves in one write(2), so the lines of several
 * processes on one file never mix. */
#include "log.h"
#include "clock.h"
#include "text_copy.h"
#include "utf8.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define LINE_BYTES 2048

static const char *const level_names[] = {"debug", "info", "warn", "error"};

static struct {
    const char *service; /* NULL: nothing goes to stderr */
    enum log_level least;
    log_sink_cb sink;
    void *data;
} config;

struct line {
    char text[LINE_BYTES];
    size_t length;
    bool is_cut;
};

/* Write the character at `*text` as it stands in a line, and move behind it: unchanged when it is
 * printable, else escaped, a byte at a time. Returns the length, at most 4. */
static size_t escape(const char **text, bool is_quoted, char out[5]) {
    static const char controls[] = {'\n', '\r', '\t'};
    const char *at = *text, *control = memchr(controls, *at, sizeof controls);
    size_t length = utf8_printable(at);

    *text += length == 0 ? 1 : length;
    if (control != NULL)
        return (size_t)snprintf(out, 5, "\\%c", "nrt"[control - controls]);
    if (length == 0)
        return (size_t)snprintf(out, 5, "\\x%02x", (unsigned)(unsigned char)*at);
    if (is_quoted && (*at == '"' || *at == '\\'))
        return (size_t)snprintf(out, 5, "\\%c", *at);
    memcpy(out, at, length);
    return length;
}

/* After a text that did not fit, nothing more is added. */
static void log_add(struct line *line, const char *text, size_t length) {
    size_t room = sizeof line->text - line->length - sizeof "...\n";

    if (length > room)
        line->is_cut = true;
    if (line->is_cut)
        return;
    memcpy(line->text + line->length, text, length);
    line->length += length;
}

static void add_escaped(struct line *line, const char *text, bool is_quoted) {
    char piece[5];

    while (*text != '\0') {
        size_t length = escape(&text, is_quoted, piece);

        log_add(line, piece, length);
    }
}

static void add_head(struct line *line, enum log_level level) {
    int64_t now_us = clock_wall_us();
    time_t seconds = (time_t)(now_us / 1000000);
    char head[128], date[32];
    struct tm tm;

    (void)gmtime_r(&seconds, &tm);
    (void)strftime(date, sizeof date, "%Y-%m-%dT%H:%M:%S", &tm);
    (void)snprintf(head, sizeof head, "ts=%s.%06" PRId64 "Z level=%s svc=%s msg=\"", date,
                   now_us % 1000000, level_names[level], config.service);
    log_add(line, head, strlen(head));
}

static void add_dots(struct line *line) {
    static const char dots[] = "...";

    if (!line->is_cut)
        return;
    memcpy(line->text + line->length, dots, sizeof dots - 1);
    line->length += sizeof dots - 1;
}

void log_init(const char *service, enum log_level least) {
    config.service = service;
    config.least = least;
}

void log_set_sink(log_sink_cb cb, void *data) {
    config.sink = cb;
    config.data = data;
}

int log_level_parse(const char *text, enum log_level *level) {
    for (size_t i = 0; i < sizeof level_names / sizeof *level_names; i++) {
        if (strcmp(text, level_names[i]) == 0) {
            *level = (enum log_level)i;
            return 0;
        }
    }
    return -1;
}

static void write_line(enum log_level level, const char *message, const char *pairs) {
    struct line line = {.length = 0};

    add_head(&line, level);
    add_escaped(&line, message, true);
    log_add(&line, "\"", 1);
    if (pairs[0] != '\0') {
        log_add(&line, " ", 1);
        add_escaped(&line, pairs, false);
    }
    add_dots(&line);
    line.text[line.length++] = '\n';
    if (write(STDERR_FILENO, line.text, line.length) < 0)
        return; /* stderr is gone: nothing can be told */
}

static void log_pass_on(enum log_level level, const char *message, const char *pairs) {
    struct line line = {.length = 0};

    add_escaped(&line, pairs, false);
    add_dots(&line);
    line.text[line.length] = '\0';
    config.sink(level, message, line.text, config.data);
}

void log_write(enum log_level level, const char *message, const char *pairs, ...) {
    char formatted[LINE_BYTES];
    int saved_errno = errno;
    va_list args;

    if (config.sink == NULL && (config.service == NULL || level < config.least))
        return;
    formatted[0] = '\0';
    if (pairs != NULL) {
        va_start(args, pairs);
        (void)vsnprintf(formatted, sizeof formatted, pairs, args);
        va_end(args);
    }
    if (config.sink != NULL)
        log_pass_on(level, message, formatted);
    else
        write_line(level, message, formatted);
    errno = saved_errno;
}

bool log_limit_pass(struct log_limit *limit, int64_t now_ms, unsigned *left_out) {
    *left_out = limit->left_out;
    if (now_ms < limit->until_ms) {
        limit->left_out++;
        return false;
    }
    *limit = (struct log_limit){.until_ms = now_ms + LOG_LIMIT_MS};
    return true;
}

static bool has_to_be_quoted(const char *text) {
    if (*text == '\0')
        return true;
    while (*text != '\0') {
        size_t length = utf8_printable(text);

        if (length == 0 || strchr(" \"\\=", *text) != NULL)
            return true;
        text += length;
    }
    return false;
}

const char *log_quote(char *buffer, size_t size, const char *text) {
    char piece[5];
    size_t used = 1;

    if (!has_to_be_quoted(text)) {
        text_copy(buffer, size, text);
        return buffer;
    }
    if (size < sizeof "\"\"") {
        text_copy(buffer, size, "");
        return buffer;
    }
    buffer[0] = '"';
    while (*text != '\0') {
        size_t length = escape(&text, true, piece);

        if (used + length + sizeof "\"" > size)
            break;
        memcpy(buffer + used, piece, length);
        used += length;
    }
    memcpy(buffer + used, "\"", sizeof "\"");
    return buffer;
}
