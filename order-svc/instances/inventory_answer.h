/* The answer of an inventory instance to one call, or the fact that it did not answer. */
#ifndef ORDER_INVENTORY_ANSWER_H
#define ORDER_INVENTORY_ANSWER_H

#include "http_client.h"
#include "json_flat.h"

#include <jansson.h>

#define INVENTORY_MESSAGE_BYTES 160

struct inventory_answer {
    enum http_call_outcome outcome;
    int status;            /* when ANSWERED */
    struct json_flat flat; /* the body, if it was flat and of a reservation */
    json_t *body;          /* else a JSON object, or NULL if it had none; the caller drops it */
    char message[INVENTORY_MESSAGE_BYTES]; /* why it is not ANSWERED */
    char timing[HTTP_CALL_HEADER_BYTES];   /* its Server-Timing header, or "" */
};

/* A field of the body: "" when it is missing or not a string. */
const char *inventory_text(const struct inventory_answer *answer, const char *field);
/* False when it is missing or not an integer. */
bool inventory_integer(const struct inventory_answer *answer, const char *field, int64_t *number);

#endif
