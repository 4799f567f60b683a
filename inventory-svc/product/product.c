/* Products: the table by id, the order of last use, and the one load that all callers wait for. */
#include "product.h"

#include "fiber.h"
#include "log.h"
#include "user_command.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BUCKETS 1024

/* A fiber that waits for a product that another fiber is loading; on its stack. */
struct product_waiter {
    struct fiber_event loaded;
    LIST_ENTRY(product_waiter) others;
};

struct product_table {
    struct pg_pool *pool;
    const char *instance;
    bool is_lab;
    unsigned servers;
    unsigned limit;
    unsigned count;
    TAILQ_HEAD(use_list, product) by_use; /* least recently used first */
    LIST_HEAD(bucket, product) buckets[BUCKETS];
};

/* FNV-1a (Fowler, Noll, Vo). */
static unsigned product_hash(const char *text) {
    unsigned value = 2166136261U;

    for (; *text != '\0'; text++)
        value = (value ^ (unsigned char)*text) * 16777619U;
    return value;
}

struct product_table *product_table_open(struct pg_pool *pool, const char *instance, bool is_lab,
                                         unsigned limit) {
    struct product_table *table = calloc(1, sizeof *table);

    if (table == NULL)
        return NULL;
    table->pool = pool;
    table->instance = instance;
    table->is_lab = is_lab;
    table->limit = limit;
    TAILQ_INIT(&table->by_use);
    return table;
}

static struct product *product_find(struct product_table *table, const char *id) {
    struct product *at;

    LIST_FOREACH (at, &table->buckets[product_hash(id) % BUCKETS], in_bucket)
        if (strcmp(at->id, id) == 0)
            break;
    return at;
}

static struct product *product_add(struct product_table *table, const char *id) {
    struct product *product = calloc(1, sizeof *product);

    assert(strlen(id) == UUID_TEXT - 1 && product_find(table, id) == NULL);
    if (product == NULL)
        return NULL;
    product->table = table;
    product->users = 1;
    product->next_shard = product_hash(table->instance);
    memcpy(product->id, id, sizeof product->id);
    LIST_INSERT_HEAD(&table->buckets[product_hash(id) % BUCKETS], product, in_bucket);
    TAILQ_INSERT_TAIL(&table->by_use, product, by_use);
    table->count++;
    return product;
}

static void product_forget(struct product *product) {
    assert(product->state != PRODUCT_FORGOTTEN && product->table->count > 0);
    TAILQ_REMOVE(&product->table->by_use, product, by_use);
    LIST_REMOVE(product, in_bucket);
    product->table->count--;
    product->state = PRODUCT_FORGOTTEN;
}

static void discard(struct product *product) {
    assert(product->users == 0 && product->state == PRODUCT_FORGOTTEN);
    free(product->batchers);
    free(product->takers);
    free(product);
}

/* Forget the least recently used products that are not in use, down to the limit. */
static void product_trim(struct product_table *table) {
    struct product *at = TAILQ_FIRST(&table->by_use);

    while (at != NULL && table->count > table->limit) {
        struct product *next = TAILQ_NEXT(at, by_use);

        if (at->users == 0) {
            product_forget(at);
            discard(at);
        }
        at = next;
    }
}

static int check_server(struct product *product) {
    static const struct {
        const char *variable, *with;
    } servers[] = {[NEEDS_NONE] = {NULL, NULL},
#define X(name, with) [NEEDS_##name] = {#name, with},
                   STRATEGY_SERVERS(X)
#undef X
    };
    const struct strategy *strategy = product->spec.strategy;

    if (strategy->needs == NEEDS_NONE || (product->table->servers & 1U << strategy->needs) != 0)
        return 0;
    (void)why_set(&product->why,
                  "the strategy \"%s\" needs a server, and this service has no address of it: "
                  "%s up --with %s (or set INVENTORY_SVC_%s)",
                  strategy->name, user_command(USER_STACK), servers[strategy->needs].with,
                  servers[strategy->needs].variable);
    return -1;
}

/* 0; or -1 with the reason, also for a failpoint without --lab. */
static int read_spec(struct product *product) {
    if (spec_parse(product->row.strategy, &product->spec, &product->why) != 0 ||
        check_server(product) != 0)
        return -1;
    if (product->spec.failpoints[0].action == FAIL_NOTHING || product->table->is_lab)
        return 0;
    (void)why_set(&product->why,
                  "the failpoint \"fail=%.60s\" needs services started with --lab: %s; "
                  "INVENTORY_SVC_FLAGS=--lab %s (in containers: docker "
                  "compose --profile lab run --rm lab)",
                  product->spec.fail, user_command(USER_DOWN), user_command(USER_UP));
    return -1;
}

static enum outcome product_load(struct product *product) {
    struct pg_pool *pool = product->table->pool;
    enum outcome outcome = product_sql_find(pool, product->id, &product->row, &product->why);

    if (outcome != OUTCOME_OK)
        return outcome;
    if (read_spec(product) != 0) {
        log_warn("product with a bad strategy", "product=%s", product->id);
        return OUTCOME_BAD_STRATEGY;
    }
    outcome = product_sql_lay_out(pool, product->id, product->spec.options.shards,
                                  product->spec.options.returns_to_count, &product->why);
    /* May be repeated, even after an UNKNOWN. */
    return outcome == OUTCOME_OK || outcome == OUTCOME_FAILED ? outcome : OUTCOME_BUSY;
}

/* A product that failed to load is forgotten before the waiting fibers hear of it, so the next
 * caller tries again. */
static void load_for_all(struct product *product) {
    struct product_waiter *waiter;

    assert(product->state == PRODUCT_LOADING);
    product->outcome = product_load(product);
    if (product->outcome == OUTCOME_OK || product->outcome == OUTCOME_BAD_STRATEGY)
        product->state = PRODUCT_REMEMBERED;
    else
        product_forget(product);
    while ((waiter = LIST_FIRST(&product->waiters)) != NULL) {
        LIST_REMOVE(waiter, others);
        fiber_event_set(&waiter->loaded);
    }
}

void product_put(struct product *product) {
    assert(product->users > 0 && product->state != PRODUCT_LOADING);
    if (--product->users > 0)
        return;
    if (product->state == PRODUCT_FORGOTTEN)
        discard(product);
    else
        product_trim(product->table);
}

static void use_again(struct product *product) {
    struct product_table *table = product->table;
    struct product_waiter waiter = {.loaded = FIBER_EVENT_INIT};

    product->users++;
    TAILQ_REMOVE(&table->by_use, product, by_use);
    TAILQ_INSERT_TAIL(&table->by_use, product, by_use);
    if (product->state == PRODUCT_LOADING) {
        LIST_INSERT_HEAD(&product->waiters, &waiter, others);
        fiber_event_wait(&waiter.loaded);
    }
}

enum outcome product_get(struct product_table *table, const char *id, struct product **product,
                         struct why *why) {
    struct product *found = product_find(table, id);
    enum outcome outcome;

    *product = NULL;
    if (found != NULL) {
        use_again(found);
    } else {
        found = product_add(table, id);
        if (found == NULL) {
            (void)why_set(why, "out of memory");
            return OUTCOME_FAILED;
        }
        product_trim(table);
        load_for_all(found);
    }
    outcome = found->outcome;
    if (outcome == OUTCOME_OK) {
        *product = found;
    } else {
        *why = found->why;
        product_put(found);
    }
    return outcome;
}

void product_note_returned(struct product_table *table, const char *id) {
    struct product *product = product_find(table, id);

    if (product != NULL)
        product->none_returned_until_ms = 0;
}

unsigned product_table_count(const struct product_table *table) {
    return table->count;
}

void product_table_has(struct product_table *table, unsigned servers) {
    table->servers = servers;
}

void product_table_close(struct product_table *table) {
    struct product *product;

    if (table == NULL)
        return;
    while ((product = TAILQ_FIRST(&table->by_use)) != NULL) {
        assert(product->users == 0);
        product_forget(product);
        discard(product);
    }
    assert(table->count == 0);
    free(table);
}
