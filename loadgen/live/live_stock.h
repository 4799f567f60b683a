/* Asks the target, now and then while a round runs, what is left and who holds the lock. */
#ifndef LOADGEN_LIVE_STOCK_H
#define LOADGEN_LIVE_STOCK_H

#include "http_client.h"

#include <stdbool.h>
#include <stdint.h>

struct live_stock {
    struct http_client *client;
    struct http_call call;
    bool is_asking;  /* `call` is in use */
    bool is_current; /* and asks for the product of this round */
    char path[64];   /* "" for none to ask for */
    int64_t left;    /* -1: not known */
    bool has_holder; /* a holder was ever named in this round */
    char holder[64]; /* "" for nobody */
};

/* `product_id` is copied; NULL: do not ask, from now on. `client` must close before `stock` goes.
 */
void live_stock_start(struct live_stock *stock, struct http_client *client, const char *product_id);
/* One question at a time: does nothing while the last one is open, for a second at most. */
void live_stock_ask(struct live_stock *stock);

#endif
