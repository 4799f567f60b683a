/* See crowd.h. A fiber lives only while its customer is on the way: in `order`, or in one of the
 * few lanes of `prepare`. A customer that waits for its moment has no stack. */
#include "crowd.h"

#include "clock.h"
#include "fiber.h"
#include "pacer.h"
#include "text_copy.h"
#include "utf8.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define LANES   8
#define LEAD_NS 20000000 /* between the decision to start and the first planned order */
#define ID_NAME "order"

/* Orders in one turn of the loop. After a reply it is only one, as in sender.c. */
#define BURST 16

/* If no customer is ready after so many have failed, the others would fail, too. */
#define TRIES 24

enum crowd_place { AT_HOME, IN_PREPARE, READY, ON_WAY };

struct crowd_customer {
    struct crowd *crowd;
    struct flow_customer *way; /* NULL: not opened */
    struct flow_watch watch;
    struct record *record; /* ON_WAY */
    enum crowd_place place;
};

struct crowd {
    uv_loop_t *loop;
    struct flow *flow;
    const struct shop *shop;
    const struct plan *plan;
    struct recorder *recorder;
    struct crowd_options options;
    struct crowd_customer *customers; /* as many as arrivals */
    struct crowd_step *steps;
    size_t step_count;
    char (*bases)[RECORD_INSTANCE_TEXT]; /* names of the shop's bases */
    struct crowd_counts counts;
    bool is_stopped;

    /* Of `prepare`. */
    size_t opened;
    unsigned lanes;
    struct fiber_event lanes_ended;

    /* Of `order`. */
    struct pacer pacer;
    uv_timer_t cut_timer;
    size_t next;
    bool is_sending;  /* inside send_due() */
    bool is_answered; /* a reply came since the last burst */
    unsigned open_handles;
    struct fiber_event finished;
};

static size_t number_of(const struct crowd_customer *customer) {
    return (size_t)(customer - customer->crowd->customers);
}

/* ---- texts of the shop, for people */

/* Copies up to `size` - 1 bytes as one printable line without secrets. */
static void copy_shown(char *to, size_t size, const struct crowd_customer *customer,
                       const char *bytes, size_t length) {
    char *shown = values_show(flow_customer_values(customer->way), bytes, length, size - 1);

    text_copy(to, size, shown != NULL ? shown : "");
    utf8_make_printable(to); /* the cut may part a character */
    free(shown);
}

static void copy_why(struct why *to, const struct crowd_customer *customer,
                     const struct why *from) {
    *to = *from;
    values_show_why(flow_customer_values(customer->way), to);
}

/* Counts a failure, and keeps the reason of the first. */
static void note_first(size_t *count, struct why *first, const struct crowd_customer *customer,
                       const struct why *why) {
    if ((*count)++ == 0)
        copy_why(first, customer, why);
}

/* The base without its scheme and without a password. */
static void name_base(struct crowd *crowd, const struct crowd_customer *customer) {
    const size_t base = number_of(customer) % crowd->shop->base_count;
    struct buffer url = {0};
    struct why ignored;

    if (crowd->bases[base][0] == '\0' &&
        values_fill(flow_customer_values(customer->way), &crowd->shop->bases[base], FILL_URL, &url,
                    &ignored) == 0) {
        const char *name = strstr(url.bytes, "://");
        const char *at;

        name = name != NULL ? name + 3 : url.bytes;
        at = strchr(name, '@');
        name = at != NULL && at < name + strcspn(name, "/") ? at + 1 : name;
        copy_shown(crowd->bases[base], sizeof crowd->bases[base], customer, name, strlen(name));
    }
    buffer_free(&url);
}

/* ---- prepare */

static void crowd_on_end(void *data, const struct web_request *request,
                         const struct flow_result *result);

static void prepare(struct crowd *crowd, struct crowd_customer *customer) {
    struct flow_result result;

    customer->watch = (struct flow_watch){.on_end = crowd_on_end, .data = customer};
    customer->way =
        flow_customer_open(crowd->flow, (int64_t)number_of(customer) + 1, &customer->watch);
    if (customer->way == NULL) {
        if (crowd->counts.failed++ == 0)
            (void)why_set(&crowd->counts.why_failed, "out of memory");
        return;
    }
    name_base(crowd, customer);
    customer->place = IN_PREPARE;
    flow_run(customer->way, SHOP_PREPARE, &result);
    customer->place = result.end == FLOW_DONE ? READY : AT_HOME;
    if (result.end == FLOW_DONE)
        crowd->counts.prepared++;
    else if (!crowd->is_stopped)
        note_first(&crowd->counts.failed, &crowd->counts.why_failed, customer, &result.why);
}

static bool is_hopeless(const struct crowd *crowd) {
    return crowd->counts.prepared == 0 && crowd->counts.failed >= TRIES;
}

static void walk_lane(void *arg) {
    struct crowd *crowd = arg;

    while (crowd->opened < crowd->plan->count && !crowd->is_stopped && !is_hopeless(crowd))
        prepare(crowd, &crowd->customers[crowd->opened++]);
    assert(crowd->lanes > 0);
    if (--crowd->lanes == 0)
        fiber_event_set(&crowd->lanes_ended);
}

int crowd_prepare(struct crowd *crowd, struct why *why) {
    const unsigned wanted = crowd->options.lanes != 0 ? crowd->options.lanes : LANES;

    crowd->lanes = 1; /* this function */
    for (unsigned i = 0; i < wanted; i++) {
        crowd->lanes++;
        if (fiber_start(walk_lane, crowd) != 0)
            crowd->lanes--;
    }
    if (--crowd->lanes > 0)
        fiber_event_wait(&crowd->lanes_ended);
    if (crowd->is_stopped)
        return why_set(why, "interrupted");
    if (crowd->counts.prepared > 0 || crowd->plan->count == 0)
        return 0;
    return why_set(why, "no customer could be prepared: %s",
                   crowd->counts.failed > 0 ? crowd->counts.why_failed.text : "out of memory");
}

/* ---- the end of an order */

static void crowd_on_handle_closed(void *data) {
    struct crowd *crowd = data;

    assert(crowd->open_handles > 0);
    if (--crowd->open_handles == 0)
        fiber_event_set(&crowd->finished);
}

static void crowd_on_timer_closed(uv_handle_t *timer) {
    crowd_on_handle_closed(timer->data);
}

static void crowd_maybe_finished(struct crowd *crowd) {
    if (crowd->counts.on_way > 0 || (crowd->next < crowd->plan->count && !crowd->is_stopped) ||
        uv_is_closing((uv_handle_t *)&crowd->cut_timer))
        return;
    assert(crowd->recorder->ended == crowd->recorder->count);
    pacer_close(&crowd->pacer, crowd_on_handle_closed);
    uv_close((uv_handle_t *)&crowd->cut_timer, crowd_on_timer_closed);
}

static void keep_unmatched(struct crowd *crowd, const struct crowd_customer *customer,
                           const struct web_request *request, const struct flow_result *result) {
    struct crowd_reply *first = &crowd->counts.first_unmatched;

    if (crowd->counts.unmatched++ > 0)
        return;
    first->step = result->step;
    first->status = request->status;
    copy_why(&first->why, customer, &result->why);
    copy_shown(first->text, sizeof first->text, customer, request->reply.bytes,
               request->reply.length);
}

static void count_step(struct crowd *crowd, const struct web_request *request,
                       const struct flow_result *result) {
    struct crowd_step *step = &crowd->steps[result->step - crowd->shop->sections[SHOP_ORDER].items];

    if (request->sent_ns == 0)
        return;
    step->sent++;
    if (request->outcome == WEB_ANSWERED)
        histogram_record(step->time, request->total_ns);
    else
        step->no_reply++;
}

static void send_due(struct crowd *crowd, int most);

static void crowd_on_end(void *data, const struct web_request *request,
                         const struct flow_result *result) {
    struct crowd_customer *customer = data;
    struct crowd *crowd = customer->crowd;
    struct record *record = customer->record;
    const int64_t start_ns = crowd->recorder->start_ns;

    if (customer->place != ON_WAY)
        return;
    count_step(crowd, request, result);
    if (record->sent_ns == 0 && request->sent_ns != 0)
        record->sent_ns = request->sent_ns - start_ns;
    record->received_ns =
        (request->started_ns != 0 ? request->started_ns + request->total_ns : clock_now_ns()) -
        start_ns;
    record->status = request->outcome == WEB_ANSWERED ? (int16_t)request->status : 0;
    if (request->outcome != WEB_ANSWERED)
        note_first(&crowd->counts.silent, &crowd->counts.why_silent, customer, &result->why);
    else if (result->end == FLOW_UNKNOWN)
        keep_unmatched(crowd, customer, request, result);
    crowd->is_answered = true;
    send_due(crowd, 1); /* many replies may come at once */
}

static enum record_outcome outcome_of(const struct record *record, enum flow_end end) {
    if (record->sent_ns == 0)
        return RECORD_UNREACHED;
    switch (end) {
    case FLOW_SOLD:
        return RECORD_SOLD;
    case FLOW_SOLD_OUT:
        return RECORD_SOLD_OUT;
    case FLOW_BUSY:
        return RECORD_BUSY;
    case FLOW_REFUSED:
        return RECORD_REFUSED;
    case FLOW_DONE:
    case FLOW_FAILED:
    case FLOW_UNKNOWN:
        break;
    }
    return RECORD_UNKNOWN;
}

/* A text that no ledger can have is no id. */
static void take_id(struct crowd *crowd, const struct crowd_customer *customer) {
    const char *id = values_get(flow_customer_values(customer->way), ID_NAME);
    struct record *record = customer->record;

    if (id != NULL && record_is_id(id))
        (void)record_set_order_id(record, &crowd->recorder->texts, id);
    if (record->outcome == RECORD_SOLD && record_order_id(record)[0] == '\0')
        crowd->counts.sold_without_id++;
}

static void end_order(struct crowd_customer *customer, enum flow_end end) {
    struct crowd *crowd = customer->crowd;
    struct record *record = customer->record;

    record->outcome = outcome_of(record, end);
    if (record->sent_ns != 0) {
        take_id(crowd, customer);
        record->instance = recorder_instance(
            crowd->recorder, crowd->bases[number_of(customer) % crowd->shop->base_count]);
    }
    recorder_end(crowd->recorder, record);
    customer->place = AT_HOME;
    customer->record = NULL;
    crowd->counts.on_way--;
    send_due(crowd, 1);
}

/* ---- the open loop */

static void walk_order(void *arg) {
    struct crowd_customer *customer = arg;
    struct flow_result result;

    flow_run(customer->way, SHOP_ORDER, &result);
    end_order(customer, result.end);
}

static int64_t due_ns(const struct crowd *crowd) {
    return crowd->recorder->start_ns + crowd->plan->arrivals[crowd->next].due_ns;
}

static bool is_due(const struct crowd *crowd, int64_t now_ns) {
    return crowd->next < crowd->plan->count && !crowd->is_stopped && due_ns(crowd) <= now_ns;
}

static struct crowd_customer *begin_next(struct crowd *crowd) {
    const size_t number = crowd->next++;
    struct crowd_customer *customer = &crowd->customers[number];

    customer->record =
        recorder_begin(crowd->recorder, number, crowd->plan->arrivals[number].due_ns, NULL);
    customer->record->item = crowd->plan->arrivals[number].item;
    if (customer->way != NULL)
        (void)record_set_id(&customer->record->key, NULL,
                            values_get(flow_customer_values(customer->way), "key"));
    return customer;
}

static void leave_unsent(struct crowd *crowd) {
    recorder_end(crowd->recorder, begin_next(crowd)->record);
}

static void send_next(struct crowd *crowd) {
    struct crowd_customer *customer = begin_next(crowd);

    if (customer->place == READY) {
        customer->place = ON_WAY;
        crowd->counts.on_way++;
        if (fiber_start(walk_order, customer) == 0)
            return;
        customer->place = READY;
        crowd->counts.on_way--;
    }
    recorder_end(crowd->recorder, customer->record); /* UNSENT */
}

/* An order that ends at once calls this again, from inside; then the first call goes on. */
static void send_due(struct crowd *crowd, int most) {
    if (crowd->is_sending)
        return;
    crowd->is_sending = true;
    for (int sent = 0; sent < most && is_due(crowd, clock_now_ns()); sent++)
        send_next(crowd);
    crowd->is_sending = false;
    crowd_maybe_finished(crowd);
}

static void crowd_on_due(void *data) {
    struct crowd *crowd = data;
    const bool was_answered = crowd->is_answered;

    crowd->is_answered = false;
    send_due(crowd, was_answered ? 1 : BURST);
}

static int64_t crowd_next_ns(void *data) {
    const struct crowd *crowd = data;

    return crowd->next < crowd->plan->count && !crowd->is_stopped ? due_ns(crowd) : 0;
}

int crowd_send(struct crowd *crowd) {
    int code;

    assert(crowd->recorder->size >= crowd->plan->count);
    if (crowd->plan->count == 0 || crowd->is_stopped)
        return 0;
    crowd->recorder->start_ns = clock_now_ns() + LEAD_NS;
    crowd->pacer = (struct pacer){.next_ns = crowd_next_ns, .on_due = crowd_on_due, .data = crowd};
    code = pacer_start(&crowd->pacer, crowd->loop);
    if (code != 0)
        return code;
    crowd->cut_timer.data = crowd;
    (void)uv_timer_init(crowd->loop, &crowd->cut_timer); /* cannot fail */
    crowd->open_handles = 2;
    if (crowd->options.on_start != NULL)
        crowd->options.on_start(crowd->options.data);
    crowd_maybe_finished(crowd); /* it may have been stopped meanwhile */
    fiber_event_wait(&crowd->finished);
    return 0;
}

/* ---- stopping */

static void cancel_all(struct crowd *crowd) {
    for (size_t i = 0; i < crowd->opened; i++)
        if (crowd->customers[i].place == IN_PREPARE || crowd->customers[i].place == ON_WAY)
            flow_cancel(crowd->customers[i].way);
}

static void crowd_on_cut(uv_timer_t *timer) {
    cancel_all(timer->data);
}

void crowd_stop(struct crowd *crowd, uint64_t grace_ms) {
    if (crowd->is_stopped)
        return;
    if (crowd->open_handles == 0) { /* no order is on the way */
        crowd->is_stopped = true;
        cancel_all(crowd);
        return;
    }
    send_due(crowd, BURST); /* due since this turn of the loop began */
    while (is_due(crowd, clock_now_ns()))
        leave_unsent(crowd);
    crowd->is_stopped = true;
    crowd_maybe_finished(crowd);
    if (!uv_is_closing((uv_handle_t *)&crowd->cut_timer))
        (void)uv_timer_start(&crowd->cut_timer, crowd_on_cut, grace_ms, 0);
}

/* ---- opening and closing */

const struct crowd_counts *crowd_counts(const struct crowd *crowd) {
    return &crowd->counts;
}

const struct crowd_step *crowd_steps(const struct crowd *crowd, size_t *count) {
    *count = crowd->step_count;
    return crowd->steps;
}

static bool make_steps(struct crowd *crowd) {
    const struct shop_steps *steps = &crowd->shop->sections[SHOP_ORDER];

    crowd->steps = calloc(steps->count, sizeof *crowd->steps);
    if (crowd->steps == NULL)
        return false;
    for (; crowd->step_count < steps->count; crowd->step_count++) {
        struct crowd_step *step = &crowd->steps[crowd->step_count];

        step->step = &steps->items[crowd->step_count];
        step->time = calloc(1, sizeof *step->time);
        if (step->time == NULL)
            return false;
    }
    return true;
}

void crowd_close(struct crowd *crowd) {
    assert(crowd->lanes == 0 && crowd->counts.on_way == 0);
    for (size_t i = 0; i < crowd->opened; i++)
        if (crowd->customers[i].way != NULL)
            flow_customer_close(crowd->customers[i].way);
    for (size_t i = 0; i < crowd->step_count; i++)
        free(crowd->steps[i].time);
    free(crowd->steps);
    free(crowd->bases);
    free(crowd->customers);
    free(crowd);
}

int crowd_open(struct crowd **to, uv_loop_t *loop, struct flow *flow, const struct shop *shop,
               const struct plan *plan, struct recorder *recorder,
               const struct crowd_options *options, struct why *why) {
    struct crowd *crowd = calloc(1, sizeof *crowd);

    for (size_t i = 0; i < plan->count; i++)
        assert(plan->arrivals[i].repeats == i);
    if (crowd == NULL)
        return why_set(why, "out of memory");
    crowd->loop = loop;
    crowd->flow = flow;
    crowd->shop = shop;
    crowd->plan = plan;
    crowd->recorder = recorder;
    crowd->options = *options;
    crowd->customers = calloc(plan->count + 1, sizeof *crowd->customers);
    crowd->bases = calloc(shop->base_count, sizeof *crowd->bases);
    if (crowd->customers == NULL || crowd->bases == NULL || !make_steps(crowd)) {
        crowd_close(crowd);
        return why_set(why, "out of memory");
    }
    for (size_t i = 0; i < plan->count; i++)
        crowd->customers[i].crowd = crowd;
    *to = crowd;
    return 0;
}
