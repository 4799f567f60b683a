/* The notes of pending sales in Redis: read, forget, count. All run in a fiber, and return BUSY
 * with `message` when Redis does not answer. */
#ifndef INVENTORY_SEGMENT_REDIS_H
#define INVENTORY_SEGMENT_REDIS_H

#include "reservation.h"
#include "segment_sql.h"
#include "store.h"

#include <stdbool.h>
#include <stddef.h>

struct redis;

/* Notes of one product, made by one instance, of one row. */
struct note {
    struct segment_sale sale;
    int shard;
    char instance[INSTANCE_BYTES];
};

struct notes {
    size_t count;
    bool is_finished; /* nothing is noted, nor for sale: nothing will be */
    struct note notes[SEGMENT_SALES_MAX];
};

/* The oldest notes of a product that are `age_ms` old, or older. */
enum outcome notes_read(struct redis *redis, const char *product_id, int64_t age_ms,
                        struct notes *notes, char message[MESSAGE_BYTES]);
/* The note of this order, old or young, of a sale that may have been brought before. */
enum outcome notes_find(struct redis *redis, const char *product_id, const char *order_id,
                        struct note *note, bool *is_found, char message[MESSAGE_BYTES]);
/* These have been brought to the ledger. Of an order that is not SOLD there nothing is kept, so
 * that it can buy again. */
enum outcome notes_forget(struct redis *redis, const char *product_id,
                          const struct segment_sale *sales, size_t count,
                          char message[MESSAGE_BYTES]);
/* Units for sale, and notes. */
struct notes_count {
    int64_t unsold, noted;
};
enum outcome notes_count(struct redis *redis, const char *product_id, struct notes_count *count,
                         char message[MESSAGE_BYTES]);

/* The products that may have notes; *products is an array of *count, to be freed. */
enum outcome notes_products(struct redis *redis, char (**products)[UUID_TEXT], size_t *count,
                            char message[MESSAGE_BYTES]);
enum outcome notes_add_product(struct redis *redis, const char *product_id, int64_t deadline_ms,
                               char message[MESSAGE_BYTES]);
enum outcome notes_remove_product(struct redis *redis, const char *product_id,
                                  char message[MESSAGE_BYTES]);

#endif
