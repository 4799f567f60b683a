/* The HTTP interface of order-svc: JSON, and the article's own path. */
#ifndef ORDER_HANDLERS_H
#define ORDER_HANDLERS_H

#include "http_server.h"

/* For http_server_options.routes; `data` is a struct order_svc. */
extern const struct http_route order_routes[];

#endif
