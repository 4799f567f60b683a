/* Tables of the members of a history's lines. */
#include "history_fields.h"

/* Far above any amount of a run. Sums and differences of a few of them fit into an int64_t. */
#define AMOUNT_MAX   LEDGER_AMOUNT_MAX
#define TIME_MAX_NS  INT64_C(1000000000000000000)
#define SKEW_MAX_US  INT64_C(1000000000000000) /* plus LEDGER_TIME_END_US, in nanoseconds, it fits */
#define REQUESTS_MAX 20000000                  /* the most requests of a run, each sent twice */

#define FIELD(of, kind, key, member, ...)                                                          \
    {                                                                                              \
        key, sizeof(key) - 1, HISTORY_##kind, offsetof(of, member), sizeof(((of *)0)->member),     \
            __VA_ARGS__                                                                            \
    }
#define PLAIN(of, kind, key, member)       FIELD(of, kind, key, member, 0, 0, false, 0, NULL)
#define OPTIONAL(of, kind, key, member)    FIELD(of, kind, key, member, 0, 0, true, 0, NULL)
#define NUMBER(of, key, member, low, high) FIELD(of, NUMBER, key, member, low, high, false, 0, NULL)
#define AMOUNT(of, key, member)            NUMBER(of, key, member, -AMOUNT_MAX, AMOUNT_MAX)
#define USUALLY(of, usual, key, member, low, high)                                                 \
    FIELD(of, NUMBER, key, member, low, high, true, usual, NULL)
#define WORD(of, key, member, words, count)                                                        \
    FIELD(of, WORD, key, member, 0, (count)-1, false, 0, words)
#define END                                                                                        \
    { .key = NULL }

/* ---- words, in the order of their enums */

#define X(id, word, text) #word,
static const char *const outcomes[] = {RECORD_OUTCOMES(X)};
#undef X
#define X(id, word, is_own, noun) word,
static const char *const locks[] = {RECORD_LOCKS(X)};
#undef X
#define X(id, word) word,
static const char *const kinds[] = {EVENT_KINDS(X)};
static const char *const results[] = {EVENT_RESULTS(X)};
static const char *const verdicts[] = {VERDICT_KINDS(X)};
#undef X

/* ---- a run and its rounds */

const struct history_field history_run[] = {
    NUMBER(struct history_run, "version", version, 0, INT32_MAX),
    NUMBER(struct history_run, "started_us", started_us, 0, LEDGER_TIME_END_US),
    PLAIN(struct history_run, JSON, "settings", settings),
    PLAIN(struct history_run, JSON, "strategies", strategies),
    PLAIN(struct history_run, JSON, "stages", stages),
    OPTIONAL(struct history_run, JSON, "shop", shop),
    END,
};

const struct history_field history_round[] = {
    NUMBER(struct history_round, "strategy", round.strategy, 0, STRATEGY_LIST_MAX - 1),
    NUMBER(struct history_round, "repeat", round.repeat, 0, AMOUNT_MAX),
    NUMBER(struct history_round, "started_us", round.started_us, 0, LEDGER_TIME_END_US),
    NUMBER(struct history_round, "ledger_skew_us", round.ledger_skew_us, -SKEW_MAX_US, SKEW_MAX_US),
    PLAIN(struct history_round, FLAG, "is_realtime", round.is_realtime),
    PLAIN(struct history_round, FLAG, "is_aborted", round.is_aborted),
    OPTIONAL(struct history_round, FLAG, "is_shop_named", round.is_shop_named),
    NUMBER(struct history_round, "requests", requests, 0, REQUESTS_MAX),
    NUMBER(struct history_round, "planned", planned, 0, REQUESTS_MAX),
    NUMBER(struct history_round, "late_launches", late_launches, 0, REQUESTS_MAX),
    USUALLY(struct history_round, 0, "part", round.part, 0, HISTORY_PARTS),
    USUALLY(struct history_round, 0, "parts", round.parts, 0, HISTORY_PARTS),
    USUALLY(struct history_round, 0, "start_ns", start_ns, 0, INT64_MAX),
    PLAIN(struct history_round, JSON, "instances", instances),
    PLAIN(struct history_round, JSON, "products", products),
    END,
};

const struct history_field history_end[] = {
    WORD(struct round, "verdict", verdict.kind, verdicts, VERDICT_UNJUDGED + 1),
    NUMBER(struct round, "ended_us", ended_us, 0, LEDGER_TIME_END_US),
    PLAIN(struct round, FLAG, "is_interrupted", is_interrupted),
    PLAIN(struct round, FLAG, "is_restless", is_restless),
    OPTIONAL(struct round, FLAG, "are_events_lost", are_events_lost),
    PLAIN(struct round, STRING, "problem", problem.text),
    OPTIONAL(struct round, FLAG, "is_mended", is_mended),
    OPTIONAL(struct round, STRING, "fault_problem", fault_problem.text),
    OPTIONAL(struct round, FLAG, "is_left_down", is_left_down),
    OPTIONAL(struct round, JSON, "steps", steps),
    END,
};

#define COST(key, member, high) USUALLY(struct record, -1, key, cost.member, -1, high)
const struct history_field history_request[] = {
    NUMBER(struct record, "number", number, 0, REQUESTS_MAX),
    USUALLY(struct record, 0, "item", item, 0, UINT32_MAX),
    NUMBER(struct record, "planned", planned_ns, 0, TIME_MAX_NS),
    USUALLY(struct record, 0, "sent", sent_ns, 0, TIME_MAX_NS),
    USUALLY(struct record, 0, "received", received_ns, 0, TIME_MAX_NS),
    USUALLY(struct record, 0, "sent_slack_us", sent_slack_us, INT32_MIN, INT32_MAX),
    USUALLY(struct record, 0, "received_slack_us", received_slack_us, INT32_MIN, INT32_MAX),
    USUALLY(struct record, 0, "status", status, 0, 999),
    USUALLY(struct record, -1, "unit", unit, -AMOUNT_MAX, AMOUNT_MAX),
    USUALLY(struct record, -1, "instance", instance, -1, RECORD_INSTANCES - 1),
    PLAIN(struct record, KEY, "key", key),
    OPTIONAL(struct record, FLAG, "is_repeat", is_repeat),
    OPTIONAL(struct record, ANSWER, "order_id", order_id),
    WORD(struct record, "outcome", outcome, outcomes, RECORD_OUTCOME_COUNT),
    COST("wait_us", wait_us, INT32_MAX),
    COST("hold_us", hold_us, INT32_MAX),
    COST("commit_us", commit_us, INT32_MAX),
    COST("postgres", postgres, INT16_MAX),
    COST("redis", redis, INT16_MAX),
    COST("retries", retries, INT32_MAX),
    COST("shard", shard, INT16_MAX),
    FIELD(struct record, WORD, "lock", cost.lock, 0, RECORD_LOCK_COUNT - 1, true,
          RECORD_LOCK_UNTOLD, locks),
    COST("kept_us", kept_us, INT32_MAX),
    END,
};

/* A time of another clock may precede the round's start. */
const struct history_field history_event[] = {
    WORD(struct event, "kind", kind, kinds, EVENT_KIND_COUNT),
    NUMBER(struct event, "at", at_ns, -TIME_MAX_NS, TIME_MAX_NS),
    NUMBER(struct event, "began", began_ns, -TIME_MAX_NS, TIME_MAX_NS),
    USUALLY(struct event, EVENT_OPEN, "until", until_ns, -TIME_MAX_NS, TIME_MAX_NS),
    USUALLY(struct event, 0, "item", item, 0, UINT32_MAX),
    PLAIN(struct event, STRING, "who", who),
    OPTIONAL(struct event, UUID, "order_id", order_id),
    PLAIN(struct event, STRING, "name", name),
    OPTIONAL(struct event, STRING, "detail", detail),
    OPTIONAL(struct event, STRING, "key", key),
    OPTIONAL(struct event, STRING, "token", token),
    FIELD(struct event, WORD, "result", result, 0, EVENT_RESULT_COUNT - 1, true, EVENT_NONE,
          results),
    END,
};

/* A part asks before its start, too. */
const struct history_field history_clock[] = {
    NUMBER(struct clock_sample, "asked", asked_ns, -TIME_MAX_NS, TIME_MAX_NS),
    NUMBER(struct clock_sample, "answered", answered_ns, -TIME_MAX_NS, TIME_MAX_NS),
    NUMBER(struct clock_sample, "told_us", told_us, 0, LEDGER_TIME_END_US),
    END,
};

const struct history_field history_doubt[] = {
    PLAIN(struct why, STRING, "text", text),
    END,
};

/* ---- a ledger */

const struct history_field history_product[] = {
    NUMBER(struct history_product, "item", item, 0, UINT32_MAX),
    AMOUNT(struct history_product, "initial", ledger.initial),
    AMOUNT(struct history_product, "available", ledger.available),
    AMOUNT(struct history_product, "returned", ledger.returned),
    AMOUNT(struct history_product, "counted", ledger.counted),
    AMOUNT(struct history_product, "units", ledger.units),
    OPTIONAL(struct history_product, FLAG, "is_unnumbered", ledger.is_unnumbered),
    OPTIONAL(struct history_product, FLAG, "has_units", ledger.has_units),
    OPTIONAL(struct history_product, FLAG, "can_return", ledger.can_return),
    OPTIONAL(struct history_product, FLAG, "has_unused", ledger.has_unused),
    OPTIONAL(struct history_product, FLAG, "has_keys", ledger.has_keys),
    OPTIONAL(struct history_product, FLAG, "has_reserved", ledger.has_reserved),
    OPTIONAL(struct history_product, FLAG, "has_writes", ledger.has_writes),
    END,
};

static const struct history_field row[] = {
    AMOUNT(struct ledger_row, "shard", shard),
    AMOUNT(struct ledger_row, "first_unit", first_unit),
    AMOUNT(struct ledger_row, "initial", initial),
    AMOUNT(struct ledger_row, "available", available),
    OPTIONAL(struct ledger_row, FLAG, "returns_to_count", returns_to_count),
    OPTIONAL(struct ledger_row, FLAG, "is_loaded", is_loaded),
    END,
};

static const struct history_field returned[] = {
    AMOUNT(struct ledger_returned, "shard", shard),
    AMOUNT(struct ledger_returned, "unit", unit),
    END,
};

static const struct history_field sale[] = {
    PLAIN(struct history_sale, OWNED, "order_id", sale.order_id),
    AMOUNT(struct history_sale, "unit", sale.unit),
    AMOUNT(struct history_sale, "remaining", sale.remaining),
    NUMBER(struct history_sale, "shard", sale.shard, INT32_MIN, INT32_MAX),
    NUMBER(struct history_sale, "fence", extra.fence, INT64_MIN, INT64_MAX),
    USUALLY(struct history_sale, 1, "quantity", sale.quantity, 0, LEDGER_QUANTITY_MAX),
    USUALLY(struct history_sale, -1, "reserved", extra.reserved, -1, AMOUNT_MAX),
    OPTIONAL(struct history_sale, OWNED, "key", extra.key),
    PLAIN(struct history_sale, NAME, "instance", sale.instance),
    PLAIN(struct history_sale, MOMENT, "at", sale.at_us),
    END,
};

static const struct history_field order[] = {
    PLAIN(struct ledger_order, OWNED, "order_id", order_id),
    AMOUNT(struct ledger_order, "unit", unit),
    PLAIN(struct ledger_order, NAME, "instance", instance),
    PLAIN(struct ledger_order, MOMENT, "at", at_us),
    END,
};

/* Of a run, and of a load that another program sent. */
static const struct history_field writes[] = {
    NUMBER(struct ledger_write, "seq", seq, INT64_MIN, INT64_MAX),
    USUALLY(struct ledger_write, WRITE_NOTHING, "found", found, -WRITE_MAX, WRITE_MAX),
    NUMBER(struct ledger_write, "left", left, -WRITE_MAX, WRITE_MAX),
    USUALLY(struct ledger_write, 0, "tx", tx, INT64_MIN, INT64_MAX),
    OPTIONAL(struct ledger_write, STRING, "row", row),
    OPTIONAL(struct ledger_write, ID, "order_id", order_id),
    OPTIONAL(struct ledger_write, MOMENT, "at", at_us),
    END,
};

#define ROWS(type, fields, of, array, count)                                                       \
    { type, fields, sizeof(of), offsetof(struct ledger, array), offsetof(struct ledger, count) }
const struct history_rows history_rows[HISTORY_ROWS] = {
    ROWS("row", row, struct ledger_row, rows, row_count),
    ROWS("returned", returned, struct ledger_returned, returned_units, returned_count),
    ROWS("sale", sale, struct ledger_sale, sales, sale_count),
    ROWS("order", order, struct ledger_order, orders, order_count),
    ROWS("write", writes, struct ledger_write, writes, write_count),
};

/* ---- the lines of a load that another program sent */

#define GIVEN(of, kind, key, member) FIELD(struct of, kind, key, member, 0, 0, false, 0, NULL)
#define MAYBE(of, kind, key, member) FIELD(struct of, kind, key, member, 0, 0, true, 0, NULL)

static const struct history_field load_head[] = {
    NUMBER(struct load_head, "version", version, 1, INT32_MAX),
    MAYBE(load_head, STRING, "name", name),
    USUALLY(struct load_head, 0, "started_us", started_us, 0, LEDGER_TIME_END_US),
    END,
};

static const struct history_field load_product[] = {
    USUALLY(struct load_product, LOAD_UNTOLD, "item", item, 0, UINT32_MAX),
    NUMBER(struct load_product, "initial", initial, 0, AMOUNT_MAX),
    AMOUNT(struct load_product, "available", available),
    USUALLY(struct load_product, 0, "returned", returned, 0, AMOUNT_MAX),
    MAYBE(load_product, FLAG, "can_return", can_return),
    END,
};

static const struct history_field load_request[] = {
    USUALLY(struct load_request, 0, "item", item, 0, UINT32_MAX),
    USUALLY(struct load_request, LOAD_UNTOLD, "planned", planned_ns, 0, TIME_MAX_NS),
    USUALLY(struct load_request, 0, "sent", sent_ns, 0, TIME_MAX_NS),
    USUALLY(struct load_request, 0, "received", received_ns, 0, TIME_MAX_NS),
    USUALLY(struct load_request, LOAD_UNTOLD, "status", status, 0, 999),
    MAYBE(load_request, ID, "key", key),
    MAYBE(load_request, ID, "order_id", order_id),
    MAYBE(load_request, FLAG, "is_repeat", is_repeat),
    WORD(struct load_request, "outcome", outcome, outcomes, RECORD_OUTCOME_COUNT),
    END,
};

static const struct history_field load_sale[] = {
    GIVEN(load_sale, ID, "order_id", order_id),
    MAYBE(load_sale, ID, "key", key),
    USUALLY(struct load_sale, 1, "quantity", quantity, 0, LEDGER_QUANTITY_MAX),
    USUALLY(struct load_sale, LOAD_UNTOLD, "unit", unit, -AMOUNT_MAX, AMOUNT_MAX),
    USUALLY(struct load_sale, LOAD_UNTOLD, "remaining", remaining, -AMOUNT_MAX, AMOUNT_MAX),
    USUALLY(struct load_sale, LOAD_UNTOLD, "reserved", reserved, 0, AMOUNT_MAX),
    MAYBE(load_sale, STRING, "instance", instance),
    MAYBE(load_sale, MOMENT, "at", at_us),
    END,
};

static const struct history_field load_order[] = {
    GIVEN(load_sale, ID, "order_id", order_id),
    MAYBE(load_sale, ID, "key", key),
    USUALLY(struct load_sale, 1, "quantity", quantity, 0, LEDGER_QUANTITY_MAX),
    USUALLY(struct load_sale, LOAD_UNTOLD, "unit", unit, -AMOUNT_MAX, AMOUNT_MAX),
    USUALLY(struct load_sale, LOAD_UNTOLD, "reserved", reserved, 0, AMOUNT_MAX),
    MAYBE(load_sale, STRING, "instance", instance),
    MAYBE(load_sale, MOMENT, "at", at_us),
    END,
};

const struct load_line load_lines[LOAD_LINES] = {
    [LOAD_HEAD] = {"load", load_head},          [LOAD_PRODUCT] = {"product", load_product},
    [LOAD_REQUEST] = {"request", load_request}, [LOAD_SALE] = {"sale", load_sale},
    [LOAD_ORDER] = {"order", load_order},       [LOAD_WRITE] = {"write", writes},
};
