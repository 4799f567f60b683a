/* Makes a record from an ended HTTP call. The services reply with flat objects; jansson reads any
 * other JSON. */
#include "answer.h"

#include "json_flat.h"
#include "json_read.h"
#include "text_copy.h"

#include <stdbool.h>
#include <string.h>

#define ANSWER_TEXT 64

/* The reply to an order: {"order_id": ..., "unit": ..., "instance": ...}. "" or -1 stands for a
 * member that is missing or has another type. */
struct answer_reply {
    int64_t unit;
    char order_id[ANSWER_TEXT];
    char instance[ANSWER_TEXT]; /* both texts are cut to fit */
};

static void answer_copy(char text[ANSWER_TEXT], const char *string) {
    text_copy(text, ANSWER_TEXT, string != NULL ? string : "");
}

/* The fast way: at 100,000 replies a second a request has 10 us in all, and jansson takes a fourth
 * of that. */
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

/* Text that is no JSON object gives an empty reply. */
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
    default: /* other 5xx, such as 504, may come from a proxy: the order may have been sold */
        return call->status > 500 ? RECORD_UNKNOWN : RECORD_REFUSED;
    }
}

/* Reads the order id, and for a sale also its unit. A yes that cannot be read leaves the unit at
 * -1: then the ledger contradicts it. */
static void answer_read_reply(struct recorder *recorder, struct record *record,
                              const struct http_call *call) {
    struct answer_reply reply;
    char order_id[UUID_TEXT];

    answer_read(call->reply, call->reply_length, &reply);
    if (record_is_nameless(record) && uuid_parse(reply.order_id, order_id) == 0)
        (void)record_set_id(&record->key, NULL, order_id);
    if (record->outcome != RECORD_SOLD)
        return;
    record->unit = reply.unit;
    if (reply.instance[0] != '\0')
        record->instance = recorder_instance(recorder, reply.instance);
    if (uuid_parse(reply.order_id, order_id) != 0 ||
        record_set_order_id(record, &recorder->texts, order_id) != 0)
        record->order_id = record_same;
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
