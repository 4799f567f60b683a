/* A run against a shop. A round has a flow of its own, because the values of a round belong to the
 * flow; the first is open before the first round, because it also tells the shop's version. */
#include "shop_run.h"

#include "books_reader.h"
#include "clock.h"
#include "crowd.h"
#include "fiber.h"
#include "flow.h"
#include "number.h"
#include "punctual.h"
#include "shop_check.h"
#include "shop_command.h"
#include "shop_kept.h"
#include "steps.h"
#include "witness.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LOOK_MS     250  /* between two looks at the customers in `prepare` */
#define READ_MS     100  /* between two looks at a ledger that lags */
#define SLOW_MS     1000 /* the same if it is quiet, but without all orders that customers have */
#define STILL_MS    500  /* the ledger is quiet if it does not change for so long */
#define UNKNOWN_MS  2000 /* the same while an order may still be on its way */
#define LEAVE_MS    3000 /* after an interrupt: how long the ledger may take to settle */
#define STEP_NAME   120
#define AUTO_FACTOR 3 /* --rate auto: so many times the rate of orders in turn */

struct shop_run {
    struct shop shop;
    struct flow *flow; /* of the next round, or of this one; NULL: it could not be opened */
    struct flow_customer *owner; /* does setup and teardown; NULL outside of a round */
    bool is_in_setup;
    bool is_set_up; /* the captures of `setup` have values, which `teardown` may need */
    struct books_reader *reader;
    struct witness *witness; /* with --witness */
    struct crowd *crowd;
    uv_timer_t look; /* shows how many customers are prepared */
};

static const struct values *owner_values(const struct shop_run *shop) {
    return flow_customer_values(shop->owner);
}

/* Makes a reason that may quote the shop one printable line without secrets. */
static void show_reason(const struct shop_run *shop, struct why *why) {
    values_show_why(shop->owner != NULL ? owner_values(shop) : NULL, why);
}

/* The view on a terminal ends first, or it would wipe the reason. */
static int shop_fail(struct run *run, int exit_code, const char *before, const struct why *why) {
    struct why shown = *why;

    show_reason(run->shop, &shown);
    progress_stop(&run->progress);
    complain("loadgen", "%s%s", before, shown.text);
    return exit_code;
}

/* ---- before the first round */

static bool is_view_wanted(const struct options *options) {
    const char *term = getenv("TERM");

    return !options->no_tui && isatty(STDERR_FILENO) && term != NULL && strcmp(term, "dumb") != 0;
}

/* Tells the steps of a check only if one of them failed. */
static int check_shop(struct run *run, int64_t *order_ns) {
    const struct shop *shop = &run->shop->shop;
    char *told = NULL;
    size_t size;
    FILE *to = open_memstream(&told, &size);
    const bool is_told = !run->options->no_progress && !run->options->json_progress;
    int exit_code;

    if (to == NULL)
        return run_fail(EXIT_INTERNAL, "out of memory");
    if (is_told)
        complain("loadgen", "checking %s first, with one order after the other", shop->path);
    exit_code = shop_check_learn(run->loop, run->options, shop, to,
                                 is_told && is_view_wanted(run->options) ? stderr : NULL, order_ns);
    if (fclose(to) != 0 && exit_code == EXIT_AS_EXPECTED)
        exit_code = run_fail(EXIT_INTERNAL, "out of memory");
    if ((exit_code == EXIT_UNEXPECTED || exit_code == EXIT_UNREACHABLE) && told != NULL)
        fputs(told, stderr);
    free(told);
    if (exit_code != EXIT_UNEXPECTED)
        return exit_code;
    complain("loadgen",
             "no load was sent: the check of %s failed, so a verdict would prove nothing",
             shop->path);
    return EXIT_INCONCLUSIVE;
}

/* The rate of --rate auto. */
static int set_rate(struct run *run, int64_t order_ns) {
    const int64_t rate = AUTO_FACTOR * INT64_C(1000000000) / number_max(order_ns, 1);
    struct why why;

    if (run->options->rate > 0 || run->options->stages[0] != '\0')
        return EXIT_AS_EXPECTED;
    return options_pace(run->options, number_max(rate, 1), &why) == 0
               ? EXIT_AS_EXPECTED
               : run_fail(EXIT_USAGE, why.text);
}

static int learn_shop(struct run *run) {
    const struct shop *shop = &run->shop->shop;
    int64_t order_ns = shop_kept_find(run->options, shop);
    int exit_code = EXIT_AS_EXPECTED;

    if (order_ns == 0) {
        exit_code = check_shop(run, &order_ns);
        if (exit_code == EXIT_AS_EXPECTED)
            shop_kept_add(run->options, shop, order_ns);
    }
    return exit_code == EXIT_AS_EXPECTED ? set_rate(run, order_ns) : exit_code;
}

int shop_run_open(struct run *run) {
    struct shop_run *shop = calloc(1, sizeof *shop);
    int exit_code;

    if (shop == NULL)
        return run_fail(EXIT_INTERNAL, "out of memory");
    exit_code = shop_command_read(&shop->shop, run->options->shop);
    if (exit_code != EXIT_AS_EXPECTED) {
        free(shop);
        return exit_code;
    }
    run->shop = shop;
    return learn_shop(run);
}

void shop_run_free(struct run *run) {
    if (run->shop == NULL)
        return;
    shop_free(&run->shop->shop);
    free(run->shop);
    run->shop = NULL;
}

/* ---- what the shop is */

/* The text for reports; NULL without memory, or with a reason. The caller frees it. */
static char *show_text(const struct shop_run *shop, const struct shop_text *text, struct why *why) {
    struct buffer filled = {0};
    char *shown = NULL;

    (void)why_set(why, "out of memory");
    if (values_fill(owner_values(shop), text, FILL_AS_IS, &filled, why) == 0)
        shown = values_show(owner_values(shop), filled.bytes, filled.length, SIZE_MAX);
    buffer_free(&filled);
    return shown;
}

static int tell_bases(const struct shop_run *shop, struct shop_about *about, struct why *why) {
    int code = 0;

    for (size_t i = 0; i < shop->shop.base_count && code == 0; i++) {
        char *base = show_text(shop, &shop->shop.bases[i], why);

        code = base != NULL ? shop_about_add_base(about, base) : -1;
        free(base);
    }
    return code;
}

static int tell_about(struct shop_run *shop, struct shop_about *about, struct why *why) {
    char *version = show_text(shop, &shop->shop.version, why), *config = NULL;
    int code = -1;

    if (version != NULL)
        config = show_text(shop, &shop->shop.config, why);
    if (config != NULL &&
        shop_about_make(about, shop->shop.name, version, config, shop->shop.path) == 0)
        code = tell_bases(shop, about, why);
    free(version);
    free(config);
    return code;
}

/* Opens the flow of a round, with its values. */
static int open_flow(struct run *run) {
    const struct options *options = run->options;
    const struct flow_options how = {.any_address = options->this_shop_is_mine,
                                     .timeout_ms = options->timeout_ns / 1000000};
    struct shop_run *shop = run->shop;
    struct why why;

    if (shop->flow == NULL &&
        flow_open(&shop->flow, run->loop, &shop->shop, &how, options->stock, &why) != 0) {
        fiber_sleep(run->loop, 1); /* a Ctrl-C that ended a command of `run` is told now */
        return run->is_interrupted ? EXIT_INTERRUPTED : shop_fail(run, EXIT_USAGE, "", &why);
    }
    shop->owner = flow_customer_open(shop->flow, 0, NULL);
    return shop->owner != NULL ? EXIT_AS_EXPECTED : run_fail(EXIT_INTERNAL, "out of memory");
}

int shop_run_meet(struct run *run) {
    struct strategy_item *item = &run->options->list.items[0];
    struct shop_run *shop = run->shop;
    int exit_code = open_flow(run);
    struct why why;

    if (exit_code != EXIT_AS_EXPECTED)
        return exit_code;
    if (tell_about(shop, &run->options->about, &why) != 0)
        exit_code = shop_fail(run, EXIT_USAGE, "", &why);
    else
        (void)snprintf(item->given, sizeof item->given, "%s", run->options->about.name);
    flow_customer_close(shop->owner);
    shop->owner = NULL;
    return exit_code;
}

/* ---- before the orders of a round */

static int run_owner(struct run *run, enum shop_section section) {
    static const char *const names[SHOP_SECTIONS] = {
        [SHOP_SETUP] = "setup: ", [SHOP_TEARDOWN] = "teardown: "};
    struct shop_run *shop = run->shop;
    struct flow_result result;

    if (shop->shop.sections[section].count == 0)
        return EXIT_AS_EXPECTED;
    shop->is_in_setup = section == SHOP_SETUP;
    flow_run(shop->owner, section, &result);
    shop->is_in_setup = false;
    if (result.end == FLOW_DONE || (section == SHOP_TEARDOWN && !shop->is_set_up))
        return EXIT_AS_EXPECTED;
    return shop_fail(run, result.reached == WEB_NOT_SENT ? EXIT_UNREACHABLE : EXIT_INCONCLUSIVE,
                     names[section], &result.why);
}

static enum books_end read_books(struct run *run, struct books *books, struct why *why) {
    const int64_t ms = run->is_interrupted ? RUN_GRACE_MS : run->options->timeout_ns / 1000000;

    *books = (struct books){0};
    return books_read(run->shop->reader, owner_values(run->shop), number_max(ms, 1), books, why);
}

/* Waits until the ledger has the new product: no order, and all units. */
static int expect_fresh(struct run *run) {
    const int64_t deadline_ms = clock_now_ms() + run->options->drain_ns / 1000000;
    const int64_t stock = run->options->stock;
    struct books books;
    struct why why;

    for (;;) {
        enum books_end end = read_books(run, &books, &why);
        bool is_fresh = end == BOOKS_READ && books.count == 0 && books.left == stock;

        (void)why_set(end == BOOKS_READ ? &why : &(struct why){""},
                      "the ledger of the new product has %zu orders and %" PRId64
                      " units left, and not 0 and %" PRId64,
                      books.count, books.left, stock);
        books_free(&books);
        if (is_fresh || run->is_interrupted)
            return is_fresh ? EXIT_AS_EXPECTED : EXIT_INTERRUPTED;
        if (end != BOOKS_READ || clock_now_ms() >= deadline_ms)
            return shop_fail(run, end == BOOKS_AWAY ? EXIT_UNREACHABLE : EXIT_INCONCLUSIVE, "",
                             &why);
        fiber_sleep(run->loop, READ_MS);
    }
}

static int64_t wait_ms(const struct run *run) {
    return run->is_interrupted ? RUN_GRACE_MS : run->options->drain_ns / 1000000;
}

static int begin_witness(struct run *run) {
    struct shop_run *shop = run->shop;
    struct why why;

    if (!run->options->witness)
        return EXIT_AS_EXPECTED;
    if (witness_open(&shop->witness, run->loop, &shop->shop, owner_values(shop), &why) != 0)
        return shop_fail(run, EXIT_USAGE, "--witness: ", &why);
    switch (
        witness_begin(shop->witness, owner_values(shop), run->options->stock, wait_ms(run), &why)) {
    case WITNESS_OK:
        return EXIT_AS_EXPECTED;
    case WITNESS_WRONG:
        return shop_fail(run, EXIT_USAGE, "--witness: ", &why);
    case WITNESS_AWAY:
        break;
    }
    return shop_fail(run, EXIT_UNREACHABLE, "--witness: ", &why);
}

static void on_look(uv_timer_t *timer) {
    struct run *run = timer->data;

    progress_prepared(&run->progress, crowd_counts(run->shop->crowd)->prepared);
}

static int prepare_customers(struct run *run, struct round *round) {
    const struct crowd_options options = {0};
    struct shop_run *shop = run->shop;
    struct why why;
    int code;

    if (crowd_open(&shop->crowd, run->loop, shop->flow, &shop->shop, &run->plan, round->recorder,
                   &options, &why) != 0)
        return run_fail(EXIT_INTERNAL, why.text);
    (void)uv_timer_init(run->loop, &shop->look);
    shop->look.data = run;
    (void)uv_timer_start(&shop->look, on_look, 0, LOOK_MS);
    code = crowd_prepare(shop->crowd, &why);
    on_look(&shop->look);
    uv_close((uv_handle_t *)&shop->look, NULL);
    if (code == 0)
        return EXIT_AS_EXPECTED;
    return run->is_interrupted ? EXIT_INTERRUPTED
                               : shop_fail(run, EXIT_INCONCLUSIVE, "prepare: ", &why);
}

int shop_run_prepare(struct run *run, struct round *round) {
    struct shop_run *shop = run->shop;
    struct why why;
    int exit_code = open_flow(run);

    assert(shop->crowd == NULL && shop->reader == NULL);
    if (exit_code == EXIT_AS_EXPECTED)
        exit_code = run_owner(run, SHOP_SETUP);
    shop->is_set_up = exit_code == EXIT_AS_EXPECTED;
    if (exit_code == EXIT_AS_EXPECTED &&
        books_reader_open(&shop->reader, run->loop, &shop->shop, owner_values(shop), &why) != 0)
        exit_code = shop_fail(run, EXIT_USAGE, "", &why);
    if (exit_code == EXIT_AS_EXPECTED)
        exit_code = expect_fresh(run);
    if (exit_code == EXIT_AS_EXPECTED)
        exit_code = begin_witness(run);
    if (exit_code == EXIT_AS_EXPECTED)
        exit_code = prepare_customers(run, round);
    return run->is_interrupted ? EXIT_INTERRUPTED : exit_code;
}

int shop_run_send(struct run *run, struct round *round) {
    int code;

    (void)punctual_start(!run->options->no_realtime);
    code = crowd_send(run->shop->crowd);
    round->is_realtime = punctual_stop();
    return code == 0 ? EXIT_AS_EXPECTED : run_fail(EXIT_INTERNAL, uv_strerror(code));
}

/* ---- after them */

static int64_t sum_reserved(const struct books *books) {
    int64_t sum = 0;

    for (size_t i = 0; books->has[COLUMN_RESERVED] && i < books->count; i++)
        sum += books->orders[i].reserved;
    return sum;
}

static bool is_same(const struct books *a, const struct books *b) {
    return a->count == b->count && a->sold == b->sold && a->left == b->left &&
           sum_reserved(a) == sum_reserved(b);
}

/* Whether the ledger has at least as many orders as customers were told that they have one. */
static bool is_complete(const struct round *round, const struct books *books) {
    return books->count >= round->recorder->by_outcome[RECORD_SOLD];
}

/* How long the ledger must stay the same. A short --drain counts only if each outcome is known. */
static int64_t still_ms(const struct run *run, const struct round *round) {
    return round->recorder->by_outcome[RECORD_UNKNOWN] > 0
               ? UNKNOWN_MS
               : number_min(STILL_MS, run->options->drain_ns / 1000000 / 2);
}

static bool is_patient(const struct run *run, int64_t began_ms) {
    const int64_t drain_ms = run->options->drain_ns / 1000000;

    return clock_now_ms() - began_ms <
           (run->is_interrupted ? number_min(drain_ms, LEAVE_MS) : drain_ms);
}

enum ledger_rest {
    AT_REST,   /* it stayed the same */
    LOOKED_AT, /* it stayed the same, but for too short a time */
    IN_MOTION,
};

/* Reads until nothing changes any more. A query may take long, so the ledger was the same from the
 * end of one reading to the beginning of another. */
static enum books_end read_quiet(struct run *run, const struct round *round, struct books *books,
                                 enum ledger_rest *rest, struct why *why) {
    const int64_t began_ms = clock_now_ms(), still = still_ms(run, round);
    enum books_end end = read_books(run, books, why);
    int64_t since_ms = clock_now_ms();

    *rest = still == 0 ? AT_REST : LOOKED_AT;
    while (end == BOOKS_READ && is_patient(run, began_ms) &&
           !(*rest == AT_REST && (is_complete(round, books) || run->is_interrupted))) {
        struct books next;
        int64_t asked_ms;

        fiber_sleep(run->loop, *rest == AT_REST ? SLOW_MS : READ_MS);
        asked_ms = clock_now_ms();
        end = read_books(run, &next, why);
        if (end == BOOKS_READ && !is_same(books, &next)) {
            since_ms = clock_now_ms();
            *rest = IN_MOTION;
        }
        books_free(books);
        *books = next;
        *rest = asked_ms - since_ms >= still ? AT_REST : *rest;
    }
    return end;
}

static void tell_order(const struct books *books, const struct books_order *order,
                       struct ledger_told *told) {
    *told = (struct ledger_told){
        .id = order->id,
        .key = order->key,
        .at_us = order->at_us,
        .instance = order->instance,
        .quantity = order->quantity,
        .unit = books->has[COLUMN_UNIT] ? order->unit : LEDGER_UNTOLD,
        .remaining = books->has[COLUMN_REMAINING] ? order->remaining : LEDGER_UNTOLD,
        .reserved = books->has[COLUMN_RESERVED] ? order->reserved : LEDGER_UNTOLD,
    };
}

/* An order that ended neither sold nor sold out may have had a unit for a while, such as a payment
 * that failed. Then a refusal in that time was right. */
static bool can_return(const struct recorder *recorder) {
    return recorder->ended >
           recorder->by_outcome[RECORD_SOLD] + recorder->by_outcome[RECORD_SOLD_OUT];
}

/* The books become the ledger of the round's product. A key that no order sends means something
 * else, and is left out. */
static int make_ledger(const struct shop *shop, struct round *round, struct books *books,
                       int64_t stock, struct why *why) {
    const bool sends_key = shop_sends_key(shop);
    struct ledger_told *rows = calloc(books->count + 1, sizeof *rows);
    int code;

    round->ledgers = calloc(1, sizeof *round->ledgers);
    if (rows == NULL || round->ledgers == NULL) {
        free(rows);
        return why_set(why, "out of memory");
    }
    for (size_t i = 0; i < books->count; i++) {
        tell_order(books, &books->orders[i], &rows[i]);
        rows[i].key = sends_key ? rows[i].key : NULL;
    }
    code = ledger_tell(round->ledgers, stock, books->left, rows, books->count,
                       can_return(round->recorder), why);
    free(rows);
    books_give_writes(books, round->ledgers);
    return code;
}

static struct why *doubt(struct round *round) {
    assert(round->doubt_count < ROUND_DOUBTS);
    return &round->doubts[round->doubt_count++];
}

static void note_doubts(const struct run *run, struct round *round, enum ledger_rest rest) {
    const struct crowd_counts *counts = crowd_counts(run->shop->crowd);
    const struct crowd_reply *reply = &counts->first_unmatched;

    if (counts->unmatched > 0)
        (void)why_set(doubt(round),
                      "no rule matches %zu of the replies; the first, with status %d: %s: %s; add "
                      "a rule for it to == outcome ==",
                      counts->unmatched, reply->status, reply->why.text, reply->text);
    if (counts->failed > 0)
        (void)why_set(doubt(round), "%zu customer%s could not be prepared; the first: %s",
                      counts->failed, counts->failed == 1 ? "" : "s", counts->why_failed.text);
    if (counts->sold_without_id > 0 && shop_names_order(&run->shop->shop))
        (void)why_set(doubt(round), "%zu customer%s told sold, without an id of the order",
                      counts->sold_without_id, counts->sold_without_id == 1 ? " was" : "s were");
    if (rest == LOOKED_AT)
        (void)why_set(doubt(round),
                      "the ledger may still change: it was not seen to stay the same for %" PRId64
                      " ms; a longer --drain gives it the time",
                      still_ms(run, round));
}

/* "POST /carts/{{cart}}/pay". */
static void name_step(const struct shop_step *step, char *name, size_t size) {
    size_t length = (size_t)snprintf(name, size, "%s ", step->method);

    for (size_t i = 0; i < step->url.count && length < size; i++) {
        const struct shop_part *part = &step->url.parts[i];

        length += (size_t)snprintf(name + length, size - length,
                                   part->kind == SHOP_LITERAL ? "%s" : "{{%s}}", part->text);
    }
}

static void note_steps(const struct run *run, struct round *round) {
    size_t count;
    const struct crowd_step *steps = crowd_steps(run->shop->crowd, &count);

    for (size_t i = 0; i < count; i++) {
        const struct shop_step *step = steps[i].step;
        char name[STEP_NAME];

        name_step(step, name, sizeof name);
        steps_add(&round->steps, name, step->line, steps[i].sent, steps[i].no_reply, steps[i].time);
    }
}

static void read_witness(struct run *run, struct round *round) {
    struct why why;

    if (run->shop->witness == NULL || round->problem.text[0] != '\0' ||
        witness_read(run->shop->witness, round->ledgers, wait_ms(run), &why) == WITNESS_OK)
        return;
    show_reason(run->shop, &why);
    (void)why_set(doubt(round), "--witness: %s", why.text);
}

/* The reason, such as a refused connection, is in no record. */
static void tell_silence(struct run *run) {
    const struct crowd_counts *counts = crowd_counts(run->shop->crowd);
    struct why told;

    if (counts->silent == 0 || run->is_interrupted)
        return;
    (void)why_set(&told, "loadgen: %zu %s got no reply to a request; the first: %.1000s\n",
                  counts->silent, counts->silent == 1 ? "order" : "orders",
                  counts->why_silent.text);
    progress_say(&run->progress, told.text);
}

void shop_run_read(struct run *run, struct round *round) {
    const int64_t began_ms = clock_now_ms();
    struct books books;
    enum ledger_rest rest;
    struct why why;

    if (read_quiet(run, round, &books, &rest, &why) != BOOKS_READ) {
        show_reason(run->shop, &why);
        round->problem = why;
    } else if (rest == IN_MOTION) {
        (void)why_set(&round->problem,
                      "the ledger still changed %" PRId64 " ms after the last reply, so it proves "
                      "nothing",
                      clock_now_ms() - began_ms);
    } else if (make_ledger(&run->shop->shop, round, &books, run->options->stock, &why) != 0) {
        round->problem = why;
    }
    books_free(&books);
    tell_silence(run);
    read_witness(run, round);
    note_doubts(run, round, round->problem.text[0] == '\0' ? rest : AT_REST);
    note_steps(run, round);
    round->is_shop_named = true;
}

/* ---- the end of a round */

static void on_gone(void *data) {
    fiber_event_set(data);
}

static void drop_witness(struct run *run) {
    struct fiber_event gone = FIBER_EVENT_INIT;
    struct why why;

    if (witness_drop(run->shop->witness, wait_ms(run), &why) != WITNESS_OK)
        (void)shop_fail(run, 0, "--witness: ", &why);
    witness_close(run->shop->witness, on_gone, &gone);
    fiber_event_wait(&gone);
    run->shop->witness = NULL;
}

void shop_run_leave(struct run *run) {
    struct shop_run *shop = run->shop;
    struct fiber_event gone[2] = {FIBER_EVENT_INIT, FIBER_EVENT_INIT};

    if (shop->witness != NULL)
        drop_witness(run);
    if (shop->owner != NULL)
        (void)!run_owner(run, SHOP_TEARDOWN);
    if (shop->crowd != NULL)
        crowd_close(shop->crowd);
    shop->crowd = NULL; /* a signal may come while this waits */
    if (shop->reader != NULL) {
        books_reader_close(shop->reader, on_gone, &gone[0]);
        fiber_event_wait(&gone[0]);
    }
    if (shop->owner != NULL)
        flow_customer_close(shop->owner);
    shop->owner = NULL;
    if (shop->flow != NULL) {
        flow_close(shop->flow, on_gone, &gone[1]);
        fiber_event_wait(&gone[1]);
    }
    shop->reader = NULL;
    shop->flow = NULL;
}

void shop_run_stop(struct run *run) {
    struct shop_run *shop = run->shop;

    if (shop->crowd != NULL)
        crowd_stop(shop->crowd, RUN_GRACE_MS);
    else if (shop->is_in_setup)
        flow_cancel(shop->owner);
}
