/* Completes the record of a request from its answer, or from the lack of one. */
#ifndef LOADGEN_ANSWER_H
#define LOADGEN_ANSWER_H

#include "record.h"

#include "http_client.h"

/* Call it when `call`, with the request of `record`, has ended. Completes and ends the record. */
void answer_take(struct recorder *recorder, struct record *record, const struct http_call *call);

#endif
