/* The secret that inventory-svc shares with order-svc: who takes units back or reads all of the
 * ledger has to name it. */
#ifndef INVENTORY_SECRET_H
#define INVENTORY_SECRET_H

#include "http_server.h"

#include <stdbool.h>

/* True when the request has `Authorization: Bearer <secret>`. False after a 401; or, when this
 * instance was started without a secret ("") and so trusts nobody, after a 403 that says so. */
bool secret_is_given(struct http_exchange *exchange, const char *secret);

#endif
