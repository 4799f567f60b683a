/* Writes the operations of a round. All texts are ids and words of ours, so none needs an
 * escape. */
#include "jepsen.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>

/* The begin or the end of a request. */
struct moment_of {
    int64_t ns;
    uint32_t record; /* its place in the recorder */
    bool is_end;
};

struct jepsen {
    const struct round *round;
    FILE *to;
    bool is_json;
    int64_t index;
    int64_t last_ns;
};

/* ---- members and values of both forms */

static void put_key(const struct jepsen *jepsen, const char *before, const char *key) {
    fprintf(jepsen->to, jepsen->is_json ? "%s\"%s\": " : "%s:%s ", before, key);
}

static void put_word(const struct jepsen *jepsen, const char *key, const char *word) {
    put_key(jepsen, ", ", key);
    fprintf(jepsen->to, jepsen->is_json ? "\"%s\"" : ":%s", word);
}

static void put_number(const struct jepsen *jepsen, const char *before, const char *key,
                       int64_t number) {
    put_key(jepsen, before, key);
    fprintf(jepsen->to, "%" PRId64, number);
}

static void begin_op(struct jepsen *jepsen, int64_t process, int64_t ns, const char *type,
                     const char *f) {
    if (jepsen->is_json)
        fputs(jepsen->index == 0 ? "[" : ",\n ", jepsen->to);
    put_number(jepsen, "{", "index", jepsen->index++);
    put_number(jepsen, ", ", "time", ns);
    put_number(jepsen, ", ", "process", process);
    put_word(jepsen, "type", type);
    put_word(jepsen, "f", f);
}

static void end_op(const struct jepsen *jepsen) {
    fputs(jepsen->is_json ? "}" : "}\n", jepsen->to);
}

/* ---- requests */

static const char *type_of(enum record_outcome outcome) {
    if (outcome == RECORD_SOLD)
        return "ok";
    return outcome == RECORD_UNKNOWN ? "info" : "fail";
}

static const char *value_of(const struct record *record) {
    return record_order(record);
}

static void put_request(struct jepsen *jepsen, const struct moment_of *moment) {
    const struct record *record = &jepsen->round->recorder->records[moment->record];

    begin_op(jepsen, moment->record, moment->ns,
             moment->is_end ? type_of(record->outcome) : "invoke", "add");
    put_key(jepsen, ", ", "value");
    fprintf(jepsen->to, "\"%s\"", value_of(record));
    put_number(jepsen, ", ", "product", record->item);
    if (moment->is_end && record->outcome == RECORD_SOLD && record->unit >= 0)
        put_number(jepsen, ", ", "unit", record->unit);
    if (moment->is_end && record->outcome != RECORD_SOLD)
        put_word(jepsen, "error", record_outcome_name(record->outcome));
    end_op(jepsen);
}

static int by_moment(const void *a, const void *b) {
    const struct moment_of *x = a, *y = b;

    if (x->ns != y->ns)
        return x->ns < y->ns ? -1 : 1;
    if (x->is_end != y->is_end)
        return x->is_end ? 1 : -1;
    return (x->record > y->record) - (x->record < y->record);
}

static bool is_sent(const struct record *record) {
    return record->sent_ns > 0 && record->outcome != RECORD_UNSENT &&
           record->outcome != RECORD_UNREACHED;
}

static int put_requests(struct jepsen *jepsen) {
    const struct recorder *recorder = jepsen->round->recorder;
    struct moment_of *moments = calloc(2 * recorder->ended + 1, sizeof *moments);
    size_t count = 0;

    if (moments == NULL)
        return -1;
    for (size_t i = 0; i < recorder->ended; i++) {
        const struct record *record = &recorder->records[i];
        const int64_t end_ns =
            record->received_ns > record->sent_ns ? record->received_ns : record->sent_ns;

        if (!is_sent(record))
            continue;
        moments[count++] = (struct moment_of){record->sent_ns, (uint32_t)i, false};
        moments[count++] = (struct moment_of){end_ns, (uint32_t)i, true};
    }
    qsort(moments, count, sizeof *moments, by_moment);
    for (size_t i = 0; i < count; i++)
        put_request(jepsen, &moments[i]);
    jepsen->last_ns = count > 0 ? moments[count - 1].ns : 0;
    free(moments);
    return 0;
}

/* ---- the ledger */

static void put_orders(const struct jepsen *jepsen) {
    const char *before = "[";

    for (size_t i = 0; i < jepsen->round->items; i++)
        for (size_t k = 0; k < jepsen->round->ledgers[i].sale_count; k++) {
            fprintf(jepsen->to, "%s\"%s\"", before, jepsen->round->ledgers[i].sales[k].order_id);
            before = jepsen->is_json ? ", " : " ";
        }
    fputs(before[0] == '[' ? "[]" : "]", jepsen->to);
}

/* Which number each order left: a list of pairs, because a twin or a duplicate is no map. */
static void put_remaining(const struct jepsen *jepsen, const struct ledger *ledger) {
    const char *comma = jepsen->is_json ? ", " : " ";

    put_key(jepsen, ", ", "remaining");
    fputs("[", jepsen->to);
    for (size_t i = 0; i < ledger->sale_count; i++)
        fprintf(jepsen->to, "%s[\"%s\"%s%" PRId64 "]", i > 0 ? comma : "",
                ledger->sales[i].order_id, comma, ledger->sales[i].remaining);
    fputs("]", jepsen->to);
}

static void put_products(const struct jepsen *jepsen) {
    put_key(jepsen, ", ", "products");
    fputs("[", jepsen->to);
    for (size_t i = 0; i < jepsen->round->items; i++) {
        const struct ledger *ledger = &jepsen->round->ledgers[i];

        fputs(i > 0 && jepsen->is_json ? ", " : i > 0 ? " " : "", jepsen->to);
        put_number(jepsen, "{", "stock", ledger->initial);
        put_number(jepsen, ", ", "left", ledger->available + ledger->returned);
        if (!ledger->is_unnumbered)
            put_remaining(jepsen, ledger);
        fputs("}", jepsen->to);
    }
    fputs("]", jepsen->to);
}

static void put_read(struct jepsen *jepsen) {
    const int64_t process = (int64_t)jepsen->round->recorder->ended;

    begin_op(jepsen, process, jepsen->last_ns + 1, "invoke", "read");
    put_key(jepsen, ", ", "value");
    fputs(jepsen->is_json ? "null" : "nil", jepsen->to);
    end_op(jepsen);
    begin_op(jepsen, process, jepsen->last_ns + 2, "ok", "read");
    put_key(jepsen, ", ", "value");
    put_orders(jepsen);
    put_products(jepsen);
    end_op(jepsen);
}

int jepsen_write(const struct round *round, enum jepsen_form form, FILE *to) {
    struct jepsen jepsen = {.round = round, .to = to, .is_json = form == JEPSEN_JSON};

    if (put_requests(&jepsen) != 0)
        return -1;
    if (round->ledgers != NULL)
        put_read(&jepsen);
    if (jepsen.is_json)
        fputs(jepsen.index > 0 ? "]\n" : "[]\n", to);
    return fflush(to) == 0 && !ferror(to) ? 0 : -1;
}
