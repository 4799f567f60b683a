/* What an inventory instance answered to one call, or that it did not. */
#ifndef ORDER_INVENTORY_ANSWER_H
#define ORDER_INVENTORY_ANSWER_H

#include "http_client.h"
#include "json_flat.h"

#include <jansson.h>

#define INVENTORY_MESSAGE_BYTES 160

struct inventory_answer {
    enum http_call_outcome outcome;
    int status;            /* when ANSWERED */
    struct json_flat flat; /* its body when that was flat, and of a reservation */
    json_t *body; /* else a JSON object, or NULL when there was none; the caller drops it */
    char message[INVENTORY_MESSAGE_BYTES]; /* when not ANSWERED: why */
    char timing[HTTP_CALL_HEADER_BYTES];   /* its Server-Timing header, or "" */
};

/* A field of the body: "" when it is missing or no string. */
const char *inventory_text(const struct inventory_answer *answer, const char *field);
/* False when it is missing or no integer. */
bool inventory_integer(const struct inventory_answer *answer, const char *field, int64_t *number);

#endif
