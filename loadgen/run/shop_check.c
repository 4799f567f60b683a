/* loadgen shop check: tests a shop file before any load, because a wrong query or rule would accuse
 * an innocent shop.
 *
 * There are three rounds, each with a new product: stock 1 for two customers; stock 3 for five;
 * and, if orders have a {{key}}, stock 2 for one customer. This customer sends an order twice. All
 * customers are prepared first, as in a run. Then they order one after the other, so no race can
 * happen: each unexpected result is a mistake in the file, or the shop needs no race to be wrong.
 * The first one ends the check. */
#include "shop_check.h"

#include "books_reader.h"
#include "check_report.h"
#include "clock.h"
#include "complain.h"
#include "exit_code.h"
#include "fiber.h"
#include "flow.h"
#include "interrupts.h"
#include "number.h"
#include "shop.h"
#include "utf8.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define CUSTOMERS 5
#define POLL_MS   20   /* between the first two looks at a ledger that lags */
#define PAUSE_MS  1000 /* the longest time between two looks, which may start a program each */
#define WORDS     256

#define SEE_ORDER "; loadgen shop order shows each request and each reply"

struct check {
    const struct options *options;
    uv_loop_t *loop;
    const struct shop *shop;
    struct check_report report;
    struct interrupts interrupts;
    bool is_interrupted;
    int exit_code;

    /* This round. */
    int64_t stock;
    int customer_count;
    bool is_repeat; /* customer 1 orders twice */
    struct flow *flow;
    struct flow_customer *customers[CUSTOMERS + 1]; /* [0] does setup and teardown */
    struct flow_customer *on_way;                   /* a signal breaks it off; or NULL */
    struct books_reader *reader;
    struct books books; /* as last read */
    int64_t sold;
    const char *sold_ids[CUSTOMERS]; /* what the customers captured; or NULL */

    /* Of all rounds. */
    bool has[COLUMN_COUNT];
    bool has_soldout, repeat_made_order;
    int64_t times[3 * CUSTOMERS];
    size_t time_count;
};

static bool goes_on(const struct check *check) {
    return check->exit_code == EXIT_AS_EXPECTED && !check->is_interrupted;
}

static void check_failed(struct check *check, const char *step, const char *expected,
                         const char *came, const char *change) {
    if (check->is_interrupted)
        return;
    check_report_failed(&check->report, step, expected, came, change);
    if (check->exit_code == EXIT_AS_EXPECTED)
        check->exit_code = EXIT_UNEXPECTED;
}

/* ---- what the file has */

static bool text_has(const struct shop_text *text, const char *name) {
    for (size_t i = 0; i < text->count; i++)
        if (text->parts[i].kind != SHOP_LITERAL && strcmp(text->parts[i].text, name) == 0)
            return true;
    return false;
}

static bool fields_have(const struct shop_fields *fields, const char *name) {
    for (size_t i = 0; i < fields->count; i++)
        if (text_has(&fields->items[i].value, name))
            return true;
    return false;
}

bool shop_sends_key(const struct shop *shop) {
    const struct shop_steps *steps = &shop->sections[SHOP_ORDER];

    for (size_t i = 0; i < steps->count; i++) {
        const struct shop_step *step = &steps->items[i];

        if (text_has(&step->url, "key") || text_has(&step->body, "key") ||
            fields_have(&step->headers, "key") || fields_have(&step->query, "key") ||
            fields_have(&step->form, "key"))
            return true;
    }
    return false;
}

bool shop_names_order(const struct shop *shop) {
    for (int section = SHOP_PREPARE; section <= SHOP_ORDER; section++) {
        const struct shop_steps *steps = &shop->sections[section];

        for (size_t i = 0; i < steps->count; i++) {
            for (size_t c = 0; c < steps->items[i].capture_count; c++)
                if (strcmp(steps->items[i].captures[c].name, "order") == 0)
                    return true;
        }
    }
    return false;
}

/* ---- the ledger */

/* Reads the books. False if that failed, which ends the check. */
static bool read_books(struct check *check, const char *step) {
    const int64_t ms = number_max(check->options->timeout_ns / 1000000, 1);
    struct why why;
    enum books_end end;

    books_free(&check->books);
    end = books_read(check->reader, flow_customer_values(check->customers[0]), ms, &check->books,
                     &why);
    if (end == BOOKS_READ)
        return true;
    if (end == BOOKS_AWAY)
        check->exit_code = EXIT_UNREACHABLE;
    check_failed(check, step, "the ledger answers both queries", why.text,
                 end == BOOKS_AWAY
                     ? "the address in the line == ledger ... ==, or start the database"
                     : "this query, or the line == ledger ... ==");
    return false;
}

static bool has_ids(const struct check *check) {
    for (int64_t i = 0; i < check->sold; i++)
        if (check->sold_ids[i] != NULL && books_find(&check->books, check->sold_ids[i]) == NULL)
            return false;
    return true;
}

/* Whether the books are those of `sold` orders of one unit each. */
static bool is_expected(const struct check *check) {
    return (int64_t)check->books.count == check->sold && check->books.sold == check->sold &&
           has_ids(check) && check->books.left == check->stock - check->sold;
}

static void tell_orders(struct check *check, const char *step) {
    const int64_t count = (int64_t)check->books.count;
    char expected[WORDS], came[WORDS];

    (void)snprintf(expected, sizeof expected, "%" PRId64 " in [Orders]", check->sold);
    (void)snprintf(came, sizeof came, "%" PRId64, count);
    if (check->sold == 0)
        check_failed(
            check, step, expected, came,
            "[Orders] shows orders of before: limit it to the product of this round, such as "
            "WHERE product_id = {{product}}; `setup` or `run` must make a new product");
    else if (count < check->sold)
        check_failed(
            check, step, expected, came,
            "a customer was told `sold`, and [Orders] does not show the order: look at its "
            "product and its state; or the shop sells without an order in the ledger");
    else
        check_failed(
            check, step, expected, came,
            "[Orders] shows more than the orders of this product that were sold: look at its "
            "product and its state");
}

static void tell_ids(struct check *check, const char *step) {
    char expected[2 * WORDS], came[WORDS] = "none";
    const char *id = "";

    for (int64_t i = 0; i < check->sold; i++)
        if (check->sold_ids[i] != NULL && books_find(&check->books, check->sold_ids[i]) == NULL)
            id = check->sold_ids[i];
    (void)snprintf(expected, sizeof expected,
                   "the order \"%.200s\", which the customer captured, in [Orders]", id);
    if (check->books.count > 0)
        (void)snprintf(came, sizeof came, "others, such as \"%.128s\"", check->books.orders[0].id);
    check_failed(check, step, expected, came,
                 "the capture `order` and the column order_id must be the same id");
}

static void tell_left(struct check *check, const char *step) {
    char expected[WORDS], came[WORDS];

    (void)snprintf(expected, sizeof expected, "[Stock] says %" PRId64 " left",
                   check->stock - check->sold);
    (void)snprintf(came, sizeof came, "%" PRId64 " left", check->books.left);
    check_failed(
        check, step, expected, came,
        check->sold == 0
            ? "[Stock] must show the units of the product of this round: {{stock}} at first"
            : "[Stock] must show the units that can still be sold, without those sold or "
              "reserved");
}

/* Tells the first difference. */
static void tell_books(struct check *check, const char *step) {
    if ((int64_t)check->books.count != check->sold)
        tell_orders(check, step);
    else if (check->books.sold != check->sold)
        check_failed(
            check, step, "each order has the quantity 1",
            "the quantities have another sum than the number of orders",
            "the file must order one unit, and the column quantity must be that of the order");
    else if (!has_ids(check))
        tell_ids(check, step);
    else
        tell_left(check, step);
}

/* ---- optional columns */

static bool check_unit(struct check *check, const char *step, size_t i) {
    const struct books_order *order = &check->books.orders[i];
    char came[WORDS];
    bool is_right = order->unit >= 1 && order->unit <= check->stock;

    for (size_t j = 0; j < i; j++)
        is_right = is_right && check->books.orders[j].unit != order->unit;
    if (is_right)
        return true;
    (void)snprintf(came, sizeof came, "%" PRId64 " for the order \"%.128s\"", order->unit,
                   order->id);
    check_failed(check, step,
                 "the column unit has a number of its own for each order, 1 to the stock", came,
                 "the column unit in [Orders], or leave it out");
    return false;
}

/* Sales in turn leave each number below the stock once. */
static bool check_remaining(struct check *check, const char *step, size_t i) {
    const struct books_order *order = &check->books.orders[i];
    char came[WORDS];
    bool is_right =
        order->remaining < check->stock && order->remaining >= check->stock - check->sold;

    for (size_t j = 0; j < i; j++)
        is_right = is_right && check->books.orders[j].remaining != order->remaining;
    if (is_right)
        return true;
    (void)snprintf(came, sizeof came, "%" PRId64 " for the order \"%.128s\"", order->remaining,
                   order->id);
    check_failed(check, step,
                 "the column remaining has the units that each order left: one fewer each time",
                 came, "the column remaining in [Orders], or leave it out");
    return false;
}

static bool check_initial(struct check *check, const char *step) {
    char came[WORDS];

    if (!check->books.has[COLUMN_INITIAL] || check->books.initial == check->stock)
        return true;
    (void)snprintf(came, sizeof came, "%" PRId64 " instead of %" PRId64, check->books.initial,
                   check->stock);
    check_failed(check, step, "the column initial is the stock at first", came,
                 "the column initial in [Stock], or leave it out");
    return false;
}

static bool check_key(struct check *check, const char *step, const char *key, size_t i) {
    const struct books_order *order = &check->books.orders[i];
    char came[2 * WORDS];
    bool is_known = order->key == NULL || !shop_sends_key(check->shop);

    for (int c = 1; c <= check->customer_count && !is_known; c++)
        is_known =
            strcmp(values_get(flow_customer_values(check->customers[c]), "key"), order->key) == 0;
    if (is_known)
        return true;
    (void)snprintf(came, sizeof came, "\"%.128s\"; customer 1 sent \"%.40s\"", order->key, key);
    check_failed(check, step, "the column key is what a customer sent as {{key}}", came,
                 "the column key in [Orders], or leave it out");
    return false;
}

static bool check_columns(struct check *check, const char *step) {
    const char *key = values_get(flow_customer_values(check->customers[1]), "key");

    if (!check_initial(check, step))
        return false;
    for (size_t i = 0; i < check->books.count; i++) {
        const struct books_order *order = &check->books.orders[i];

        if ((check->books.has[COLUMN_UNIT] && !check_unit(check, step, i)) ||
            (check->books.has[COLUMN_REMAINING] && !check_remaining(check, step, i)) ||
            !check_key(check, step, key, i))
            return false;
        if (check->books.has[COLUMN_RESERVED] && order->reserved != order->quantity) {
            check_failed(
                check, step, "the column reserved is the quantity of a sold order",
                "another number",
                "the column reserved in [Orders] must show the units that are held for the "
                "order; or leave it out");
            return false;
        }
    }
    for (size_t c = 0; c < COLUMN_COUNT; c++)
        check->has[c] = check->has[c] || check->books.has[c];
    return true;
}

/* Waits until the ledger has all sales. */
static void expect_books(struct check *check, const char *step) {
    const int64_t until = clock_now_ms() + check->options->drain_ns / 1000000;
    int64_t pause_ms = POLL_MS;

    while (goes_on(check) && read_books(check, step)) {
        if (is_expected(check)) {
            if (check_columns(check, step))
                check_report_ok(&check->report, "%s: orders %" PRId64 ", left %" PRId64, step,
                                check->sold, check->stock - check->sold);
            return;
        }
        if (clock_now_ms() >= until) {
            tell_books(check, step);
            return;
        }
        fiber_sleep(check->loop, (uint64_t)pause_ms);
        pause_ms = number_min(2 * pause_ms, PAUSE_MS);
    }
}

/* ---- the customers */

static void tell_end(const struct flow_result *result, char came[static WORDS * 4]) {
    char rule[64] = "";

    if (result->rule != NULL)
        (void)snprintf(rule, sizeof rule, ", by the rule in line %d", result->rule->line);
    (void)snprintf(came, WORDS * 4, "%s%s%s%.900s", flow_end_name(result->end), rule,
                   result->why.text[0] != '\0' ? ": " : "", result->why.text);
}

/* Takes a customer through a section. */
static void check_run(struct check *check, int customer, enum shop_section section,
                      struct flow_result *result) {
    struct flow_customer *way = check->customers[customer];

    check->on_way = section != SHOP_TEARDOWN ? way : NULL;
    check->report.values = flow_customer_values(way);
    flow_run(way, section, result);
    check->on_way = NULL;
}

/* The end was not the expected one. A shop that was not reached is no mistake in the file. */
static void tell_wrong_end(struct check *check, const char *step, const char *expected,
                           const struct flow_result *result, const char *change) {
    char came[4 * WORDS];

    if (result->rule == NULL && result->reached == WEB_NOT_SENT && result->step != NULL)
        check->exit_code = EXIT_UNREACHABLE;
    tell_end(result, came);
    check_failed(check, step, expected, came,
                 check->exit_code == EXIT_UNREACHABLE ? "the line `base`, or start the shop"
                                                      : change);
}

/* `setup`, `prepare` or `teardown`. */
static void expect_done(struct check *check, int customer, enum shop_section section,
                        const char *step) {
    struct flow_result result;

    if (check->shop->sections[section].count == 0)
        return;
    check_run(check, customer, section, &result);
    if (result.end == FLOW_DONE)
        check_report_ok(&check->report, "%s", step);
    else
        tell_wrong_end(check, step, "each step is as the file says", &result,
                       "this step" SEE_ORDER);
}

/* A sale without stock: the ledger tells whether the rule or the shop is wrong. */
static void tell_oversold(struct check *check, const char *step, const struct flow_result *result) {
    char change[2 * WORDS];

    if (!read_books(check, step))
        return;
    if ((int64_t)check->books.count > check->sold)
        (void)snprintf(change, sizeof change,
                       "nothing: the shop sells more than it has to one customer after the other, "
                       "without a race; does it look at its stock?");
    else
        (void)snprintf(change, sizeof change,
                       "the ledger has no new order: the rule in line %d also holds for a refusal",
                       result->rule->line);
    tell_wrong_end(check, step, "soldout or refused, by a rule", result, change);
}

static void expect_refusal(struct check *check, const char *step,
                           const struct flow_result *result) {
    if (result->rule != NULL && (result->end == FLOW_SOLD_OUT || result->end == FLOW_REFUSED)) {
        check->has_soldout = check->has_soldout || result->end == FLOW_SOLD_OUT;
        check_report_ok(&check->report, "%s: %s, by the rule in line %d", step,
                        flow_end_name(result->end), result->rule->line);
    } else if (result->end == FLOW_SOLD) {
        tell_oversold(check, step, result);
    } else {
        tell_wrong_end(check, step, "soldout or refused, by a rule", result,
                       "add a rule `soldout` that holds for this reply to == outcome ==" SEE_ORDER);
    }
}

static void expect_sale(struct check *check, const char *step, int customer,
                        const struct flow_result *result, int64_t ns) {
    if (result->end != FLOW_SOLD) {
        tell_wrong_end(check, step, "sold, by a rule", result,
                       result->rule != NULL
                           ? "this rule holds for a sale, or the shop refuses what it has" SEE_ORDER
                           : "a rule `sold` in == outcome == must hold for this reply" SEE_ORDER);
        return;
    }
    assert(check->time_count < sizeof check->times / sizeof *check->times);
    check->times[check->time_count++] = ns;
    check->sold_ids[check->sold++] =
        values_get(flow_customer_values(check->customers[customer]), "order");
    check_report_ok(&check->report, "%s: sold, by the rule in line %d", step, result->rule->line);
}

static void order(struct check *check, int customer) {
    struct flow_result result;
    char step[WORDS];
    int64_t began;

    (void)snprintf(step, sizeof step, "stock %" PRId64 ", customer %d orders", check->stock,
                   customer);
    began = clock_now_ns();
    check_run(check, customer, SHOP_ORDER, &result);
    if (check->sold < check->stock)
        expect_sale(check, step, customer, &result, clock_now_ns() - began);
    else
        expect_refusal(check, step, &result);
    (void)snprintf(step, sizeof step, "stock %" PRId64 ", the ledger after customer %d",
                   check->stock, customer);
    expect_books(check, step);
}

/* Each reply is right, if no second order comes of it. Where the key does not come back in the
 * ledger, {{key}} may be any text to the shop, and a second order is its right. */
static void order_again(struct check *check) {
    static const char step[] = "stock 2, customer 1 repeats the order with its key";
    struct flow_result result;

    check_run(check, 1, SHOP_ORDER, &result);
    if (!goes_on(check) || !read_books(check, step))
        return;
    check->repeat_made_order = (int64_t)check->books.count != check->sold;
    if (check->repeat_made_order && check->books.has[COLUMN_KEY])
        check_failed(check, step, "no second order", "a second order with the same key",
                     "nothing: the shop does not keep to the key; or leave out the column key");
    else
        check_report_ok(&check->report, "%s: %s, %s", step, flow_end_name(result.end),
                        check->repeat_made_order ? "and a second order" : "and no second order");
}

/* ---- the rounds */

static void on_gone(void *data) {
    (void)data;
}

static bool open_customers(struct check *check) {
    for (int i = 0; i <= check->customer_count; i++) {
        check->customers[i] = flow_customer_open(check->flow, i, NULL);
        if (check->customers[i] == NULL)
            return false;
    }
    check->report.values = flow_customer_values(check->customers[0]);
    return true;
}

static void close_customers(struct check *check) {
    check->report.values = NULL;
    for (int i = 0; i <= check->customer_count; i++)
        if (check->customers[i] != NULL)
            flow_customer_close(check->customers[i]);
    memset(check->customers, 0, sizeof check->customers);
}

static void check_refuse(struct check *check, int exit_code, struct why *why) {
    values_show_why(check->report.values, why);
    complain("loadgen", "%s", why->text);
    check->exit_code = exit_code;
}

static bool open_flow(struct check *check) {
    const struct flow_options options = {.any_address = check->options->this_shop_is_mine,
                                         .timeout_ms = check->options->timeout_ns / 1000000};
    struct why why;

    if (flow_open(&check->flow, check->loop, check->shop, &options, check->stock, &why) == 0)
        return true;
    fiber_sleep(check->loop, 1); /* a Ctrl-C that ended a command of `run` is told now */
    if (!check->is_interrupted)
        check_refuse(check, EXIT_USAGE, &why);
    return false;
}

static void check_orders(struct check *check) {
    char step[WORDS];

    (void)snprintf(step, sizeof step, "stock %" PRId64 ", the ledger of the new product",
                   check->stock);
    expect_books(check, step);
    for (int i = 1; i <= check->customer_count && goes_on(check); i++) {
        (void)snprintf(step, sizeof step, "stock %" PRId64 ", prepare of customer %d", check->stock,
                       i);
        expect_done(check, i, SHOP_PREPARE, step);
    }
    for (int i = 1; i <= check->customer_count && goes_on(check); i++)
        order(check, i);
    if (check->is_repeat && goes_on(check))
        order_again(check);
}

static void walk_round(void *arg) {
    struct check *check = arg;
    struct flow_result ignored;
    char step[WORDS];
    bool is_set_up;
    struct why why;

    if (!open_flow(check))
        return;
    if (!open_customers(check)) {
        complain("loadgen", "out of memory");
        check->exit_code = EXIT_INTERNAL;
        goto end;
    }
    (void)snprintf(step, sizeof step, "stock %" PRId64 ", setup", check->stock);
    expect_done(check, 0, SHOP_SETUP, step);
    is_set_up = goes_on(check);
    if (goes_on(check) && books_reader_open(&check->reader, check->loop, check->shop,
                                            flow_customer_values(check->customers[0]), &why) != 0)
        check_refuse(check, EXIT_USAGE, &why);
    if (goes_on(check))
        check_orders(check);
    (void)snprintf(step, sizeof step, "stock %" PRId64 ", teardown", check->stock);
    if (is_set_up)
        expect_done(check, 0, SHOP_TEARDOWN, step);
    else
        check_run(check, 0, SHOP_TEARDOWN, &ignored); /* it may lack captures of `setup` */
    if (check->reader != NULL)
        books_reader_close(check->reader, on_gone, NULL);
    books_free(&check->books);
end:
    close_customers(check);
    flow_close(check->flow, on_gone, NULL);
}

static void run_round(struct check *check, int64_t stock, int customers, bool is_repeat) {
    if (!goes_on(check))
        return;
    check->stock = stock;
    check->customer_count = customers;
    check->is_repeat = is_repeat;
    check->sold = 0;
    check->reader = NULL;
    if (fiber_start(walk_round, check) != 0) {
        complain("loadgen", "out of memory");
        check->exit_code = EXIT_INTERNAL;
    }
    (void)uv_run(check->loop, UV_RUN_DEFAULT);
}

/* The teardown still runs; a second signal ends the program at once. */
static void check_on_signal(void *data, int number) {
    struct check *check = data;

    (void)number;
    if (check->is_interrupted)
        _exit(EXIT_INTERRUPTED);
    check->is_interrupted = true;
    check_report_wipe(&check->report);
    complain("loadgen", SHOP_TIDYING);
    if (check->on_way != NULL)
        flow_cancel(check->on_way);
}

/* ---- the anomalies that a run can judge */

static const char *why_no_duplicate(const struct check *check, bool sends) {
    if (!sends)
        return "no request of order sends {{key}}";
    if (!check->has[COLUMN_KEY])
        return check->repeat_made_order ? "a repeated {{key}} made a second order"
                                        : "[Orders] has no column key";
    return NULL;
}

/* Why the numbers of sales or the writes of the count cannot be asked, or NULL. */
static const char *why_no_numbers(const struct check *check) {
    if (check->has[COLUMN_REMAINING] || check->shop->ledger.writes.count > 0)
        return NULL;
    return check->shop->ledger.witness.line > 0
               ? "[Orders] has no column remaining; a run with --witness can judge it by [Witness]"
               : "[Orders] has no column remaining, and the file has neither [Writes] nor "
                 "[Witness]";
}

/* The numbers that the sales left need their moments, too. */
static const char *why_no_stale(const struct check *check, const char *no_match) {
    return check->has[COLUMN_REMAINING] ? no_match : why_no_numbers(check);
}

static int tell_abilities(struct check *check) {
    const bool sends = shop_sends_key(check->shop);
    const bool has_key = sends && check->has[COLUMN_KEY];
    const char *no_match =
        has_key || shop_names_order(check->shop)
            ? NULL
            : "no step of order captures `order`, and [Orders] shows no {{key}} that order sent";
    const struct ability abilities[] = {
        {"OVERSELL, LEAK", NULL},
        {"UNDERSELL, EARLY-SOLD-OUT",
         check->has_soldout ? NULL : "no rule said soldout when nothing was left"},
        {"GHOST", no_match},
        {"ORPHAN", no_match},
        {"DUPLICATE", why_no_duplicate(check, sends)},
        {"TWIN", check->has[COLUMN_UNIT] ? NULL : why_no_numbers(check)},
        {"STALE", why_no_stale(check, no_match)},
        {"UNBACKED", check->has[COLUMN_RESERVED] ? NULL : "[Orders] has no column reserved"},
        {NULL, NULL}};
    const struct order_times times = {check->times, check->time_count};

    return check_report_end(&check->report, check->shop, abilities, &times);
}

/* Without a step that failed, an exit code other than 0 has told its reason. */
static void end_report(struct check *check) {
    const bool has_end = !check->is_interrupted && (goes_on(check) || check->report.has_failed);

    if (!has_end) {
        check_report_drop(&check->report);
    } else if (tell_abilities(check) != 0) {
        complain("loadgen", "the output could not be written");
        check->exit_code = EXIT_INTERNAL;
    }
}

static int check_all(struct check *check) {
    interrupts_watch(&check->interrupts, check->loop, check_on_signal, check);
    run_round(check, 1, 2, false);
    run_round(check, 3, 5, false);
    if (shop_sends_key(check->shop))
        run_round(check, 2, 1, true);
    interrupts_close(&check->interrupts);
    (void)uv_run(check->loop, UV_RUN_DEFAULT);
    end_report(check);
    return check->is_interrupted ? EXIT_INTERRUPTED : check->exit_code;
}

int shop_check_learn(uv_loop_t *loop, const struct options *options, const struct shop *shop,
                     FILE *to, FILE *terminal, int64_t *order_ns) {
    struct check check = {.options = options, .loop = loop, .shop = shop};
    int exit_code;

    check_report_begin(&check.report, to, false);
    check.report.terminal = terminal;
    exit_code = check_all(&check);
    /* The report has sorted the times. */
    *order_ns = check.time_count > 0 ? check.times[check.time_count / 2] : 0;
    return exit_code;
}

int shop_check(uv_loop_t *loop, const struct options *options, const struct shop *shop, FILE *to) {
    struct check check = {.options = options, .loop = loop, .shop = shop};

    check_report_begin(&check.report, to, strcmp(options->output_format, "json") == 0);
    return check_all(&check);
}
