/* What lockkit tells a person goes to the program's callback, or nowhere. */
#include "log.h"

#include "lockkit.h"

static lk_log_cb told;

static enum lk_log_level level_of(enum log_level level) {
    switch (level) {
    case LOG_DEBUG:
        return LK_LOG_DEBUG;
    case LOG_INFO:
        return LK_LOG_INFO;
    case LOG_WARN:
        return LK_LOG_WARN;
    case LOG_ERROR:
        return LK_LOG_ERROR;
    }
    return LK_LOG_ERROR;
}

static void on_event(enum log_level level, const char *message, const char *pairs, void *data) {
    told(level_of(level), message, pairs, data);
}

void lk_set_log(lk_log_cb cb, void *data) {
    told = cb;
    log_set_sink(cb ? on_event : NULL, data);
}
