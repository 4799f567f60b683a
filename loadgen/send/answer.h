/* What an answer, or its absence, makes of the record of its request. */
#ifndef LOADGEN_ANSWER_H
#define LOADGEN_ANSWER_H

#include "record.h"

#include "http_client.h"

#define ANSWER_TEXT 64

/* What the reply to an order says: {"order_id": ..., "unit": ..., "instance": ...}; "" or -1 for what
 * it does not say, or says in a type that it does not have. */
struct answer_reply {
    int64_t unit;
    char order_id[ANSWER_TEXT];
    char instance[ANSWER_TEXT]; /* cut to fit, as is the other text */
};

/* Text that is no JSON object says nothing. */
void answer_read(const char *text, size_t length, struct answer_reply *reply);

/* `call`, which carried the request of `record`, has ended: complete the record and end it. */
void answer_take(struct recorder *recorder, struct record *record, const struct http_call *call);

#endif
