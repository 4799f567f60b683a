/* Chooses an instance for each call, and remembers the state of each instance. */
#include "inventory_client.h"

#include "clock.h"
#include "inventory_groups.h"
#include "json_read.h"
#include "log.h"
#include "metrics.h"
#include "text_copy.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define INSTANCES_MAX    64
#define CONNECTIONS      4096 /* to one instance: each waiting reservation holds one */
#define PAUSE_FIRST_MS   50
#define PAUSE_MAX_MS     2000
#define CONNECT_LIMIT_MS 1000
#define REPLY_LIMIT      (1024 * 1024) /* a page of reservations is the largest */

struct instance {
    struct http_client *client;
    char url[256];
    char label[300];
    struct metric up;
    int64_t skip_until_ms; /* 0: in use */
    int64_t pause_ms;      /* length of its last pause */
    unsigned calls;        /* under way */
    bool is_gone;          /* gets no more calls */
};

struct inventory {
    uv_loop_t *loop;
    unsigned count, next; /* instances, and the next in turn */
    bool is_closing, has_metrics;
    char authorization[256]; /* a header line, or "" */
    struct instance instances[INSTANCES_MAX];
    struct inventory_groups groups;
    http_client_cb on_closed;
    void *data;
};

static double instance_is_up(void *data) {
    const struct instance *instance = data;

    return !instance->is_gone && instance->skip_until_ms == 0;
}

static void on_replaced(void *data) {
    (void)data;
}

/* `instance` is the first free one, or one that is gone and has no call. */
static int open_instance(struct inventory *inventory, struct instance *instance, const char *url,
                         struct why *why) {
    struct http_client_options options = {.connections = CONNECTIONS,
                                          .queue = CONNECTIONS,
                                          .connect_timeout_ms = CONNECT_LIMIT_MS,
                                          .reply_limit = REPLY_LIMIT};
    struct http_client *client;
    char host[256];
    int code;

    assert(instance == &inventory->instances[inventory->count]
               ? inventory->count < INSTANCES_MAX
               : instance->is_gone && instance->calls == 0);
    if (http_origin_parse(url, host, sizeof host, &options.port) != 0) {
        (void)why_set(why, "\"%s\" is not a URL of the form http://host:port", url);
        return UV_EINVAL;
    }
    options.host = host;
    code = http_client_open(&client, inventory->loop, &options);
    if (code != 0)
        return code;
    if (instance == &inventory->instances[inventory->count]) {
        inventory->count++;
        instance->up = (struct metric){"order_inventory_up",   "1 while the instance is in use",
                                       .type = METRIC_GAUGE,   .labels = instance->label,
                                       .read = instance_is_up, .data = instance};
    } else
        http_client_close(instance->client, on_replaced, NULL);
    instance->client = client;
    instance->skip_until_ms = instance->pause_ms = 0;
    instance->is_gone = false;
    text_copy(instance->url, sizeof instance->url, url);
    (void)snprintf(instance->label, sizeof instance->label, "url=\"%.255s\"", url);
    return 0;
}

/* Cuts `urls` into pieces. */
static int inventory_open_all(struct inventory *inventory, char *urls, struct why *why) {
    int code = 0;

    do {
        const char *url = strsep(&urls, ",");

        if (url[0] == '\0' || inventory->count == INSTANCES_MAX) {
            (void)why_set(why, "needs 1 to %d URLs, separated by commas", INSTANCES_MAX);
            return UV_EINVAL;
        }
        code = open_instance(inventory, &inventory->instances[inventory->count], url, why);
    } while (code == 0 && urls != NULL && urls[0] != '\0');
    return code;
}

static void on_groups_closed(void *data) {
    struct inventory *inventory = data;
    http_client_cb on_closed = inventory->on_closed;

    assert(inventory->is_closing && inventory->count == 0);
    data = inventory->data;
    free(inventory);
    if (on_closed != NULL)
        on_closed(data);
}

static void on_instance_closed(void *data) {
    struct inventory *inventory = data;

    assert(inventory->is_closing && inventory->count > 0);
    if (--inventory->count == 0)
        inventory_groups_close(&inventory->groups, on_groups_closed, inventory);
}

void inventory_close(struct inventory *inventory, http_client_cb cb, void *data) {
    assert(inventory->count > 0);
    if (inventory->is_closing)
        return;
    inventory->is_closing = true;
    inventory->on_closed = cb;
    inventory->data = data;
    inventory_groups_end(&inventory->groups);
    for (unsigned i = 0; i < inventory->count; i++)
        http_client_close(inventory->instances[i].client, on_instance_closed, inventory);
}

/* A header line may hold only visible ASCII. */
static int take_secret(struct inventory *inventory, const char *secret, struct why *why) {
    const char *at = secret;

    while (*at > ' ' && *at < 0x7f)
        at++;
    if (*at != '\0' || at - secret > 200) {
        (void)why_set(why, "the secret is longer than 200 characters, or has characters other "
                           "than visible ASCII");
        return UV_EINVAL;
    }
    if (at > secret)
        (void)snprintf(inventory->authorization, sizeof inventory->authorization,
                       "Authorization: Bearer %s\r\n", secret);
    return 0;
}

int inventory_open(struct inventory **out, uv_loop_t *loop, const char *urls, const char *secret,
                   struct why *why) {
    struct inventory *inventory = calloc(1, sizeof *inventory);
    char *copy = strdup(urls);
    int code = UV_ENOMEM;

    if (inventory != NULL && copy != NULL) {
        inventory->loop = loop;
        code = take_secret(inventory, secret, why);
    }
    if (code == 0)
        code = inventory_open_all(inventory, copy, why);
    if (inventory != NULL && inventory->count > 0)
        inventory_groups_init(&inventory->groups, loop, inventory->authorization);
    free(copy);
    if (code == 0) {
        *out = inventory;
        return 0;
    }
    if (code != UV_EINVAL)
        (void)why_set(why, "%s", uv_strerror(code));
    if (inventory != NULL && inventory->count > 0)
        inventory_close(inventory, NULL, NULL);
    else
        free(inventory);
    return code;
}

void inventory_register_metrics(struct inventory *inventory) {
    inventory->has_metrics = true;
    for (unsigned i = 0; i < inventory->count; i++)
        metric_register(&inventory->instances[i].up);
}

/* Is `url` one of `urls`? */
static bool inventory_is_among(const char *urls, const char *url) {
    size_t length = strlen(url), next;

    for (; *urls != '\0'; urls += next + (urls[next] == ',')) {
        next = strcspn(urls, ",");
        if (next == length && strncmp(urls, url, length) == 0)
            return true;
    }
    return false;
}

static struct instance *inventory_find(struct inventory *inventory, const char *url) {
    for (unsigned i = 0; i < inventory->count; i++)
        if (strcmp(inventory->instances[i].url, url) == 0)
            return &inventory->instances[i];
    return NULL;
}

static void note_gone(struct instance *instance) {
    log_info("inventory instance is gone", "url=%s", instance->url);
    instance->is_gone = true;
}

static void add_instance(struct inventory *inventory, const char *url) {
    struct instance *instance = inventory->instances, *end = instance + inventory->count;
    struct why why;

    for (; instance < end; instance++)
        if (instance->is_gone && instance->calls == 0)
            break;
    if (instance == inventory->instances + INSTANCES_MAX)
        log_warn("too many inventory instances", "url=%s", url);
    else if (open_instance(inventory, instance, url, &why) != 0)
        log_warn("inventory instance cannot be used", "url=%s", url);
    else
        log_info("inventory instance is new", "url=%s", url);
}

void inventory_update(struct inventory *inventory, const char *urls) {
    char *copy = strdup(urls), *rest = copy;

    if (copy == NULL || inventory->is_closing) {
        free(copy);
        return;
    }
    for (unsigned i = 0; i < inventory->count; i++)
        if (!inventory->instances[i].is_gone &&
            !inventory_is_among(urls, inventory->instances[i].url))
            note_gone(&inventory->instances[i]);
    for (const char *url; (url = strsep(&rest, ",")) != NULL;) {
        struct instance *instance = inventory_find(inventory, url);

        if (instance == NULL)
            add_instance(inventory, url);
        else
            instance->is_gone = false;
    }
    free(copy);
    if (inventory->has_metrics)
        inventory_register_metrics(inventory);
}

bool inventory_is_up(const struct inventory *inventory) {
    for (unsigned i = 0; i < inventory->count; i++)
        if (!inventory->instances[i].is_gone && inventory->instances[i].skip_until_ms == 0)
            return true;
    return false;
}

/* Choose the next instance in turn that is in use, or is due for another try. If there is none,
 * choose the one that is due first, so a call is never refused without an attempt. A call gets each
 * instance once: `tried` has a bit for each. */
static struct instance *inventory_choose(struct inventory *inventory, uint64_t tried,
                                         int64_t now_ms) {
    struct instance *best = NULL;

    for (unsigned i = 0; i < inventory->count; i++) {
        unsigned index = (inventory->next + i) % inventory->count;
        struct instance *instance = &inventory->instances[index];

        if (instance->is_gone || tried & UINT64_C(1) << index)
            continue;
        if (instance->skip_until_ms <= now_ms) {
            best = instance;
            break;
        }
        if (best == NULL || instance->skip_until_ms < best->skip_until_ms)
            best = instance;
    }
    if (best == NULL)
        return NULL;
    inventory->next = (unsigned)(best - inventory->instances) + 1;
    if (best->skip_until_ms != 0) /* this call is the try; others avoid it meanwhile */
        best->skip_until_ms = now_ms + CONNECT_LIMIT_MS;
    return best;
}

static void note_not_sent(struct instance *instance, const char *error) {
    struct http_client_stats stats;
    char quoted[128];

    http_client_stats(instance->client, &stats);
    if (stats.connect_failures == 0)
        return; /* not its fault: the deadline passed, or the queue was full */
    if (instance->skip_until_ms == 0)
        log_warn("inventory instance is down", "url=%s error=%s", instance->url,
                 log_quote(quoted, sizeof quoted, error));
    instance->pause_ms = instance->pause_ms == 0 ? PAUSE_FIRST_MS : instance->pause_ms * 2;
    if (instance->pause_ms > PAUSE_MAX_MS)
        instance->pause_ms = PAUSE_MAX_MS;
    instance->skip_until_ms = clock_now_ms() + instance->pause_ms;
}

/* After UNKNOWN the state of the instance is open: it may have died, or may be slow. */
static void note_outcome(struct instance *instance, const struct inventory_answer *answer) {
    if (answer->outcome == HTTP_CALL_NOT_SENT)
        note_not_sent(instance, answer->message);
    if (answer->outcome != HTTP_CALL_ANSWERED)
        return;
    if (instance->skip_until_ms != 0)
        log_info("inventory instance is back", "url=%s", instance->url);
    instance->skip_until_ms = instance->pause_ms = 0;
}

/* Read the answer: as a tree if it will be passed on. */
static void inventory_take_answer(const struct http_call *call, bool wants_tree,
                                  struct inventory_answer *answer) {
    answer->outcome = call->outcome;
    answer->status = call->status;
    text_copy(answer->timing, sizeof answer->timing, call->header);
    text_copy(answer->message, sizeof answer->message, call->error != NULL ? call->error : "");
    if (call->outcome == HTTP_CALL_ANSWERED && call->reply_length > 0 &&
        (wants_tree || !json_flat_read(&answer->flat, call->reply, call->reply_length)))
        answer->body = json_read(call->reply, call->reply_length, NULL);
}

static const struct inventory_answer not_tried = {.outcome = HTTP_CALL_NOT_SENT,
                                                  .message = "the service is closing"};

static struct instance *choose_next(struct inventory *inventory, uint64_t tried) {
    return inventory->is_closing ? NULL : inventory_choose(inventory, tried, clock_now_ms());
}

static uint64_t inventory_bit_of(const struct inventory *inventory,
                                 const struct instance *instance) {
    return UINT64_C(1) << (instance - inventory->instances);
}

static bool inventory_is_over(const struct inventory_answer *answer, int64_t deadline_ms) {
    return answer->outcome != HTTP_CALL_NOT_SENT || clock_now_ms() >= deadline_ms;
}

/* Call `instance`, unless it is NULL, and then others, until the request may have been sent. */
static void call_alone(struct inventory *inventory, struct instance *instance, uint64_t tried,
                       struct http_call *call, bool wants_tree, struct inventory_answer *answer) {
    for (; instance != NULL; instance = choose_next(inventory, tried)) {
        tried |= inventory_bit_of(inventory, instance);
        instance->calls++;
        (void)http_call_await(instance->client, call);
        instance->calls--;
        inventory_take_answer(call, wants_tree, answer);
        http_call_done(call);
        note_outcome(instance, answer);
        if (inventory_is_over(answer, call->deadline_ms))
            return;
    }
}

void inventory_call(struct inventory *inventory, const char *method, const char *target,
                    const char *headers, const char *body, int64_t deadline_ms,
                    struct inventory_answer *answer) {
    char lines[400];
    struct http_call call = {.method = method,
                             .target = target,
                             .headers = lines,
                             .body = body,
                             .body_length = body != NULL ? strlen(body) : 0,
                             .deadline_ms = deadline_ms,
                             .want_header = "Server-Timing"};

    (void)snprintf(lines, sizeof lines, "%s%s", inventory->authorization,
                   headers != NULL ? headers : "");
    *answer = not_tried;
    call_alone(inventory, choose_next(inventory, 0), 0, &call, true, answer);
}

static void reserve_alone(struct inventory *inventory, struct instance *instance, uint64_t tried,
                          const struct inventory_member *order, struct inventory_answer *answer) {
    char headers[sizeof inventory->authorization + 80], target[96], body[80];
    struct http_call call = {.method = "POST",
                             .target = target,
                             .headers = headers,
                             .body = body,
                             .deadline_ms = order->deadline_ms,
                             .want_header = "Server-Timing"};

    (void)snprintf(headers, sizeof headers, "%s%s%s%s", inventory->authorization,
                   order->may_be_repeat ? "Idempotency-Key: " : "",
                   order->may_be_repeat ? order->order_id : "", order->may_be_repeat ? "\r\n" : "");
    (void)snprintf(target, sizeof target, "/products/%s/reservations", order->product_id);
    call.body_length =
        (size_t)snprintf(body, sizeof body, "{\"order_id\":\"%s\"}", order->order_id);
    call_alone(inventory, instance, tried, &call, false, answer);
}

void inventory_reserve(struct inventory *inventory, const char *order_id, const char *product_id,
                       bool may_be_repeat, int64_t deadline_ms, struct inventory_answer *answer) {
    struct inventory_member order = {.order_id = order_id,
                                     .product_id = product_id,
                                     .may_be_repeat = may_be_repeat,
                                     .deadline_ms = deadline_ms};
    struct instance *instance = choose_next(inventory, 0);
    uint64_t tried = 0;
    bool is_answered;

    if (instance == NULL) {
        *answer = not_tried;
        return;
    }
    instance->calls++;
    is_answered = inventory_groups_await(&inventory->groups, instance->client, &order, answer);
    instance->calls--;
    if (is_answered) {
        note_outcome(instance, answer);
        if (inventory_is_over(answer, deadline_ms))
            return;
        tried = inventory_bit_of(inventory, instance);
        instance = choose_next(inventory, tried);
    }
    reserve_alone(inventory, instance, tried, &order, answer);
}

const char *inventory_text(const struct inventory_answer *answer, const char *field) {
    const char *text = answer->body != NULL
                           ? json_string_value(json_object_get(answer->body, field))
                           : json_flat_text(&answer->flat, field);

    return text != NULL ? text : "";
}

bool inventory_integer(const struct inventory_answer *answer, const char *field, int64_t *number) {
    const json_t *value = json_object_get(answer->body, field);

    if (answer->body == NULL)
        return json_flat_integer(&answer->flat, field, number);
    *number = json_integer_value(value);
    return json_is_integer(value);
}
