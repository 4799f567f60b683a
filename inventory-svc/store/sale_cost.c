/* Adds up what a sale cost, and writes it as a Server-Timing header. */
#include "sale_cost.h"

#include "decimal.h"

#include <assert.h>
#include <string.h>

static void sale_cost_add(int64_t *total, int64_t ns) {
    assert(ns >= 0); /* -1 means none */
    *total = *total < 0 ? ns : *total + ns;
}

/* The server that answers each attempt at a lock. */
static const struct {
    const char *name;
    enum { NOBODY, REDIS, POSTGRES, COORDINATOR } server;
} locks[] = {
#define X(kind, text, server) [LOCK_##kind] = {text, server},
    LOCK_KINDS(X)
#undef X
};

/* Is the lock at another server than the stock? Redis, or ZooKeeper or etcd, which count as Redis.
 */
static bool is_apart(enum lock_kind kind) {
    return locks[kind].server == REDIS || locks[kind].server == COORDINATOR;
}

static void add_trips(struct sale_cost *cost, enum lock_kind kind, unsigned trips) {
    cost->redis += is_apart(kind) ? trips : 0;
    cost->postgres += locks[kind].server == POSTGRES ? trips : 0;
}

void sale_cost_lock(struct sale_cost *cost, enum lock_kind kind, int64_t wait_ns,
                    unsigned attempts) {
    cost->has_lock = true;
    cost->lock = kind;
    sale_cost_add(&cost->wait_ns, wait_ns);
    add_trips(cost, kind, attempts);
    cost->retries += attempts > 0 ? attempts - 1 : 0;
}

void sale_cost_unlock(struct sale_cost *cost, enum lock_kind kind, int64_t hold_ns,
                      bool is_released) {
    if (hold_ns >= 0)
        sale_cost_add(&cost->hold_ns, hold_ns);
    add_trips(cost, kind, is_released);
}

/* Append a metric, unless there is no room for it. */
static void sale_cost_append(char text[SALE_COST_TEXT], const char *name, const char *value,
                             const char *end) {
    const size_t used = strlen(text);
    const char *comma = used > 0 ? ", " : "";

    if (strlen(comma) + strlen(name) + strlen(value) + strlen(end) < SALE_COST_TEXT - used)
        (void)stpcpy(stpcpy(stpcpy(stpcpy(text + used, comma), name), value), end);
}

static void append_time(char text[SALE_COST_TEXT], const char *name, int64_t ns) {
    char ms[DECIMAL_BYTES + 2];

    if (ns < 0)
        return;
    (void)decimal_write_thousandths(ms, ns / 1000);
    sale_cost_append(text, name, ms, "");
}

static void sale_cost_append_number(char text[SALE_COST_TEXT], const char *name, int64_t number) {
    char digits[DECIMAL_BYTES];

    (void)decimal_write(digits, number);
    sale_cost_append(text, name, digits, "\"");
}

const char *sale_cost_text(const struct sale_cost *cost, char text[SALE_COST_TEXT]) {
    text[0] = '\0';
    append_time(text, "wait;dur=", cost->wait_ns);
    append_time(text, "hold;dur=", cost->hold_ns);
    append_time(text, "kept;dur=", cost->kept_ns);
    append_time(text, "commit;dur=", cost->commit_ns);
    sale_cost_append_number(text, "pg;desc=\"", cost->postgres);
    if (cost->redis > 0 || (cost->has_lock && is_apart(cost->lock)))
        sale_cost_append_number(text, "redis;desc=\"", cost->redis);
    if (cost->retries > 0 || (cost->has_lock && locks[cost->lock].server != NOBODY))
        sale_cost_append_number(text, "retry;desc=\"", cost->retries);
    if (cost->has_lock)
        sale_cost_append(text, "lock;desc=\"", locks[cost->lock].name, "\"");
    if (cost->shard >= 0)
        sale_cost_append_number(text, "shard;desc=\"", cost->shard);
    return text;
}
