/* Adds up what a sale cost, and writes it as a Server-Timing header. */
#include "sale_cost.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

void sale_cost_init(struct sale_cost *cost) {
    *cost = (struct sale_cost){.wait_ns = -1, .hold_ns = -1, .commit_ns = -1, .shard = -1};
}

static void add(int64_t *total, int64_t ns) {
    *total = *total < 0 ? ns : *total + ns;
}

void sale_cost_lock(struct sale_cost *cost, enum lock_kind kind, int64_t wait_ns,
                    unsigned attempts) {
    cost->has_lock = true;
    cost->lock = kind;
    add(&cost->wait_ns, wait_ns);
    cost->redis += attempts;
    cost->retries += attempts > 0 ? attempts - 1 : 0;
}

void sale_cost_unlock(struct sale_cost *cost, enum lock_kind kind, int64_t hold_ns,
                      bool is_released) {
    add(&cost->hold_ns, hold_ns);
    cost->redis += kind == LOCK_REDIS && is_released;
}

struct text {
    char *at;
    size_t used;
};

__attribute__((format(printf, 2, 3))) static void append(struct text *text, const char *format,
                                                         ...) {
    va_list args;
    int length;

    va_start(args, format);
    length = vsnprintf(text->at + text->used, SALE_COST_TEXT - text->used, format, args);
    va_end(args);
    if (length > 0 && (size_t)length < SALE_COST_TEXT - text->used)
        text->used += (size_t)length;
    else
        text->at[text->used] = '\0'; /* a part that has no room is left out */
}

static const char *separator(const struct text *text) {
    return text->used > 0 ? ", " : "";
}

static void append_time(struct text *text, const char *name, int64_t ns) {
    int64_t us = ns / 1000;

    if (ns >= 0)
        append(text, "%s%s;dur=%" PRId64 ".%03" PRId64, separator(text), name, us / 1000,
               us % 1000);
}

const char *sale_cost_text(const struct sale_cost *cost, char text[SALE_COST_TEXT]) {
    static const char *const locks[] = {[LOCK_LOCAL] = "local", [LOCK_REDIS] = "redis"};
    struct text out = {.at = text};

    text[0] = '\0';
    append_time(&out, "wait", cost->wait_ns);
    append_time(&out, "hold", cost->hold_ns);
    append_time(&out, "commit", cost->commit_ns);
    append(&out, "%spg;desc=\"%u\"", separator(&out), cost->postgres);
    if (cost->has_lock && cost->lock == LOCK_REDIS)
        append(&out, ", redis;desc=\"%u\", retry;desc=\"%u\"", cost->redis, cost->retries);
    if (cost->has_lock)
        append(&out, ", lock;desc=\"%s\"", locks[cost->lock]);
    if (cost->shard >= 0)
        append(&out, ", shard;desc=\"%d\"", cost->shard);
    return text;
}
