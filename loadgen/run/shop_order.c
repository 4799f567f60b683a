/* loadgen shop order: takes one customer through a shop file, and shows each request and each
 * reply.
 *
 * A request is shown when it leaves. A reply is shown after its captures: from then on the captured
 * secrets are known, and masked. Everything from the shop becomes printable lines. */
#include "shop_order.h"

#include "complain.h"
#include "exit_code.h"
#include "fiber.h"
#include "flow.h"
#include "interrupts.h"
#include "shop.h"
#include "utf8.h"

#include <stdlib.h>
#include <string.h>

#define SHOWN_BYTES (16 * 1024) /* of a body */

struct shop_order {
    const struct options *options;
    FILE *to;
    const struct shop *shop;
    struct flow *flow;
    struct flow_customer *customer; /* the one that is on the way */
    struct flow_watch watch;
    const struct web_request *request; /* the one that is on its way */
    bool has_left, is_interrupted, is_in_teardown;
    struct interrupts interrupts;
    int exit_code;
};

/* ---- showing */

static void show_line(const struct shop_order *order, const char *mark, char *line) {
    utf8_make_printable(line);
    fprintf(order->to, "%s%s%s\n", mark, line[0] != '\0' ? " " : "", line);
}

/* Masks the secrets; each line gets the mark. */
static void show_most(const struct shop_order *order, const char *mark, const char *bytes,
                      size_t length, size_t most) {
    struct buffer masked = {0};
    size_t shown = length;
    char *next;

    if (!values_mask(flow_customer_values(order->customer), bytes, &shown, most, &masked)) {
        fprintf(order->to, "%s (out of memory)\n", mark);
        buffer_free(&masked);
        return;
    }
    next = masked.bytes;
    for (char *line; *next != '\0' && (line = strsep(&next, "\n")) != NULL && next != NULL;) {
        line[strcspn(line, "\r")] = '\0';
        show_line(order, mark, line);
    }
    if (next == NULL || *next != '\0')
        show_line(order, mark, next != NULL ? next : masked.bytes);
    if (shown < length)
        fprintf(order->to, "* %zu more bytes\n", length - shown);
    buffer_free(&masked);
}

static void show_lines(const struct shop_order *order, const char *mark, const char *bytes,
                       size_t length) {
    show_most(order, mark, bytes, length, SIZE_MAX);
}

static void show_body(const struct shop_order *order, const char *mark, const char *bytes,
                      size_t length) {
    show_most(order, mark, bytes, length, SHOWN_BYTES);
}

static void on_step(void *data, const struct shop_step *step, const struct web_request *request) {
    struct shop_order *order = data;
    char mark[64];

    (void)snprintf(mark, sizeof mark, "* line %d: %.32s", step->line, request->method);
    show_lines(order, mark, request->url, strlen(request->url));
    order->request = request;
    order->has_left = false;
}

/* libcurl's notes about its own lists tell an author nothing. */
static bool is_noise(const char *note, size_t length) {
    static const char *const noise[] = {"Found bundle", "Can not multiplex", "Closing connection"};

    for (size_t i = 0; i < sizeof noise / sizeof *noise; i++)
        if (length >= strlen(noise[i]) && memcmp(note, noise[i], strlen(noise[i])) == 0)
            return true;
    return false;
}

/* Later notes may quote a secret of the reply. */
static void on_talk(void *data, enum web_talk part, const char *bytes, size_t length) {
    struct shop_order *order = data;

    if (part == WEB_TALK_NOTE && !order->has_left && !is_noise(bytes, length))
        show_lines(order, "*", bytes, length);
    if (part != WEB_TALK_HEAD_OUT)
        return;
    order->has_left = true;
    show_lines(order, ">", bytes, length);
    if (order->request->body != NULL)
        show_body(order, ">", order->request->body, order->request->body_length);
}

static void on_reply(void *data, const struct web_request *request) {
    struct shop_order *order = data;

    if (request->head.length > 0)
        show_lines(order, "<", request->head.bytes, request->head.length);
    if (request->reply.length > 0)
        show_body(order, "<", request->reply.bytes, request->reply.length);
    fprintf(order->to, "* %.1f ms\n", (double)request->total_ns / 1e6);
}

static void on_capture(void *data, const struct shop_capture *capture, const char *value) {
    const struct shop_order *order = data;
    char name[SHOP_NAME_BYTES + 8];

    (void)snprintf(name, sizeof name, "= %s:", capture->name);
    show_lines(order, name, value, strlen(value));
}

/* ---- the way */

static void end_section(struct shop_order *order, const char *section,
                        const struct flow_result *result) {
    char rule[64] = "";

    if (result->rule != NULL)
        (void)snprintf(rule, sizeof rule, ", by the rule in line %d", result->rule->line);
    fprintf(order->to, "* %s: %s%s\n", section, flow_end_name(result->end), rule);
    if (result->why.text[0] != '\0')
        show_lines(order, "*", result->why.text, strlen(result->why.text));
    switch (result->end) {
    case FLOW_DONE:
    case FLOW_SOLD:
        order->exit_code = EXIT_AS_EXPECTED;
        return;
    case FLOW_UNKNOWN:
        order->exit_code = EXIT_INCONCLUSIVE;
        return;
    case FLOW_FAILED:
    case FLOW_SOLD_OUT:
    case FLOW_BUSY:
    case FLOW_REFUSED:
        break;
    }
    order->exit_code = result->rule == NULL && result->reached == WEB_NOT_SENT ? EXIT_UNREACHABLE
                                                                               : EXIT_UNEXPECTED;
}

/* The exit code of the section becomes that of the command. */
static void pass(struct shop_order *order, struct flow_customer *customer,
                 enum shop_section section) {
    static const char *const names[SHOP_SECTIONS] = {"setup", "prepare", "order", "teardown"};
    struct flow_result result;

    if (order->shop->sections[section].count == 0 ||
        (order->is_interrupted && section != SHOP_TEARDOWN))
        return;
    order->customer = customer;
    order->is_in_teardown = section == SHOP_TEARDOWN;
    fprintf(order->to, "== %s ==\n", names[section]);
    flow_run(customer, section, &result);
    end_section(order, names[section], &result);
}

static void on_flow_closed(void *data) {
    (void)data;
}

static void walk(void *arg) {
    struct shop_order *order = arg;
    struct flow_customer *owner = flow_customer_open(order->flow, 0, &order->watch);
    struct flow_customer *customer = flow_customer_open(order->flow, 1, &order->watch);
    int exit_code;

    if (owner == NULL || customer == NULL) {
        complain("loadgen", "out of memory");
        order->exit_code = EXIT_INTERNAL;
        goto end;
    }
    order->exit_code = EXIT_AS_EXPECTED;
    pass(order, owner, SHOP_SETUP);
    if (order->exit_code == EXIT_AS_EXPECTED)
        pass(order, customer, SHOP_PREPARE);
    if (order->exit_code == EXIT_AS_EXPECTED)
        pass(order, customer, SHOP_ORDER);
    exit_code = order->exit_code;
    pass(order, owner, SHOP_TEARDOWN);
    order->exit_code = exit_code != EXIT_AS_EXPECTED ? exit_code : order->exit_code;
    order->exit_code = order->is_interrupted ? EXIT_INTERRUPTED : order->exit_code;
end:
    order->customer = NULL;
    if (customer != NULL)
        flow_customer_close(customer);
    if (owner != NULL)
        flow_customer_close(owner);
    interrupts_close(&order->interrupts);
    flow_close(order->flow, on_flow_closed, NULL);
}

/* The teardown still runs; a second signal ends the program at once. */
static void on_signal(void *data, int number) {
    struct shop_order *order = data;

    (void)number;
    if (order->is_interrupted)
        _exit(EXIT_INTERRUPTED);
    order->is_interrupted = true;
    if (order->customer != NULL && !order->is_in_teardown)
        flow_cancel(order->customer);
}

static int refuse(int exit_code, char *reason) {
    utf8_make_printable(reason);
    complain("loadgen", "%s", reason);
    return exit_code;
}

static int order_run(struct shop_order *order, uv_loop_t *loop) {
    const struct flow_options options = {.any_address = order->options->this_shop_is_mine,
                                         .timeout_ms = order->options->timeout_ns / 1000000};
    struct why why;

    if (flow_open(&order->flow, loop, order->shop, &options, order->options->stock, &why) != 0)
        return refuse(EXIT_USAGE, why.text);
    order->watch = (struct flow_watch){.on_step = on_step,
                                       .on_talk = on_talk,
                                       .on_reply = on_reply,
                                       .on_capture = on_capture,
                                       .data = order};
    order->exit_code = EXIT_INTERNAL;
    interrupts_watch(&order->interrupts, loop, on_signal, order);
    if (fiber_start(walk, order) != 0) {
        complain("loadgen", "out of memory");
        interrupts_close(&order->interrupts);
        flow_close(order->flow, on_flow_closed, NULL);
    }
    (void)uv_run(loop, UV_RUN_DEFAULT);
    if (fflush(order->to) == 0 && !ferror(order->to))
        return order->exit_code;
    complain("loadgen", "the output could not be written");
    return EXIT_INTERNAL;
}

int shop_order(uv_loop_t *loop, const struct options *options, const struct shop *shop, FILE *to) {
    struct shop_order order = {.options = options, .shop = shop, .to = to};

    return order_run(&order, loop);
}
