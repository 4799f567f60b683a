/* The HTTP interface of inventory-svc: JSON, and the article's own path. */
#ifndef INVENTORY_HANDLERS_H
#define INVENTORY_HANDLERS_H

#include "http_server.h"

/* For http_server_options.routes; `data` is the struct store. */
extern const struct http_route inventory_routes[];

#endif
