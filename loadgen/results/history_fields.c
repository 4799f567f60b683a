/* Tables of the members of a history's lines, and what reads and writes a member. */
#include "history_fields.h"

#include "json_text.h"
#include "round.h"
#include "utf8.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Far above all that a run has; and sums and differences of a few fit into an int64_t. */
#define AMOUNT_MAX   INT64_C(1000000000000)
#define TIME_MAX_NS  INT64_C(1000000000000000000)
#define SKEW_MAX_US  INT64_C(1000000000000000) /* with LEDGER_TIME_END_US its nanoseconds fit */
#define REQUESTS_MAX 20000000                  /* as many as a run has, each sent twice */

#define FIELD(of, kind, key, member, low, high, is_optional)                                       \
    {                                                                                              \
        key, HISTORY_##kind, offsetof(of, member), sizeof(((of *)0)->member), low, high,           \
            is_optional, low                                                                       \
    }
#define PLAIN(of, kind, key, member)        FIELD(of, kind, key, member, 0, 0, false)
#define NUMBER(of, key, member, low, high)  FIELD(of, NUMBER, key, member, low, high, false)
#define AMOUNT(of, key, member)             NUMBER(of, key, member, -AMOUNT_MAX, AMOUNT_MAX)
#define USUALLY(of, key, member, low, high) FIELD(of, NUMBER, key, member, low, high, true)
#define END                                                                                        \
    { .key = NULL }

/* ---- a round */

const struct history_field history_round_begin[] = {
    NUMBER(struct round, "strategy", strategy, 0, STRATEGY_LIST_MAX - 1),
    NUMBER(struct round, "repeat", repeat, 0, AMOUNT_MAX),
    NUMBER(struct round, "started_us", started_us, 0, LEDGER_TIME_END_US),
    NUMBER(struct round, "ledger_skew_us", ledger_skew_us, -SKEW_MAX_US, SKEW_MAX_US),
    PLAIN(struct round, FLAG, "is_realtime", is_realtime),
    PLAIN(struct round, FLAG, "is_aborted", is_aborted),
    END,
};

const struct history_field history_round_counts[] = {
    NUMBER(struct history_counts, "requests", requests, 0, REQUESTS_MAX),
    NUMBER(struct history_counts, "planned", planned, 0, REQUESTS_MAX),
    NUMBER(struct history_counts, "late_launches", late_launches, 0, REQUESTS_MAX),
    END,
};

const struct history_field history_round_end[] = {
    NUMBER(struct round, "ended_us", ended_us, 0, LEDGER_TIME_END_US),
    PLAIN(struct round, FLAG, "is_interrupted", is_interrupted),
    PLAIN(struct round, FLAG, "is_restless", is_restless),
    FIELD(struct round, FLAG, "are_events_lost", are_events_lost, 0, 0, true),
    PLAIN(struct round, STRING, "problem", problem),
    FIELD(struct round, FLAG, "is_mended", is_mended, 0, 0, true),
    FIELD(struct round, STRING, "fault_problem", fault_problem, 0, 0, true),
    FIELD(struct round, FLAG, "is_left_down", is_left_down, 0, 0, true),
    END,
};

const struct history_field history_request[] = {
    NUMBER(struct record, "number", number, 0, REQUESTS_MAX),
    USUALLY(struct record, "item", item, 0, UINT32_MAX),
    NUMBER(struct record, "planned", planned_ns, 0, TIME_MAX_NS),
    USUALLY(struct record, "sent", sent_ns, 0, TIME_MAX_NS),
    USUALLY(struct record, "received", received_ns, 0, TIME_MAX_NS),
    USUALLY(struct record, "status", status, 0, 999),
    {"unit", HISTORY_NUMBER, offsetof(struct record, unit), sizeof(int64_t), -AMOUNT_MAX,
     AMOUNT_MAX, true, -1},
    USUALLY(struct record, "instance", instance, -1, RECORD_INSTANCES - 1),
    PLAIN(struct record, UUID, "key", key),
    FIELD(struct record, FLAG, "is_repeat", is_repeat, 0, 0, true),
    FIELD(struct record, UUID, "order_id", order_id, 0, 0, true),
    END,
};

/* A time of another clock may be before the round's start. */
const struct history_field history_event[] = {
    NUMBER(struct event, "at", at_ns, -TIME_MAX_NS, TIME_MAX_NS),
    NUMBER(struct event, "began", began_ns, -TIME_MAX_NS, TIME_MAX_NS),
    {"until", HISTORY_NUMBER, offsetof(struct event, until_ns), sizeof(int64_t), -TIME_MAX_NS,
     TIME_MAX_NS, true, EVENT_OPEN},
    USUALLY(struct event, "item", item, 0, UINT32_MAX),
    PLAIN(struct event, STRING, "who", who),
    FIELD(struct event, UUID, "order_id", order_id, 0, 0, true),
    PLAIN(struct event, STRING, "name", name),
    FIELD(struct event, STRING, "detail", detail, 0, 0, true),
    FIELD(struct event, STRING, "key", key, 0, 0, true),
    FIELD(struct event, STRING, "token", token, 0, 0, true),
    END,
};

/* ---- a ledger */

const struct history_field history_product[] = {
    AMOUNT(struct ledger, "initial", initial),   AMOUNT(struct ledger, "available", available),
    AMOUNT(struct ledger, "returned", returned), AMOUNT(struct ledger, "counted", counted),
    AMOUNT(struct ledger, "units", units),       END,
};

static const struct history_field row[] = {
    AMOUNT(struct ledger_row, "shard", shard),
    AMOUNT(struct ledger_row, "first_unit", first_unit),
    AMOUNT(struct ledger_row, "initial", initial),
    AMOUNT(struct ledger_row, "available", available),
    FIELD(struct ledger_row, FLAG, "returns_to_count", returns_to_count, 0, 0, true),
    END,
};

static const struct history_field returned[] = {
    AMOUNT(struct ledger_returned, "shard", shard),
    AMOUNT(struct ledger_returned, "unit", unit),
    END,
};

static const struct history_field sale[] = {
    PLAIN(struct ledger_sale, UUID, "order_id", order_id),
    AMOUNT(struct ledger_sale, "unit", unit),
    AMOUNT(struct ledger_sale, "remaining", remaining),
    AMOUNT(struct ledger_sale, "shard", shard),
    NUMBER(struct ledger_sale, "fence", fence, INT64_MIN, INT64_MAX),
    PLAIN(struct ledger_sale, STRING, "instance", instance),
    PLAIN(struct ledger_sale, MOMENT, "at", at),
    END,
};

static const struct history_field order[] = {
    PLAIN(struct ledger_order, UUID, "order_id", order_id),
    AMOUNT(struct ledger_order, "unit", unit),
    PLAIN(struct ledger_order, STRING, "instance", instance),
    PLAIN(struct ledger_order, MOMENT, "at", at),
    END,
};

#define ROWS(type, fields, of, array, count)                                                       \
    { type, fields, sizeof(of), offsetof(struct ledger, array), offsetof(struct ledger, count) }
const struct history_rows history_rows[HISTORY_ROWS] = {
    ROWS("row", row, struct ledger_row, rows, row_count),
    ROWS("returned", returned, struct ledger_returned, returned_units, returned_count),
    ROWS("sale", sale, struct ledger_sale, sales, sale_count),
    ROWS("order", order, struct ledger_order, orders, order_count),
};

/* ---- writing */

int64_t history_number(const struct history_field *field, const char *at) {
    if (field->type == HISTORY_FLAG)
        return *(const bool *)at;
    if (field->size == sizeof(int16_t))
        return *(const int16_t *)(const void *)at;
    if (field->size == sizeof(uint32_t))
        return *(const uint32_t *)(const void *)at;
    assert(field->size == sizeof(int64_t));
    return *(const int64_t *)(const void *)at;
}

bool history_is_usual(const struct history_field *field, const char *at) {
    if (field->type == HISTORY_NUMBER || field->type == HISTORY_FLAG)
        return history_number(field, at) == field->usual;
    return *at == '\0';
}

static json_t *value_of(const struct history_field *field, const char *at) {
    switch (field->type) {
    case HISTORY_STRING:
    case HISTORY_MOMENT:
    case HISTORY_UUID:
        return json_text(at);
    case HISTORY_NUMBER:
        return json_integer(history_number(field, at));
    case HISTORY_FLAG:
        return json_boolean(history_number(field, at));
    }
    return NULL;
}

void history_put(json_t **line, const struct history_field *fields, const void *from) {
    for (const struct history_field *field = fields; field->key != NULL; field++) {
        const char *at = (const char *)from + field->offset;

        if (!field->is_optional || !history_is_usual(field, at))
            json_text_set(line, field->key, value_of(field, at));
    }
}

/* ---- reading */

bool history_is_moment(const char *text) {
    return text[0] == '\0' || ledger_is_time(text);
}

static void set_number(const struct history_field *field, int64_t value, void *at) {
    if (field->size == sizeof(int16_t))
        *(int16_t *)at = (int16_t)value;
    else if (field->size == sizeof(uint32_t))
        *(uint32_t *)at = (uint32_t)value;
    else
        *(int64_t *)at = value;
}

int history_set_number(const struct history_field *field, int64_t value, void *at) {
    assert(field->low <= field->high);
    if (value < field->low || value > field->high)
        return -1;
    set_number(field, value, at);
    return 0;
}

void history_set_usual(const struct history_field *field, void *at) {
    if (field->type == HISTORY_NUMBER)
        set_number(field, field->usual, at);
    else
        memset(at, 0, field->size);
}

static int get_value(const struct history_field *field, const json_t *value, void *at) {
    const char *text = json_string_value(value); /* NULL when it is none */

    switch (field->type) {
    case HISTORY_STRING:
        snprintf(at, field->size, "%s", text != NULL ? text : "");
        utf8_make_printable(at);
        return text != NULL ? 0 : -1;
    case HISTORY_MOMENT:
        snprintf(at, field->size, "%s", text != NULL ? text : "");
        return text != NULL && history_is_moment(text) ? 0 : -1;
    case HISTORY_UUID:
        return uuid_parse(text, at);
    case HISTORY_NUMBER:
        return json_is_integer(value) ? history_set_number(field, json_integer_value(value), at)
                                      : -1;
    case HISTORY_FLAG:
        *(bool *)at = json_is_true(value);
        return json_is_boolean(value) ? 0 : -1;
    }
    return -1;
}

const char *history_get(const json_t *json, const struct history_field *fields, void *to,
                        char wrong[HISTORY_WRONG]) {
    for (const struct history_field *field = fields; field->key != NULL; field++) {
        const json_t *value = json_object_get(json, field->key);
        char *at = (char *)to + field->offset;

        if (value == NULL && field->is_optional) {
            history_set_usual(field, at);
            continue;
        }
        if (get_value(field, value, at) == 0)
            continue;
        snprintf(wrong, HISTORY_WRONG, "its \"%s\" %s", field->key,
                 value == NULL ? "is missing" : "is of another type or out of range");
        return wrong;
    }
    return NULL;
}

int history_set_outcome(const char *name, enum record_outcome *outcome) {
    for (int i = 0; i < RECORD_OUTCOME_COUNT; i++)
        if (strcmp(record_outcome_name((enum record_outcome)i), name) == 0) {
            *outcome = (enum record_outcome)i;
            return 0;
        }
    return -1;
}

int history_set_cost(const int64_t parts[HISTORY_COST], struct record_cost *cost) {
    for (size_t i = 0; i < HISTORY_COST; i++)
        if (parts[i] < -1 || parts[i] > (i < 3 || i == 5 || i == 8 ? INT32_MAX : INT16_MAX))
            return -1;
    if (parts[7] >= RECORD_LOCK_COUNT)
        return -1;
    *cost = (struct record_cost){(int32_t)parts[0], (int32_t)parts[1], (int32_t)parts[2],
                                 (int16_t)parts[3], (int16_t)parts[4], (int32_t)parts[5],
                                 (int16_t)parts[6], (int16_t)parts[7], (int32_t)parts[8]};
    return 0;
}
