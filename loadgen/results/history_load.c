/* Reads the history of a load that another program sent, and gives it the form of a round. */
#include "history_load.h"

#include "history_fields.h"
#include "ids.h"
#include "ledger.h"
#include "number.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define LOAD_ITEMS_MAX 1000
#define LOAD_ROWS_MAX  20000000 /* requests; and as many sales and orders together */

static const char unfinished[] =
    "the file was still written while it was read; try again at its end";

struct load {
    struct history *history;
    struct history_lines *lines;
    struct round *round; /* history->rounds[0] */
    size_t requests, items;
    size_t products;       /* product lines so far */
    struct ledger *ledger; /* of the last one, or NULL */
    bool has_sales;        /* it has lines of the type sale */
    size_t rows;
    size_t sales, numbered, with_units; /* sale lines, and how many tell their remaining or unit */
    struct why *why;
};

/* ---- the first pass: how many requests and products there are */

static bool is_blank(const char *text, size_t length) {
    return strspn(text, " \t\r") == length;
}

static int count_line(struct load *load, const char *text, size_t length) {
    struct history_line line;

    if (history_line_cut(&line, text, length, load->why) != 0)
        return -1;
    load->requests += history_line_is(&line, load_lines[LOAD_REQUEST].type);
    load->items += history_line_is(&line, load_lines[LOAD_PRODUCT].type);
    if (load->requests > LOAD_ROWS_MAX)
        return why_set(load->why, "the file has more than %d requests", LOAD_ROWS_MAX);
    if (load->items > LOAD_ITEMS_MAX)
        return why_set(load->why, "the file has more than %d products", LOAD_ITEMS_MAX);
    return 0;
}

static int count_lines(struct load *load) {
    size_t length;
    char *text;
    int code;

    while ((code = history_lines_next(load->lines, &text, &length, load->why)) > 0)
        if (!is_blank(text, length) && count_line(load, text, length) != 0)
            return -1;
    if (code == 0 && load->items == 0)
        return why_set(load->why, "the file ends, and it has no line of the type product");
    return code;
}

/* ---- the lines */

static int read_load_product(struct load *load, const struct history_line *line) {
    struct load_product product;

    if (history_line_read(line, load_lines[LOAD_PRODUCT].fields, &product, load->why) != 0)
        return -1;
    if (product.item != LOAD_UNTOLD && product.item != (int64_t)load->products)
        return why_set(load->why,
                       "its \"item\" must be %zu: products have the numbers 0, 1, 2, ...",
                       load->products);
    if (load->products == load->items)
        return why_set(load->why, unfinished);
    load->has_sales = false;
    load->ledger = &load->round->ledgers[load->products++];
    load->ledger->initial = product.initial;
    load->ledger->available = product.available;
    load->ledger->returned = product.returned;
    load->ledger->can_return = product.can_return || product.returned > 0;
    return 0;
}

static int find_status(enum record_outcome outcome) {
    static const int statuses[RECORD_OUTCOME_COUNT] = {[RECORD_SOLD] = 200,
                                                       [RECORD_SOLD_OUT] = 409,
                                                       [RECORD_BUSY] = 503,
                                                       [RECORD_REFUSED] = 400,
                                                       [RECORD_FAILED] = 500};

    return statuses[outcome];
}

static int check_request(const struct load_request *request, size_t items, struct why *why) {
    const bool is_unsent =
        request->outcome == RECORD_UNSENT || request->outcome == RECORD_UNREACHED;

    if (request->item >= (int64_t)items)
        return why_set(why, "its \"item\" must be below %zu, the number of product lines", items);
    if (!is_unsent && request->sent_ns < 1)
        return why_set(why, "its \"sent\" must be at least 1, because its outcome says that it was "
                            "sent; times count from a moment before the first request");
    if (!is_unsent && request->outcome != RECORD_UNKNOWN && request->received_ns < request->sent_ns)
        return why_set(why, "its \"received\" must not be before its \"sent\"");
    if (request->outcome == RECORD_SOLD && request->key[0] == '\0' && request->order_id[0] == '\0')
        return why_set(why, "its \"order_id\" or its \"key\" must be given, because it was sold");
    return 0;
}

/* Returns 0, or -1 without memory. */
static int make_record(const struct load_request *request, size_t number, struct texts *texts,
                       struct record *record) {
    const char *key = request->key[0] != '\0' ? request->key : request->order_id;

    *record = (struct record){.planned_ns = request->planned_ns,
                              .sent_ns = request->sent_ns,
                              .received_ns = number_max(request->received_ns, request->sent_ns),
                              .unit = -1,
                              .number = (uint32_t)number,
                              .item = (uint32_t)request->item,
                              .outcome = (enum record_outcome)request->outcome,
                              .status = (int16_t)request->status,
                              .instance = -1,
                              .is_repeat = request->is_repeat};

    if (request->planned_ns == LOAD_UNTOLD)
        record->planned_ns = request->sent_ns;
    if (request->status == LOAD_UNTOLD)
        record->status = (int16_t)find_status(record->outcome);
    cost_init(&record->cost);
    if (key[0] == '\0')
        record_leave_nameless(record);
    else if (record_set_id(&record->key, texts, key) != 0)
        return -1;
    return record_set_order_id(record, texts, request->order_id);
}

static int read_load_request(struct load *load, const struct history_line *line) {
    struct recorder *recorder = load->round->recorder;
    struct load_request request;
    struct record record;

    if (history_line_read(line, load_lines[LOAD_REQUEST].fields, &request, load->why) != 0 ||
        check_request(&request, load->items, load->why) != 0)
        return -1;
    if (recorder->ended == load->requests)
        return why_set(load->why, unfinished);
    if (make_record(&request, recorder->ended, &recorder->texts, &record) != 0)
        return why_set(load->why, "out of memory");
    recorder_add(recorder, &record);
    return 0;
}

static const char *text_or_null(const char *text) {
    return text[0] != '\0' ? text : NULL;
}

static struct ledger_told told_of(const struct load_sale *sale) {
    return (struct ledger_told){.id = sale->order_id,
                                .key = text_or_null(sale->key),
                                .instance = sale->instance,
                                .at_us = sale->at_us,
                                .quantity = sale->quantity,
                                .unit = sale->unit,
                                .remaining = sale->remaining,
                                .reserved = sale->reserved};
}

/* Reads a line of the type sale or order. */
static int read_told(struct load *load, const struct history_line *line, enum load_lines type,
                     struct load_sale *sale) {
    if (load->ledger == NULL)
        return why_set(load->why, "a line of the type product must come before it");
    sale->remaining = LOAD_UNTOLD; /* no line of the type order tells it */
    if (history_line_read(line, load_lines[type].fields, sale, load->why) != 0)
        return -1;
    if (load->rows++ == LOAD_ROWS_MAX)
        return why_set(load->why, "the file has more than %d sales, orders and writes",
                       LOAD_ROWS_MAX);
    return 0;
}

static int check_sale_line(struct load *load, const struct load_sale *sale) {
    if (sale->remaining != LOAD_UNTOLD && load->ledger->can_return)
        return why_set(load->why,
                       "its \"remaining\" must be left out, because units of its product "
                       "can come back");
    load->sales++;
    load->numbered += sale->remaining != LOAD_UNTOLD;
    load->with_units += sale->unit != LOAD_UNTOLD;
    if (load->numbered != 0 && load->numbered != load->sales)
        return why_set(load->why, "its \"remaining\" must be in all sale lines, or in none");
    if (load->with_units != 0 && load->with_units != load->sales)
        return why_set(load->why, "its \"unit\" must be in all sale lines, or in none");
    return 0;
}

static int read_load_sale(struct load *load, const struct history_line *line) {
    struct load_sale sale;
    struct ledger_told told;

    if (read_told(load, line, LOAD_SALE, &sale) != 0 || check_sale_line(load, &sale) != 0)
        return -1;
    if (!load->has_sales)
        load->ledger->sale_count = 0; /* the order lines before it are orders alone */
    load->has_sales = true;
    told = told_of(&sale);
    return ledger_add_sale(load->ledger, &told) == 0 ? 0 : why_set(load->why, "out of memory");
}

/* Without sale lines, an order is a sale, too. */
static int read_load_order(struct load *load, const struct history_line *line) {
    struct load_sale order;
    struct ledger_told told;

    if (read_told(load, line, LOAD_ORDER, &order) != 0)
        return -1;
    told = told_of(&order);
    if ((!load->has_sales && ledger_add_sale(load->ledger, &told) != 0) ||
        ledger_add_order(load->ledger, &told) != 0)
        return why_set(load->why, "out of memory");
    return 0;
}

/* The place of the next write, which may move the others; or NULL. */
static struct ledger_write *next_write(struct ledger *ledger) {
    const size_t count = ledger->write_count;
    struct ledger_write *grown;

    if ((count & (count - 1)) != 0)
        return &ledger->writes[count];
    grown = realloc(ledger->writes, (count == 0 ? 1 : 2 * count) * sizeof *grown);
    if (grown == NULL)
        return NULL;
    ledger->writes = grown;
    return &grown[count];
}

static int read_load_write(struct load *load, const struct history_line *line) {
    struct ledger_write *write;

    if (load->ledger == NULL)
        return why_set(load->why, "a line of the type product must come before it");
    if (load->rows++ == LOAD_ROWS_MAX)
        return why_set(load->why, "the file has more than %d sales, orders and writes",
                       LOAD_ROWS_MAX);
    write = next_write(load->ledger);
    if (write == NULL)
        return why_set(load->why, "out of memory");
    if (history_line_read(line, load_lines[LOAD_WRITE].fields, write, load->why) != 0)
        return -1;
    load->ledger->has_writes = true;
    load->ledger->write_count++;
    return 0;
}

static int read_load_line(struct load *load, const char *text, size_t length) {
    static int (*const read[LOAD_LINES])(struct load *, const struct history_line *) = {
        [LOAD_PRODUCT] = read_load_product,
        [LOAD_REQUEST] = read_load_request,
        [LOAD_SALE] = read_load_sale,
        [LOAD_ORDER] = read_load_order,
        [LOAD_WRITE] = read_load_write};
    struct history_line line;

    if (history_line_cut(&line, text, length, load->why) != 0)
        return -1;
    for (int i = LOAD_HEAD + 1; i < LOAD_LINES; i++)
        if (history_line_is(&line, load_lines[i].type))
            return read[i](load, &line);
    if (history_line_is(&line, load_lines[LOAD_HEAD].type))
        return why_set(load->why, "a line of the type load came before");
    return why_set(load->why,
                   "its \"type\" must be one of \"product\", \"request\", \"sale\", \"order\", "
                   "\"write\"");
}

static int read_load_lines(struct load *load) {
    size_t length;
    char *text;
    int code;

    if (history_lines_rewind(load->lines) != 0)
        return why_set(load->why, "the file must be one that can be read twice: %s",
                       strerror(errno));
    while ((code = history_lines_next(load->lines, &text, &length, load->why)) > 0)
        if (load->lines->number > 1 && !is_blank(text, length) &&
            read_load_line(load, text, length) != 0)
            return -1;
    return code;
}

/* ---- the ledgers, when all lines are read */

/* Each yes, by the order that it names. Returns how many there are. */
static size_t list_yes(const struct recorder *recorder, struct ids_entry *entries) {
    size_t count = 0;

    for (size_t i = 0; i < recorder->ended; i++)
        if (recorder->records[i].outcome == RECORD_SOLD)
            entries[count++] = (struct ids_entry){.id = record_order(&recorder->records[i]),
                                                  .row = &recorder->records[i]};
    return count;
}

/* No reply names a unit: so a yes promises the unit of its sale. Entries and the sales of each
 * product are in the same order; `next` has a place in the sales of each. */
static void promise_units(struct round *round, const struct ids_entry *entries, size_t count,
                          size_t *next) {
    for (size_t i = 0; i < count; i++) {
        const struct record *named = entries[i].row;
        struct record *record = &round->recorder->records[named - round->recorder->records];
        const struct ledger *ledger = &round->ledgers[record->item];
        size_t *place = &next[record->item];

        if (i + IDS_AHEAD < count)
            __builtin_prefetch(entries[i + IDS_AHEAD].row);
        if (*place + IDS_AHEAD < ledger->sale_count)
            __builtin_prefetch(ledger->sales[*place + IDS_AHEAD].order_id);
        while (*place < ledger->sale_count &&
               strcmp(ledger->sales[*place].order_id, entries[i].id) < 0)
            ++*place;
        if (*place < ledger->sale_count &&
            strcmp(ledger->sales[*place].order_id, entries[i].id) == 0)
            record->unit = ledger->sales[*place].unit;
    }
}

/* Returns 0, or -1 without memory. */
static int make_promises(struct round *round) {
    struct ids_entry *entries = calloc(round->recorder->ended + 1, sizeof *entries);
    size_t *next = calloc(round->items, sizeof *next);
    const size_t count = entries != NULL ? list_yes(round->recorder, entries) : 0;
    const bool is_done = entries != NULL && next != NULL && ids_sort(entries, count) == 0;

    if (is_done)
        promise_units(round, entries, count, next);
    free(entries);
    free(next);
    return is_done ? 0 : -1;
}

/* The file has no plan: its load counts as one stage of constant rate. */
static void shape_stage(struct load *load) {
    struct options *options = &load->history->options;
    int64_t span_ns = load->round->recorder->last_ns + 1;

    options->duration_ns = span_ns;
    options->shape.stage_count = 1;
    options->shape.stages[0].span_ns = span_ns;
    options->shape.stages[0].from = options->shape.stages[0].to =
        (double)load->requests * 1e9 / (double)span_ns;
    options->rate = (int64_t)options->shape.stages[0].to;
}

static int finish_load(struct load *load) {
    struct round *round = load->round;

    for (size_t i = 0; i < load->items && load->numbered > 0; i++)
        if (round->ledgers[i].order_count > 0 &&
            round->ledgers[i].sales[0].remaining == LOAD_UNTOLD)
            return why_set(load->why,
                           "product %zu has order lines alone, and the sales of other products "
                           "tell their \"remaining\": give it sale lines",
                           i);
    for (size_t i = 0; i < load->items; i++)
        if (ledger_finish(&round->ledgers[i]) != 0)
            return why_set(load->why, "out of memory");
    if (make_promises(round) != 0)
        return why_set(load->why, "out of memory");
    shape_stage(load);
    round->ended_us = round->started_us + round->recorder->last_ns / 1000;
    return 0;
}

/* ---- the round */

static int begin_load(struct load *load, const struct load_head *head, const char *folder) {
    struct options *options = &load->history->options;
    struct strategy_item *item = &options->list.items[0];
    struct round *round = load->history->rounds = calloc(1, sizeof *round);
    const char *name = head->name[0] != '\0' ? head->name : "load";

    if (round == NULL || option_read_defaults(options) != 0)
        return why_set(load->why, "out of memory");
    load->round = round;
    load->history->count = 1;
    load->history->started_us = head->started_us;
    options->is_load = true;
    options->requests = (int64_t)load->requests;
    options->items = options->repeat = 1; /* reports count all products as one stock */
    options->stock = 0;
    options->list.count = 1;
    (void)snprintf(item->given, sizeof item->given, "%s", name);
    (void)snprintf(item->name, sizeof item->name, "%s", name);
    round->item = item;
    round->items = load->items;
    round->late_ns = options->late_ns;
    round->stuck_ns = options->stuck_after_ns;
    round->started_us = head->started_us;
    round->is_shop_named = round->are_keys_ids = true;
    round->ledgers = calloc(load->items, sizeof *round->ledgers);
    round->recorder = recorder_make_past(load->requests, folder);
    return round->ledgers != NULL && round->recorder != NULL ? 0
                                                             : why_set(load->why, "out of memory");
}

int load_read(struct history *history, struct history_lines *lines,
              const struct history_line *first, const char *folder, struct why *why) {
    struct load load = {.history = history, .lines = lines, .why = why};
    struct load_head head;

    history->is_load = true;
    if (history_line_read(first, load_lines[LOAD_HEAD].fields, &head, why) != 0)
        return -1;
    if (head.version != LOAD_VERSION)
        return why_set(why, "its \"version\" must be %d, which this program reads", LOAD_VERSION);
    if (count_lines(&load) != 0 || begin_load(&load, &head, folder) != 0 ||
        read_load_lines(&load) != 0)
        return -1;
    for (size_t i = 0; i < load.items; i++)
        history->options.stock += history->rounds[0].ledgers[i].initial;
    return finish_load(&load);
}
