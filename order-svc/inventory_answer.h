/* What an inventory instance answered to one call, or that it did not. */
#ifndef ORDER_INVENTORY_ANSWER_H
#define ORDER_INVENTORY_ANSWER_H

#include "http_client.h"

#include <jansson.h>

#define INVENTORY_MESSAGE_BYTES 160

struct inventory_answer {
    enum http_call_outcome outcome;
    int status;   /* when ANSWERED */
    json_t *body; /* a JSON object, or NULL when there was none; the caller drops it */
    char message[INVENTORY_MESSAGE_BYTES]; /* when not ANSWERED: why */
    char timing[HTTP_CALL_HEADER_BYTES];   /* its Server-Timing header, or "" */
};

#endif
