/* What an answer, or its absence, makes of the record of its request. */
#ifndef LOADGEN_ANSWER_H
#define LOADGEN_ANSWER_H

#include "record.h"

#include "http_client.h"

/* `call`, which carried the request of `record`, has ended: complete the record and end it. */
void answer_take(struct recorder *recorder, struct record *record, const struct http_call *call);

#endif
