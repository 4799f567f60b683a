/* The HTTP interface of inventory-svc: which handler serves which path. */
#include "handlers.h"

const struct http_route inventory_routes[] = {
    {"POST", "/products/{id}/reservations", on_reserve},
    {"POST", "/reservations", on_reserve_many},
    {"GET", "/products/{id}", on_get_product},
    {"GET", "/strategies", on_list_strategies},
    {"GET", "/reservations", on_list_reservations},
    {"POST", "/reservations/confirmations", on_confirm},
    {"DELETE", "/reservations/{order_id}", on_cancel},
    {"GET", "/inventory/minusInventory", on_minus_inventory},
    {"POST", "/inventory/minusInventory", on_minus_inventory},
    {.method = NULL}};
