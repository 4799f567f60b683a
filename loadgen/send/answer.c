/* From the end of an HTTP call to a record. The services write replies as flat objects; jansson
 * reads any other. */
#include "answer.h"

#include "json_flat.h"
#include "json_read.h"
#include "text_copy.h"

#include <stdbool.h>
#include <string.h>

#define ANSWER_TEXT 64

/* What the reply to an order says: {"order_id": ..., "unit": ..., "instance": ...}; "" or -1 for
 * what it does not say, or says in a type that it does not have. */
struct answer_reply {
    int64_t unit;
    char order_id[ANSWER_TEXT];
    char instance[ANSWER_TEXT]; /* cut to fit, as is the other text */
};

static void answer_copy(char text[ANSWER_TEXT], const char *string) {
    text_copy(text, ANSWER_TEXT, string != NULL ? string : "");
}

/* The quick way: at 100,000 replies a second there are 10 us for all that a request needs, and
 * jansson takes a fourth of that. */
static bool read_flat(const char *text, size_t length, struct answer_reply *reply) {
    struct json_flat flat;

    if (!json_flat_read(&flat, text, length))
        return false;
    if (!json_flat_integer(&flat, "unit", &reply->unit))
        reply->unit = -1;
    answer_copy(reply->order_id, json_flat_text(&flat, "order_id"));
    answer_copy(reply->instance, json_flat_text(&flat, "instance"));
    return true;
}

/* Text that is no JSON object says nothing. */
static void answer_read(const char *text, size_t length, struct answer_reply *reply) {
    const json_t *unit;
    json_t *object;

    if (read_flat(text, length, reply))
        return;
    object = json_read(text, length, NULL);
    unit = json_object_get(object, "unit");
    reply->unit = json_is_integer(unit) ? json_integer_value(unit) : -1;
    answer_copy(reply->order_id, json_string_value(json_object_get(object, "order_id")));
    answer_copy(reply->instance, json_string_value(json_object_get(object, "instance")));
    json_decref(object);
}

static enum record_outcome answer_outcome_of(const struct http_call *call) {
    if (call->outcome != HTTP_CALL_ANSWERED)
        return call->outcome == HTTP_CALL_NOT_SENT ? RECORD_UNREACHED : RECORD_UNKNOWN;
    if (call->status >= 200 && call->status < 300)
        return RECORD_SOLD;
    switch (call->status) {
    case 409:
        return RECORD_SOLD_OUT;
    case 503:
        return RECORD_BUSY;
    case 500:
        return RECORD_FAILED;
    default: /* another 5xx, 504 among them, is of something in between: it may have been sold */
        return call->status > 500 ? RECORD_UNKNOWN : RECORD_REFUSED;
    }
}

/* The order that it names, and, of a sale, its unit. A yes that cannot be read leaves the unit at
 * -1: the ledger then contradicts it. */
static void answer_read_reply(struct recorder *recorder, struct record *record,
                              const struct http_call *call) {
    struct answer_reply reply;
    char order_id[UUID_TEXT];

    answer_read(call->reply, call->reply_length, &reply);
    if (record_is_nameless(record) && uuid_parse(reply.order_id, order_id) == 0)
        memcpy(record->key, order_id, sizeof record->key);
    if (record->outcome != RECORD_SOLD)
        return;
    record->unit = reply.unit;
    if (reply.instance[0] != '\0')
        record->instance = recorder_instance(recorder, reply.instance);
    if (uuid_parse(reply.order_id, record->order_id) != 0)
        memcpy(record->order_id, record->key, sizeof record->order_id);
}

void answer_take(struct recorder *recorder, struct record *record, const struct http_call *call) {
    record->outcome = answer_outcome_of(call);
    record->received_ns = call->received_ns - recorder->start_ns;
    if (call->outcome != HTTP_CALL_NOT_SENT)
        record->sent_ns = call->sent_ns - recorder->start_ns;
    if (call->outcome == HTTP_CALL_ANSWERED) {
        record->status = (int16_t)call->status;
        cost_parse(call->header, &record->cost);
    }
    if (record->outcome == RECORD_SOLD || (record->status != 0 && record_is_nameless(record)))
        answer_read_reply(recorder, record, call);
    recorder_end(recorder, record);
}
