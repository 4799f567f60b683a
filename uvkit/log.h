/* A log in logfmt on stderr, one line per event, written at once, after log_init():
 *
 *     log_info("order placed", "request=%s unit=%" PRId64, id, unit);
 *     ts=2026-11-21T04:35:02.123456Z level=info svc=order-svc msg="order placed" request=9f2c
 * unit=788
 *
 * Values that may hold spaces or quotes go through log_quote(). Never pass a secret. */
#ifndef UVKIT_LOG_H
#define UVKIT_LOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum log_level { LOG_DEBUG, LOG_INFO, LOG_WARN, LOG_ERROR };

/* From now on write each event at or above `least` to stderr; before that nothing is written.
 * `service` (not copied) goes into every line. */
void log_init(const char *service, enum log_level least);
/* From now on pass every event to `cb` and write none; NULL ends that. `pairs` is formatted and
 * escaped, "" when there are none; it lives until `cb` returns. `cb` runs in the thread that logs.
 * Call this for the whole process, before any thread logs. */
typedef void (*log_sink_cb)(enum log_level level, const char *message, const char *pairs,
                            void *data);
void log_set_sink(log_sink_cb cb, void *data);
/* Parse "debug", "info", "warn" or "error": 0, or -1 for any other text. */
int log_level_parse(const char *text, enum log_level *level);

__attribute__((format(printf, 3, 4))) void log_write(enum log_level level, const char *message,
                                                     const char *pairs, ...);
#define log_debug(...) log_write(LOG_DEBUG, __VA_ARGS__)
#define log_info(...)  log_write(LOG_INFO, __VA_ARGS__)
#define log_warn(...)  log_write(LOG_WARN, __VA_ARGS__)
#define log_error(...) log_write(LOG_ERROR, __VA_ARGS__)

/* For an event that may happen at each request: true the first time, and then once in LOG_LIMIT_MS.
 * `*left_out` counts the falses since the last true. Zero the limit first. */
#define LOG_LIMIT_MS 5000
struct log_limit {
    int64_t until_ms;
    unsigned left_out;
};
bool log_limit_pass(struct log_limit *limit, int64_t now_ms, unsigned *left_out);

/* `text` as a logfmt value, quoted and escaped if needed, cut to fit. Returns `buffer`. */
const char *log_quote(char *buffer, size_t size, const char *text);

#endif
