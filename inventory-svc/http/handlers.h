/* The HTTP interface of inventory-svc: a handler for each path, a file for each subject. */
#ifndef INVENTORY_HANDLERS_H
#define INVENTORY_HANDLERS_H

#include "http_server.h"

extern const struct http_route inventory_routes[]; /* routes.c; `data` is the struct store */

void on_reserve(struct http_exchange *exchange, void *data);           /* sell_handler.c */
void on_reserve_many(struct http_exchange *exchange, void *data);      /* group_handler.c */
void on_cancel(struct http_exchange *exchange, void *data);            /* ledger_handlers.c */
void on_confirm(struct http_exchange *exchange, void *data);           /* ledger_handlers.c */
void on_list_reservations(struct http_exchange *exchange, void *data); /* ledger_handlers.c */
void on_get_product(struct http_exchange *exchange, void *data);       /* product_handlers.c */
void on_list_strategies(struct http_exchange *exchange, void *data);   /* product_handlers.c */
void on_minus_inventory(struct http_exchange *exchange, void *data);   /* article.c */

#endif
