/* See flow.h. */
#include "flow.h"

#include "errand.h"
#include "fiber.h"
#include "json_read.h"
#include "programs.h"
#include "reply_value.h"
#include "round_values.h"
#include "uuid.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TIMEOUT_MS 30000
#define CAPTURED   ((size_t)512 * 1024 * 1024)

static const char hint[] = ": it would buy things there; --this-shop-is-mine allows it";

struct flow {
    const struct shop *shop;
    struct flow_options options;
    struct web_client *client;
    struct programs programs;
    struct values round;
    unsigned customers;
    size_t captured; /* bytes of captures, also of replaced ones */
    flow_cb on_closed;
    void *on_closed_data;
};

struct flow_customer {
    struct flow *flow;
    const struct shop_text *base;
    const struct flow_watch *watch;
    struct web_visitor *visitor;
    struct web_request *request; /* the one that runs, or NULL */
    struct fiber_event answered; /* for it */
    bool is_cancelled;
    struct values values;
};

const char *flow_end_name(enum flow_end end) {
    switch (end) {
#define X(id, text)                                                                                \
    case FLOW_##id:                                                                                \
        return text;
        FLOW_ENDS(X)
#undef X
    }
    return "?";
}

/* ---- a reply */

/* A capture that finds nothing, or has no room: 1, with the reason. -1 without memory. */
static int take_capture(struct flow_customer *customer, const struct reply_view *reply,
                        const struct shop_capture *capture, struct values *to, struct why *why) {
    struct flow *flow = customer->flow;
    struct reply_value found;
    int code = -1;

    if (!reply_value_find(reply, &capture->query, programs_find(&flow->programs, &capture->query),
                          &found))
        (void)why_set(why, "out of memory");
    else if (found.kind == JQ_NOTHING || found.text.length > VALUE_BYTES ||
             strlen(found.text.bytes) != found.text.length)
        code = -why_set(why, "line %d: {{%s}} %s", capture->line, capture->name,
                        found.kind == JQ_NOTHING ? "found nothing in the reply"
                                                 : "found more than a text of 64 KiB");
    else if (found.text.length > flow->options.captured - flow->captured)
        code = -why_set(why,
                        "line %d: {{%s}} has no room: the captures of all customers may have "
                        "%zu bytes",
                        capture->line, capture->name, flow->options.captured);
    else
        code =
            values_set(to, capture->name, found.text.bytes, found.text.length, capture->is_secret);
    if (code == 0)
        flow->captured += found.text.length;
    buffer_free(&found.text);
    return code;
}

/* Takes all captures. 0; or 1 with the reason for the first that found nothing; or -1. */
static int take_captures(struct flow_customer *customer, const struct reply_view *reply,
                         const struct shop_step *step, struct values *to, struct why *why) {
    int result = 0;

    for (size_t i = 0; i < step->capture_count && result >= 0; i++) {
        struct why ignored;
        const int code =
            take_capture(customer, reply, &step->captures[i], to, result == 0 ? why : &ignored);

        result = code != 0 ? code : result;
    }
    return result;
}

/* After the captures: from now on their secrets are known. */
static void show_reply(const struct flow_customer *customer, const struct reply_view *reply,
                       const struct shop_step *step) {
    const struct flow_watch *watch = customer->watch;

    if (watch == NULL)
        return;
    if (watch->on_reply != NULL)
        watch->on_reply(watch->data, reply->request);
    for (size_t i = 0; i < step->capture_count && watch->on_capture != NULL; i++) {
        const char *value = values_get(reply->values, step->captures[i].name);

        if (value != NULL)
            watch->on_capture(watch->data, &step->captures[i], value);
    }
}

static bool does_hold(const struct flow *flow, const struct reply_view *reply,
                      const struct shop_query *query, const struct shop_predicate *predicate) {
    struct reply_value found;
    bool holds = reply_value_find(reply, query, programs_find(&flow->programs, query), &found) &&
                 reply_value_meets(&found, predicate, programs_find(&flow->programs, predicate),
                                   reply->values);

    buffer_free(&found.text);
    return holds;
}

static const struct shop_outcome *rule_for(const struct flow *flow,
                                           const struct reply_view *reply) {
    for (size_t i = 0; i < flow->shop->outcome_count; i++) {
        const struct shop_outcome *rule = &flow->shop->outcomes[i];

        if (does_hold(flow, reply, &rule->query, &rule->predicate))
            return rule;
    }
    return NULL;
}

static int check_reply(const struct flow *flow, const struct reply_view *reply,
                       const struct shop_step *step, struct why *why) {
    if (step->status != SHOP_ANY_STATUS && step->status != reply->request->status)
        return why_set(why, "line %d: the reply has status %d, and not %d", step->line,
                       reply->request->status, step->status);
    for (size_t i = 0; i < step->assert_count; i++)
        if (!does_hold(flow, reply, &step->asserts[i].query, &step->asserts[i].predicate))
            return why_set(why, "line %d: this assert does not hold for the reply",
                           step->asserts[i].line);
    return 0;
}

static enum flow_end end_of(enum shop_outcome_word word) {
    switch (word) {
    case SHOP_SOLD:
        return FLOW_SOLD;
    case SHOP_SOLD_OUT:
        return FLOW_SOLD_OUT;
    case SHOP_BUSY:
        return FLOW_BUSY;
    case SHOP_REFUSED:
        return FLOW_REFUSED;
    }
    return FLOW_UNKNOWN;
}

/* Without a rule: the end of this step. */
static enum flow_end end_without_rule(const struct flow *flow, enum shop_section section,
                                      bool is_met, struct flow_result *result) {
    const struct shop_steps *steps = &flow->shop->sections[section];

    if (!is_met)
        return section == SHOP_ORDER ? FLOW_UNKNOWN : FLOW_FAILED;
    if (section != SHOP_ORDER || result->step + 1 < steps->items + steps->count)
        return FLOW_DONE;
    (void)why_set(&result->why, "no rule of the outcome holds for the last reply");
    return FLOW_UNKNOWN;
}

/* Whether the section goes on behind this reply; else `result` has its end. */
static bool judge_reply(struct flow_customer *customer, enum shop_section section,
                        const struct web_request *request, struct flow_result *result) {
    const struct flow *flow = customer->flow;
    struct values *to = section == SHOP_SETUP ? &customer->flow->round : &customer->values;
    struct reply_view reply = {
        .request = request,
        .visitor = customer->visitor,
        .values = &customer->values,
        .json = json_read_as_is(request->reply.bytes, request->reply.length, NULL)};
    struct why lost;
    const int captured = take_captures(customer, &reply, result->step, to, &lost);

    show_reply(customer, &reply, result->step);
    result->rule = section == SHOP_ORDER ? rule_for(flow, &reply) : NULL;
    if (result->rule != NULL)
        result->end = end_of(result->rule->word);
    else
        result->end = end_without_rule(
            flow, section,
            check_reply(flow, &reply, result->step, &result->why) == 0 && captured == 0, result);
    if (result->end != FLOW_DONE && result->rule == NULL && result->why.text[0] == '\0')
        result->why = lost;
    json_decref(reply.json);
    return result->end == FLOW_DONE;
}

/* ---- a step */

static void on_talk(struct web_request *request, enum web_talk part, const char *bytes,
                    size_t length) {
    const struct flow_customer *customer = request->data;
    const struct flow_watch *watch = customer->watch;

    watch->on_talk(watch->data, part, bytes, length);
}

static void on_answered(struct web_request *request) {
    struct flow_customer *customer = request->data;

    customer->request = NULL;
    fiber_event_set(&customer->answered);
}

static void ask(struct flow_customer *customer, const struct shop_step *step,
                const struct errand *errand, struct web_request *request) {
    const struct flow_watch *watch = customer->watch;

    *request = (struct web_request){.method = step->method,
                                    .url = errand->url.bytes,
                                    .headers = errand->headers,
                                    .timeout_ms = customer->flow->options.timeout_ms,
                                    .data = customer};
    if (step->body_kind != SHOP_NO_BODY) {
        request->body = errand->body.bytes;
        request->body_length = errand->body.length;
    }
    if (watch != NULL && watch->on_talk != NULL)
        request->on_talk = on_talk;
    if (watch != NULL && watch->on_step != NULL)
        watch->on_step(watch->data, step, request);
    customer->request = request;
    customer->answered.is_set = false;
    web_request_start(customer->visitor, request, on_answered);
    fiber_event_wait(&customer->answered);
}

void flow_cancel(struct flow_customer *customer) {
    customer->is_cancelled = true;
    if (customer->request != NULL)
        web_request_cancel(customer->request);
}

/* There is no reply, and perhaps not even a request. */
static void judge_silence(enum shop_section section, bool is_certain, struct flow_result *result) {
    result->end = section != SHOP_ORDER ? FLOW_FAILED : is_certain ? FLOW_REFUSED : FLOW_UNKNOWN;
}

/* `was_marked`: a step before this one has the mark, and was sent. Whether the section goes on. */
static bool do_step(struct flow_customer *customer, enum shop_section section, bool was_marked,
                    struct flow_result *result) {
    const struct shop_step *step = result->step;
    struct web_request request = {.outcome = WEB_NOT_SENT};
    struct errand errand;
    bool is_marked = was_marked, goes_on = false;

    if (errand_fill(&errand, step, &customer->values, customer->base, &result->why) == 0) {
        if (customer->is_cancelled)
            (void)snprintf(request.error, sizeof request.error, "cancelled");
        else
            ask(customer, step, &errand, &request);
        is_marked = was_marked || (step->is_commit_mark && request.outcome != WEB_NOT_SENT);
        if (request.outcome != WEB_ANSWERED)
            (void)why_set(&result->why, "line %d: no reply: %s%s", step->line, request.error,
                          request.is_forbidden ? hint : "");
    }
    result->reached = request.outcome;
    if (request.outcome == WEB_ANSWERED)
        goes_on = judge_reply(customer, section, &request, result);
    else
        judge_silence(section, !is_marked, result);
    if (customer->watch != NULL && customer->watch->on_end != NULL)
        customer->watch->on_end(customer->watch->data, &request, result);
    web_request_free(&request);
    errand_free(&errand);
    return goes_on;
}

void flow_run(struct flow_customer *customer, enum shop_section section,
              struct flow_result *result) {
    const struct shop_steps *steps = &customer->flow->shop->sections[section];
    bool was_marked = false, goes_on = true;

    *result = (struct flow_result){.end = FLOW_DONE};
    customer->is_cancelled = false;
    for (size_t i = 0; i < steps->count && goes_on; i++) {
        result->step = &steps->items[i];
        goes_on = do_step(customer, section, was_marked, result);
        was_marked = was_marked || steps->items[i].is_commit_mark;
    }
}

/* ---- customers and the flow */

static int customer_set_values(struct flow_customer *customer, int64_t number) {
    char digits[32], key[UUID_TEXT];

    (void)snprintf(digits, sizeof digits, "%" PRId64, number);
    uuid_v7(key);
    return values_set(&customer->values, "n", digits, strlen(digits), false) != 0
               ? -1
               : values_set(&customer->values, "key", key, strlen(key), false);
}

struct flow_customer *flow_customer_open(struct flow *flow, int64_t number,
                                         const struct flow_watch *watch) {
    struct flow_customer *customer = calloc(1, sizeof *customer);

    if (customer == NULL)
        return NULL;
    customer->flow = flow;
    customer->watch = watch;
    customer->base =
        &flow->shop->bases[number > 0 ? (size_t)(number - 1) % flow->shop->base_count : 0];
    customer->values.above = &flow->round;
    if (customer_set_values(customer, number) != 0 ||
        (customer->visitor = web_visitor_open(flow->client)) == NULL) {
        values_free(&customer->values);
        free(customer);
        return NULL;
    }
    flow->customers++;
    return customer;
}

void flow_customer_close(struct flow_customer *customer) {
    assert(customer->flow->customers > 0);
    customer->flow->customers--;
    web_visitor_close(customer->visitor);
    values_free(&customer->values);
    free(customer);
}

const struct values *flow_customer_values(const struct flow_customer *customer) {
    return &customer->values;
}

static int open_client(struct flow *flow, uv_loop_t *loop, struct why *why) {
    const struct web_client_options options = {.any_address = flow->options.any_address,
                                               .user_agent = "loadgen"};
    const int code = web_client_open(&flow->client, loop, &options);

    return code != 0 ? why_set(why, "cannot open a client: %s", uv_strerror(code)) : 0;
}

int flow_open(struct flow **to, uv_loop_t *loop, const struct shop *shop,
              const struct flow_options *options, int64_t stock, struct why *why) {
    struct flow *flow = calloc(1, sizeof *flow);

    if (flow == NULL)
        return why_set(why, "out of memory");
    flow->shop = shop;
    flow->options = *options;
    if (flow->options.timeout_ms == 0)
        flow->options.timeout_ms = TIMEOUT_MS;
    if (flow->options.captured == 0)
        flow->options.captured = CAPTURED;
    if (programs_open(&flow->programs, shop, why) != 0)
        goto err_after_flow;
    if (round_values_set(&flow->round, shop, stock, why) != 0 || open_client(flow, loop, why) != 0)
        goto err_after_programs;
    *to = flow;
    return 0;

err_after_programs:
    values_free(&flow->round);
    programs_close(&flow->programs);
err_after_flow:
    free(flow);
    return -1;
}

static void on_client_closed(void *data) {
    struct flow *flow = data;
    flow_cb cb = flow->on_closed;

    data = flow->on_closed_data;
    values_free(&flow->round);
    programs_close(&flow->programs);
    free(flow);
    cb(data);
}

void flow_close(struct flow *flow, flow_cb cb, void *data) {
    assert(flow->customers == 0);
    flow->on_closed = cb;
    flow->on_closed_data = data;
    web_client_close(flow->client, on_client_closed, flow);
}
