/* Reads the history of a load that another program sent, and gives it the form of a round. */
#include "history_load.h"

#include "history_fields.h"
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
    size_t rows, sales, numbered;
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

/* The place after the `count` rows of the array, which may move; zeroed. NULL with the reason in
 * load->why. */
static void *grow_rows(struct load *load, void **rows, size_t count, size_t size) {
    if (load->rows++ == LOAD_ROWS_MAX) {
        (void)why_set(load->why, "the file has more than %d sales and orders", LOAD_ROWS_MAX);
        return NULL;
    }
    if ((count & (count - 1)) == 0) {
        void *grown = realloc(*rows, (count == 0 ? 1 : 2 * count) * size);

        if (grown == NULL) {
            (void)why_set(load->why, "out of memory");
            return NULL;
        }
        *rows = grown;
    }
    return memset((char *)*rows + count * size, 0, size);
}

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

static struct record make_record(const struct load_request *request, size_t number) {
    struct record record = {.planned_ns = request->planned_ns,
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
        record.planned_ns = request->sent_ns;
    if (request->status == LOAD_UNTOLD)
        record.status = (int16_t)find_status(record.outcome);
    cost_init(&record.cost);
    memcpy(record.order_id, request->order_id, sizeof record.order_id);
    if (request->key[0] != '\0')
        memcpy(record.key, request->key, sizeof record.key);
    else if (request->order_id[0] != '\0')
        memcpy(record.key, request->order_id, sizeof record.key);
    else
        record_leave_nameless(&record);
    return record;
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
    record = make_record(&request, recorder->ended);
    recorder_add(recorder, &record);
    return 0;
}

static int read_load_sale(struct load *load, const struct history_line *line) {
    struct ledger_sale *sale;
    struct load_sale told;
    void *rows;

    if (load->ledger == NULL)
        return why_set(load->why, "a line of the type product must come before it");
    if (history_line_read(line, load_lines[LOAD_SALE].fields, &told, load->why) != 0)
        return -1;
    if (told.remaining != LOAD_UNTOLD && load->ledger->can_return)
        return why_set(load->why,
                       "its \"remaining\" must be left out, because units of its product "
                       "can come back");
    rows = load->ledger->sales;
    sale = grow_rows(load, &rows, load->ledger->sale_count, sizeof *sale);
    load->ledger->sales = rows;
    if (sale == NULL)
        return -1;
    load->ledger->sale_count++;
    load->sales++;
    load->numbered += told.remaining != LOAD_UNTOLD;
    if (load->numbered != 0 && load->numbered != load->sales)
        return why_set(load->why, "its \"remaining\" must be in all sale lines, or in none");
    sale->remaining = told.remaining != LOAD_UNTOLD ? told.remaining : -1;
    sale->unit = told.remaining != LOAD_UNTOLD ? told.remaining + 1 : -1;
    memcpy(sale->order_id, told.order_id, sizeof sale->order_id);
    memcpy(sale->instance, told.instance, sizeof sale->instance);
    memcpy(sale->at, told.at, sizeof sale->at);
    return 0;
}

static int read_load_order(struct load *load, const struct history_line *line) {
    struct ledger_order *order;
    struct load_order told;
    void *rows;

    if (load->ledger == NULL)
        return why_set(load->why, "a line of the type product must come before it");
    if (history_line_read(line, load_lines[LOAD_ORDER].fields, &told, load->why) != 0)
        return -1;
    rows = load->ledger->orders;
    order = grow_rows(load, &rows, load->ledger->order_count, sizeof *order);
    load->ledger->orders = rows;
    if (order == NULL)
        return -1;
    load->ledger->order_count++;
    order->unit = -1;
    memcpy(order->order_id, told.order_id, sizeof order->order_id);
    memcpy(order->instance, told.instance, sizeof order->instance);
    memcpy(order->at, told.at, sizeof order->at);
    return 0;
}

static int read_load_line(struct load *load, const char *text, size_t length) {
    static int (*const read[LOAD_LINES])(struct load *, const struct history_line *) = {
        [LOAD_PRODUCT] = read_load_product,
        [LOAD_REQUEST] = read_load_request,
        [LOAD_SALE] = read_load_sale,
        [LOAD_ORDER] = read_load_order};
    struct history_line line;

    if (history_line_cut(&line, text, length, load->why) != 0)
        return -1;
    for (int i = LOAD_HEAD + 1; i < LOAD_LINES; i++)
        if (history_line_is(&line, load_lines[i].type))
            return read[i](load, &line);
    if (history_line_is(&line, load_lines[LOAD_HEAD].type))
        return why_set(load->why, "a line of the type load came before");
    return why_set(load->why,
                   "its \"type\" must be one of \"product\", \"request\", \"sale\", \"order\"");
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

/* One of the two kinds of rows stands for the other if that is missing. */
static int mirror_rows(struct ledger *ledger) {
    if (ledger->order_count == 0 && ledger->sale_count > 0) {
        ledger->orders = calloc(ledger->sale_count, sizeof *ledger->orders);
        if (ledger->orders == NULL)
            return -1;
        for (size_t i = 0; i < ledger->sale_count; i++)
            memcpy(ledger->orders[i].order_id, ledger->sales[i].order_id, UUID_TEXT);
        ledger->order_count = ledger->sale_count;
    } else if (ledger->sale_count == 0 && ledger->order_count > 0) {
        ledger->sales = calloc(ledger->order_count, sizeof *ledger->sales);
        if (ledger->sales == NULL)
            return -1;
        for (size_t i = 0; i < ledger->order_count; i++) {
            struct ledger_sale *sale = &ledger->sales[i];

            *sale = (struct ledger_sale){.unit = -1, .remaining = -1};
            memcpy(sale->order_id, ledger->orders[i].order_id, UUID_TEXT);
            memcpy(sale->instance, ledger->orders[i].instance, sizeof sale->instance);
            memcpy(sale->at, ledger->orders[i].at, sizeof sale->at);
        }
        ledger->sale_count = ledger->order_count;
    }
    return 0;
}

static int compare_units(const void *a, const void *b) {
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

    return (x > y) - (x < y);
}

/* The number of different units, or -1 without memory. */
static int64_t count_units(const struct ledger *ledger) {
    int64_t *units = calloc(ledger->sale_count + 1, sizeof *units), count = 0;

    if (units == NULL)
        return -1;
    for (size_t i = 0; i < ledger->sale_count; i++)
        units[i] = ledger->sales[i].unit;
    qsort(units, ledger->sale_count, sizeof *units, compare_units);
    for (size_t i = 0; i < ledger->sale_count; i++)
        count += i == 0 || units[i] != units[i - 1];
    free(units);
    return count;
}

static int finish_ledger(struct ledger *ledger, bool is_unnumbered) {
    if (mirror_rows(ledger) != 0)
        return -1;
    ledger_sort(ledger);
    ledger->is_unnumbered = is_unnumbered;
    ledger->counted = (int64_t)ledger->sale_count;
    ledger->units = is_unnumbered ? ledger->counted : count_units(ledger);
    for (size_t i = 0; i < ledger->order_count; i++) {
        const struct ledger_sale *sale = ledger_find_sale(ledger, ledger->orders[i].order_id);

        ledger->orders[i].unit = sale != NULL ? sale->unit : -1;
    }
    return ledger->units < 0 ? -1 : 0;
}

/* No reply names a unit: so a yes promises the unit of its sale. */
static void promise_units(struct round *round) {
    for (size_t i = 0; i < round->recorder->ended; i++) {
        struct record *record = &round->recorder->records[i];
        const struct ledger_sale *sale;

        if (record->outcome != RECORD_SOLD)
            continue;
        sale = ledger_find_sale(&round->ledgers[record->item],
                                record->order_id[0] != '\0' ? record->order_id : record->key);
        record->unit = sale != NULL ? sale->unit : -1;
    }
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
    bool is_unnumbered = load->numbered == 0;

    for (size_t i = 0; i < load->items && load->numbered > 0; i++)
        if (round->ledgers[i].sale_count == 0 && round->ledgers[i].order_count > 0)
            return why_set(load->why,
                           "product %zu has order lines alone, and the sales of other products "
                           "tell their \"remaining\": give it sale lines",
                           i);
    for (size_t i = 0; i < load->items; i++)
        if (finish_ledger(&round->ledgers[i], is_unnumbered) != 0)
            return why_set(load->why, "out of memory");
    promise_units(round);
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
    round->is_shop_named = true;
    round->ledgers = calloc(load->items, sizeof *round->ledgers);
    round->recorder = load->requests > RECORD_MEMORY ? recorder_make_long(load->requests, folder)
                                                     : recorder_make(load->requests);
    if (round->recorder == NULL && load->requests > RECORD_MEMORY)
        round->recorder = recorder_make(load->requests);
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
