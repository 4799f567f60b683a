/* A table of sentences, each with its pattern and the check of its numbers against the rows. */
#include "prose.h"

#include <inttypes.h>

#define ID "%36s" /* an order's or a key's */

/* Numbers and orders of a sentence. */
struct said {
    const struct counterexample *example; /* it is a line of this one, or NULL */
    char id[2][UUID_TEXT];
    int64_t number[4];
};

static bool has_product(bool (*is_true)(uint32_t item, const struct said *said),
                        const struct said *said) {
    for (uint32_t item = 0; item < (uint32_t)sim.items; item++)
        if ((said->example == NULL || said->example->item == item) && is_true(item, said))
            return true;
    return false;
}

static int64_t sum_available(uint32_t item) {
    int64_t sum = 0;

    for (size_t i = 0; i < sim.ledgers[item].row_count; i++)
        sum += sim.rows[item][i].available;
    return sum;
}

static int64_t count_units(const struct ledger *ledger, int64_t shard) {
    int64_t count = 0;

    for (size_t i = 0; i < ledger->sale_count; i++) {
        bool is_first = ledger->sales[i].shard == shard;

        for (size_t j = 0; j < i; j++)
            is_first = is_first && (ledger->sales[j].shard != shard ||
                                    ledger->sales[j].unit != ledger->sales[i].unit);
        count += is_first;
    }
    return count;
}

static size_t count_sales(uint32_t item, const char *id, int64_t unit) {
    size_t count = 0;

    for (size_t i = 0; i < sim.ledgers[item].sale_count; i++)
        count += (id == NULL || strcmp(sim.sales[item][i].order_id, id) == 0) &&
                 sim.sales[item][i].unit == unit;
    return count;
}

static bool has_order(uint32_t item, const char *id, int64_t unit) {
    for (size_t i = 0; i < sim.ledgers[item].order_count; i++)
        if (strcmp(sim.orders[item][i].order_id, id) == 0 && sim.orders[item][i].unit == unit)
            return true;
    return false;
}

static bool has_come_back(uint32_t item, int64_t unit) {
    for (size_t i = 0; i < sim.ledgers[item].returned_count; i++)
        if (sim.returned[item][i].unit == unit)
            return true;
    return false;
}

/* Whether the unit was never sold, or came back. */
static bool is_in_stock(uint32_t item, int64_t unit) {
    for (size_t i = 0; i < sim.ledgers[item].row_count; i++) {
        const struct ledger_row *row = &sim.rows[item][i];

        if (unit >= row->first_unit && unit < row->first_unit + row->available &&
            unit < row->first_unit + row->initial)
            return true;
    }
    return has_come_back(item, unit);
}

static bool is_promised(uint32_t item, const char *id, int64_t unit) {
    for (size_t i = 0; i < sim.recorder->ended; i++) {
        const struct record *record = &sim.recorder->records[i];

        if (record->item == item && record->outcome == RECORD_SOLD && record->unit == unit &&
            (strcmp(record_order_id(record), id) == 0 ||
             (record_order_id(record)[0] == '\0' && strcmp(record_key(record), id) == 0)))
            return true;
    }
    return false;
}

/* Whether a request may have asked for the order: by its key, or by the order in its reply. */
static bool may_be_asked(uint32_t item, const char *id, bool is_sent_only) {
    for (size_t i = 0; i < sim.recorder->ended; i++) {
        const struct record *record = &sim.recorder->records[i];

        if (record->item == item && (!is_sent_only || record->sent_ns > 0) &&
            (strcmp(record_key(record), id) == 0 || strcmp(record_order_id(record), id) == 0))
            return true;
    }
    return false;
}

/* ---- sentences: each must be true of one product */

static bool sold_of_stock(uint32_t item, const struct said *said) {
    return said->number[0] == (int64_t)sim.ledgers[item].sale_count &&
           said->number[1] == sim.ledgers[item].initial;
}

static bool unit_sold_twice(uint32_t item, const struct said *said) {
    return count_sales(item, NULL, said->number[0]) >= 2 &&
           count_sales(item, said->id[0], said->number[0]) >= 1 &&
           count_sales(item, said->id[1], said->number[0]) >= 1;
}

static bool unit_sold_outside(uint32_t item, const struct said *said) {
    return count_sales(item, said->id[0], said->number[0]) >= 1 &&
           said->number[1] == sim.ledgers[item].initial &&
           (said->number[0] < 1 || said->number[0] > said->number[1]);
}

static bool unit_sold_by_shard(uint32_t item, const struct said *said) {
    for (size_t i = 0; i < sim.ledgers[item].row_count; i++) {
        const struct ledger_row *row = &sim.rows[item][i];

        if (row->shard == said->number[0] && row->first_unit == said->number[1] &&
            row->first_unit + row->initial - 1 == said->number[2])
            return count_sales(item, said->id[0], said->number[3]) >= 1 &&
                   (said->number[3] < said->number[1] || said->number[3] > said->number[2]);
    }
    return false;
}

static bool promise_without_sale(uint32_t item, const struct said *said) {
    return is_promised(item, said->id[0], said->number[0]) && sale_of(item, said->id[0]) == NULL;
}

static bool promise_of_other_unit(uint32_t item, const struct said *said) {
    return is_promised(item, said->id[0], said->number[0]) &&
           count_sales(item, said->id[0], said->number[1]) >= 1 &&
           said->number[0] != said->number[1];
}

static bool promise_without_order(uint32_t item, const struct said *said) {
    return is_promised(item, said->id[0], said->number[0]) && order_of(item, said->id[0]) == NULL;
}

static bool order_without_sale(uint32_t item, const struct said *said) {
    return has_order(item, said->id[0], said->number[0]) && sale_of(item, said->id[0]) == NULL;
}

static bool order_of_other_unit(uint32_t item, const struct said *said) {
    return has_order(item, said->id[0], said->number[0]) &&
           count_sales(item, said->id[0], said->number[1]) >= 1 &&
           said->number[0] != said->number[1];
}

static bool sale_of_nobody(uint32_t item, const struct said *said) {
    return count_sales(item, said->id[0], said->number[0]) >= 1 &&
           !may_be_asked(item, said->id[0], false);
}

static bool two_rows(uint32_t item, const struct said *said) {
    return count_sales(item, said->id[0], said->number[0]) >= 1 &&
           count_sales(item, said->id[0], said->number[1]) >= 1;
}

static bool refused_and_left(uint32_t item, const struct said *said) {
    return said->number[0] == (int64_t)count_of(item, RECORD_SOLD_OUT) &&
           said->number[1] == units_left(item);
}

static bool left_at_end(uint32_t item, const struct said *said) {
    return said->number[0] == units_left(item);
}

static bool sums_without_returned(uint32_t item, const struct said *said) {
    return said->number[0] == sum_available(item) && said->number[1] == sim.ledgers[item].units &&
           said->number[2] == said->number[0] + said->number[1] &&
           said->number[3] == sim.ledgers[item].initial && sim.ledgers[item].returned_count == 0;
}

static bool sums_with_returned(uint32_t item, const struct said *said) {
    return said->number[0] == sum_available(item) &&
           said->number[1] == (int64_t)sim.ledgers[item].returned_count &&
           said->number[2] == sim.ledgers[item].units &&
           said->number[3] == said->number[0] + said->number[1] + said->number[2];
}

static bool unit_in_stock_and_sold(uint32_t item, const struct said *said) {
    return is_in_stock(item, said->number[0]) &&
           count_sales(item, said->id[0], said->number[0]) >= 1;
}

static bool unit_passed_over(uint32_t item, const struct said *said) {
    return !is_in_stock(item, said->number[0]) && count_sales(item, NULL, said->number[0]) == 0;
}

static bool unit_back_and_sold(uint32_t item, const struct said *said) {
    return has_come_back(item, said->number[0]) && count_sales(item, NULL, said->number[0]) >= 1;
}

static bool unit_back_too_often(uint32_t item, const struct said *said) {
    size_t times = count_sales(item, NULL, said->number[0]);

    for (size_t i = 0; i < sim.ledgers[item].returned_count; i++)
        times += sim.returned[item][i].unit == said->number[0];
    return has_come_back(item, said->number[0]) && times >= 2;
}

static bool unit_back(uint32_t item, const struct said *said) {
    return has_come_back(item, said->number[0]) || count_sales(item, NULL, said->number[0]) >= 1;
}

static bool whole_stock(uint32_t item, const struct said *said) {
    const struct ledger_row *row = &sim.rows[item][0];

    return said->number[0] == row->initial && said->number[1] == row->first_unit &&
           said->number[3] == count_units(&sim.ledgers[item], row->shard);
}

/* The order of the operation with this letter. */
static const char *op_id(const struct counterexample *example, char letter) {
    const int op = letter - 'A';

    return op >= 0 && op < (int)example->ops ? example->order_id[op] : "";
}

static bool both_sold(uint32_t item, const struct said *said) {
    return count_sales(item, NULL, said->number[0]) >= 2 &&
           count_sales(item, op_id(said->example, 'A'), said->number[0]) >= 1 &&
           count_sales(item, op_id(said->example, 'B'), said->number[0]) >= 1;
}

static bool later_got(uint32_t item, const struct said *said) {
    return count_sales(item, op_id(said->example, 'B'), said->number[0]) >= 1;
}

static bool first_has(uint32_t item, const struct said *said) {
    return count_sales(item, op_id(said->example, 'A'), said->number[0]) >= 1;
}

/* `takes` has the order of numbers and ids in the pattern: i is an id, n a number. */
static const struct sentence {
    const char *pattern, *takes;
    bool (*is_true)(uint32_t item, const struct said *said);
} sentences[] = {
    {"%" SCNd64 " sold of a stock of %" SCNd64 "%n", "nn", sold_of_stock},
    {"%" SCNd64 " units were sold of a stock of %" SCNd64 ", so some were sold twice.%n", "nn",
     sold_of_stock},
    {"unit %" SCNd64 " sold twice: order " ID " by %*s at %*s order " ID " by%n", "nii",
     unit_sold_twice},
    {"unit %" SCNd64 " sold, but the stock is 1 to %" SCNd64 ": order " ID " by%n", "nni",
     unit_sold_outside},
    {"shard %" SCNd64 " had units %" SCNd64 " to %" SCNd64 ", and sold %" SCNd64 ": order " ID "%n",
     "nnnni", unit_sold_by_shard},
    {"order " ID " was promised unit %" SCNd64 ", and the ledger has no such sale%n", "in",
     promise_without_sale},
    {"order " ID " was promised unit %" SCNd64 ", and the ledger says %" SCNd64 "%n", "inn",
     promise_of_other_unit},
    {"order " ID " was promised unit %" SCNd64 ", and no order was recorded%n", "in",
     promise_without_order},
    {"order " ID " is recorded for unit %" SCNd64 ", and the ledger has no such sale%n", "in",
     order_without_sale},
    {"order " ID " is recorded for unit %" SCNd64 ", and the ledger says %" SCNd64 "%n", "inn",
     order_of_other_unit},
    {"order " ID " took unit %" SCNd64 " (%*[^)]), and no request for this product asked for it%n",
     "in", sale_of_nobody},
    {"order " ID " has two ledger rows: units %" SCNd64 " and %" SCNd64 "%n", "inn", two_rows},
    {"%" SCNd64 " requests were told sold out, and %" SCNd64 " units are left%n", "nn",
     refused_and_left},
    {"At the end %" SCNd64 " units are left in the stock.%n", "n", left_at_end},
    {"At the end %" SCNd64 " unit is left in the stock.%n", "n", left_at_end},
    {"%" SCNd64 " left + %" SCNd64 " units sold is %" SCNd64 ", and the stock was %" SCNd64 "%n",
     "nnnn", sums_without_returned},
    {"%" SCNd64 " left + %" SCNd64 " unit sold is %" SCNd64 ", and the stock was %" SCNd64 "%n",
     "nnnn", sums_without_returned},
    {"%" SCNd64 " left + %" SCNd64 " returned + %" SCNd64 " units sold is %" SCNd64 "%n", "nnnn",
     sums_with_returned},
    {"%" SCNd64 " left + %" SCNd64 " returned + %" SCNd64 " unit sold is %" SCNd64 "%n", "nnnn",
     sums_with_returned},
    {"unit %" SCNd64 " is in the stock, and order " ID " has it%n", "ni", unit_in_stock_and_sold},
    {"unit %" SCNd64 " was passed over: it is not in the stock, and no order has it%n", "n",
     unit_passed_over},
    {"unit %" SCNd64 " came back for sale, and an order has it%n", "n", unit_back_and_sold},
    {"Unit %" SCNd64 " came back for sale; but an order has it, or%n", "n", unit_back_too_often},
    {"unit %" SCNd64 " came back, and no request can have given it back%n", "n", unit_back},
    {"Unit %" SCNd64 " came back; but an order with a key is never given back%n", "n", unit_back},
    {"Unit %" SCNd64 " came back; but too few requests can have given a unit back%n", "n",
     unit_back},
    {"The stock began with %" SCNd64 " units, %" SCNd64 " to %" SCNd64 ": %" SCNd64
     " different ones sold%n",
     "nnnn", whole_stock},
    {"Both sold unit %" SCNd64 ", and the ledger has both sales.%n", "n", both_sold},
    {"There was one unit %" SCNd64 ", and two orders have it%n", "n", both_sold},
    {"B was sent after A had been answered, and got unit %" SCNd64 ".%n", "n", later_got},
    {"A sold unit %" SCNd64 ", but %n", "n", first_has},
};

static bool scan(const struct sentence *sentence, const char *text, struct said *said) {
    void *to[6];
    int end = -1;
    size_t ids = 0, numbers = 0, count = strlen(sentence->takes);

    for (size_t i = 0; i < count; i++)
        to[i] =
            sentence->takes[i] == 'i' ? (void *)said->id[ids++] : (void *)&said->number[numbers++];
    to[count] = &end;
    for (size_t i = count + 1; i < 6; i++)
        to[i] = NULL;
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
    (void)sscanf(text, sentence->pattern, to[0], to[1], to[2], to[3], to[4], to[5]);
#pragma GCC diagnostic pop
    return end >= 0;
}

static bool is_true(const struct counterexample *example, const char *text, size_t *read) {
    for (size_t i = 0; i < sizeof sentences / sizeof sentences[0]; i++) {
        struct said said = {.example = example};

        if (!scan(&sentences[i], text, &said))
            continue;
        ++*read;
        return has_product(sentences[i].is_true, &said);
    }
    return true;
}

/* ---- "A = order ...": times and effect */

static bool is_any_nameless(uint32_t item) {
    for (size_t i = 0; i < sim.recorder->ended; i++)
        if (sim.recorder->records[i].item == item && sim.recorder->records[i].sent_ns > 0 &&
            sim.recorder->records[i].outcome == RECORD_UNKNOWN && sim.is_keyless)
            return true;
    return false;
}

/* Whether a request that may have asked for the order was sent then. */
static bool was_sent_at(uint32_t item, const char *id, int64_t sent_ns) {
    for (size_t i = 0; i < sim.recorder->ended; i++) {
        const struct record *record = &sim.recorder->records[i];

        if (record->item == item && record->sent_ns == sent_ns &&
            (strcmp(record_key(record), id) == 0 || strcmp(record_order_id(record), id) == 0 ||
             record_is_nameless(record)))
            return true;
    }
    return false;
}

static bool was_answered_at(uint32_t item, const char *id, int64_t answered_ns) {
    for (size_t i = 0; i < sim.recorder->ended; i++) {
        const struct record *record = &sim.recorder->records[i];

        if (record->item == item && record->received_ns == answered_ns &&
            (strcmp(record_key(record), id) == 0 || strcmp(record_order_id(record), id) == 0))
            return true;
    }
    return false;
}

static bool is_op_line_true(const struct counterexample *example, size_t which, const char *line) {
    const struct counterexample_op *op = &example->op[which];
    const char *id = example->order_id[which], *did;
    int64_t read, wrote, unit;
    bool is_any = false;

    if (strstr(line, "never sent") != NULL &&
        (may_be_asked(example->item, id, true) || is_any_nameless(example->item)))
        return false;
    if (strstr(line, "no request for this product") != NULL &&
        may_be_asked(example->item, id, false))
        return false;
    if (op->sent_ns > 0 && !was_sent_at(example->item, id, op->sent_ns))
        return false;
    if (op->answered_ns > 0 && !was_answered_at(example->item, id, op->answered_ns))
        return false;
    if ((did = strstr(line, "read ")) != NULL) {
        if (sscanf(did, "read %" SCNd64 "%*[^,], wrote %" SCNd64, &read, &wrote) != 2 &&
            sscanf(did, "read %" SCNd64 ", wrote %" SCNd64, &read, &wrote) != 2)
            return false;
        for (size_t i = 0; i < sim.ledgers[example->item].sale_count; i++)
            is_any = is_any || (strcmp(sim.sales[example->item][i].order_id, id) == 0 &&
                                sim.sales[example->item][i].remaining == wrote &&
                                (uint64_t)read == (uint64_t)wrote + 1);
        return is_any;
    }
    if ((did = strstr(line, "took unit ")) != NULL && sscanf(did, "took unit %" SCNd64, &unit) == 1)
        return count_sales(example->item, id, unit) >= 1;
    return true;
}

static bool is_line_true(const struct counterexample *example, const char *line, size_t *read) {
    if (line[0] >= 'A' && line[0] < 'A' + COUNTEREXAMPLE_OPS && strncmp(line + 1, " = ", 3) == 0) {
        const size_t op = (size_t)(line[0] - 'A');

        ++*read;
        return op < example->ops && is_op_line_true(example, op, line);
    }
    return is_true(example, line, read);
}

/* ---- all of them */

static const char *contradicted_sum(const struct verdict *verdict) {
    int64_t sold = 0, units = 0, left = 0;

    for (int item = 0; item < sim.items; item++) {
        sold += (int64_t)sim.ledgers[item].sale_count;
        units += sim.ledgers[item].units;
        left += sum_available((uint32_t)item) + (int64_t)sim.ledgers[item].returned_count;
    }
    if (verdict->sold != sold)
        return "sold";
    if (verdict->distinct != units)
        return "different units sold";
    return verdict->left != left ? "left" : NULL;
}

const char *prose_contradiction(const struct verdict *verdict, size_t *read) {
    for (int i = 0; i < ANOMALY_COUNT; i++)
        for (size_t j = 0; j < verdict->found[i].examples; j++)
            if (!is_true(NULL, verdict->found[i].example[j], read))
                return verdict->found[i].example[j];
    for (size_t i = 0; i < verdict->counterexamples; i++) {
        const struct counterexample *example = &verdict->counterexample[i];

        for (size_t j = 0; j < example->lines; j++)
            if (!is_line_true(example, example->line[j], read))
                return example->line[j];
    }
    return contradicted_sum(verdict);
}
