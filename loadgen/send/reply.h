/* What the reply to an order says: {"order_id": ..., "unit": ..., "instance": ...}. */
#ifndef LOADGEN_REPLY_H
#define LOADGEN_REPLY_H

#include <stddef.h>
#include <stdint.h>

#define REPLY_TEXT 64

/* "" or -1 for what it does not say, or says in a type that it does not have. */
struct reply {
    int64_t unit;
    char order_id[REPLY_TEXT];
    char instance[REPLY_TEXT]; /* cut to fit, as is the other text */
};

/* Text that is no JSON object says nothing. */
void reply_read(const char *text, size_t length, struct reply *reply);

#endif
