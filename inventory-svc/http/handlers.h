/* The HTTP interface of inventory-svc. */
#ifndef INVENTORY_HANDLERS_H
#define INVENTORY_HANDLERS_H

#include "http_server.h"

extern const struct http_route inventory_routes[]; /* `data` is the struct store */

#endif
