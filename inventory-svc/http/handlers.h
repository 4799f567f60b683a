/* What every handler of this instance is given. */
#ifndef INVENTORY_INVENTORY_H
#define INVENTORY_INVENTORY_H

#include "http_server.h"
#include "product.h"
#include "store_live.h"

struct inventory {
    struct store store;
    struct product_table *products;
    int port; /* for the article's replies */
};

extern const struct http_route inventory_routes[]; /* routes.c */

/* Handlers; `data` is the struct inventory. */
void on_reserve(struct http_exchange *exchange, void *data);           /* reserve_handler.c */
void on_cancel(struct http_exchange *exchange, void *data);            /* reservation_handlers.c */
void on_list_reservations(struct http_exchange *exchange, void *data); /* reservation_handlers.c */
void on_get_product(struct http_exchange *exchange, void *data);       /* product_handlers.c */
void on_list_strategies(struct http_exchange *exchange, void *data);   /* product_handlers.c */
void on_minus_inventory(struct http_exchange *exchange, void *data);   /* article.c */

/* The reply when the store did not do what it was asked: 503 busy with Retry-After, 504 unknown,
 * 500 failed. */
void reply_not_done(struct http_exchange *exchange, enum outcome outcome, const char *message);

#endif
