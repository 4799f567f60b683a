/* Which instance a call goes to, and what is known of each. */
#include "inventory_client.h"

#include "clock.h"
#include "json_read.h"
#include "log.h"
#include "metrics.h"

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
    int64_t pause_ms;      /* how long it was left out last */
};

struct inventory {
    unsigned count, next; /* instances, and the one whose turn it is */
    bool is_closing;
    char authorization[256]; /* a header line, or "" */
    struct instance instances[INSTANCES_MAX];
    http_client_cb on_closed;
    void *data;
};

static double instance_is_up(void *data) {
    const struct instance *instance = data;

    return instance->skip_until_ms == 0;
}

static int open_instance(struct inventory *inventory, uv_loop_t *loop, const char *url,
                         char message[INVENTORY_MESSAGE_BYTES]) {
    struct instance *instance = &inventory->instances[inventory->count];
    struct http_client_options options = {.connections = CONNECTIONS,
                                          .queue = CONNECTIONS,
                                          .connect_timeout_ms = CONNECT_LIMIT_MS,
                                          .reply_limit = REPLY_LIMIT};
    char host[256];
    int code;

    if (http_origin_parse(url, host, sizeof host, &options.port) != 0) {
        (void)snprintf(message, INVENTORY_MESSAGE_BYTES,
                       "\"%s\" is no URL of the form http://host:port", url);
        return UV_EINVAL;
    }
    options.host = host;
    code = http_client_open(&instance->client, loop, &options);
    if (code != 0)
        return code;
    (void)snprintf(instance->url, sizeof instance->url, "%s", url);
    (void)snprintf(instance->label, sizeof instance->label, "url=\"%.255s\"", url);
    instance->up = (struct metric){"order_inventory_up",   "1 while the instance is in use",
                                   .type = METRIC_GAUGE,   .labels = instance->label,
                                   .read = instance_is_up, .data = instance};
    inventory->count++;
    return 0;
}

/* `urls` is cut into pieces. */
static int open_all(struct inventory *inventory, uv_loop_t *loop, char *urls,
                    char message[INVENTORY_MESSAGE_BYTES]) {
    int code = 0;

    do {
        const char *url = strsep(&urls, ",");

        if (url[0] == '\0' || inventory->count == INSTANCES_MAX) {
            (void)snprintf(message, INVENTORY_MESSAGE_BYTES,
                           "needs 1 to %d URLs, separated by commas", INSTANCES_MAX);
            return UV_EINVAL;
        }
        code = open_instance(inventory, loop, url, message);
    } while (code == 0 && urls != NULL && urls[0] != '\0');
    return code;
}

static void on_instance_closed(void *data) {
    struct inventory *inventory = data;
    http_client_cb on_closed = inventory->on_closed;

    assert(inventory->is_closing && inventory->count > 0);
    if (--inventory->count > 0)
        return;
    data = inventory->data;
    free(inventory);
    if (on_closed != NULL)
        on_closed(data);
}

void inventory_close(struct inventory *inventory, http_client_cb cb, void *data) {
    assert(inventory->count > 0);
    if (inventory->is_closing)
        return;
    inventory->is_closing = true;
    inventory->on_closed = cb;
    inventory->data = data;
    for (unsigned i = 0; i < inventory->count; i++)
        http_client_close(inventory->instances[i].client, on_instance_closed, inventory);
}

/* What stands in a header line is visible ASCII. */
static int take_secret(struct inventory *inventory, const char *secret,
                       char message[INVENTORY_MESSAGE_BYTES]) {
    const char *at = secret;

    while (*at > ' ' && *at < 0x7f)
        at++;
    if (*at != '\0' || at - secret > 200) {
        (void)snprintf(message, INVENTORY_MESSAGE_BYTES,
                       "the secret has more than 200 characters, or some beyond A-Z, a-z, 0-9 and "
                       "the like");
        return UV_EINVAL;
    }
    if (at > secret)
        (void)snprintf(inventory->authorization, sizeof inventory->authorization,
                       "Authorization: Bearer %s\r\n", secret);
    return 0;
}

int inventory_open(struct inventory **out, uv_loop_t *loop, const char *urls, const char *secret,
                   char message[INVENTORY_MESSAGE_BYTES]) {
    struct inventory *inventory = calloc(1, sizeof *inventory);
    char *copy = strdup(urls);
    int code = UV_ENOMEM;

    if (inventory != NULL && copy != NULL)
        code = take_secret(inventory, secret, message);
    if (code == 0)
        code = open_all(inventory, loop, copy, message);
    free(copy);
    if (code == 0) {
        *out = inventory;
        return 0;
    }
    if (code != UV_EINVAL)
        (void)snprintf(message, INVENTORY_MESSAGE_BYTES, "%s", uv_strerror(code));
    if (inventory != NULL && inventory->count > 0)
        inventory_close(inventory, NULL, NULL);
    else
        free(inventory);
    return code;
}

void inventory_register_metrics(struct inventory *inventory) {
    for (unsigned i = 0; i < inventory->count; i++)
        metric_register(&inventory->instances[i].up);
}

bool inventory_is_up(const struct inventory *inventory) {
    for (unsigned i = 0; i < inventory->count; i++)
        if (inventory->instances[i].skip_until_ms == 0)
            return true;
    return false;
}

/* The next instance in turn that is in use or due for another try; else the one whose try is due
 * first, so that a call is never refused without an attempt. Each is given once per call: `tried`
 * is a bit each. */
static struct instance *choose(struct inventory *inventory, uint64_t tried, int64_t now_ms) {
    struct instance *best = NULL;

    for (unsigned i = 0; i < inventory->count; i++) {
        unsigned index = (inventory->next + i) % inventory->count;
        struct instance *instance = &inventory->instances[index];

        if (tried & UINT64_C(1) << index)
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
    if (best->skip_until_ms != 0) /* this call is the try; others go elsewhere meanwhile */
        best->skip_until_ms = now_ms + CONNECT_LIMIT_MS;
    return best;
}

static void note_not_sent(struct instance *instance, const char *error) {
    struct http_client_stats stats;
    char quoted[128];

    http_client_stats(instance->client, &stats);
    if (stats.connect_failures == 0)
        return; /* not its fault: the deadline passed or the queue was full */
    if (instance->skip_until_ms == 0)
        log_warn("inventory instance is down", "url=%s error=%s", instance->url,
                 log_quote(quoted, sizeof quoted, error));
    instance->pause_ms = instance->pause_ms == 0 ? PAUSE_FIRST_MS : instance->pause_ms * 2;
    if (instance->pause_ms > PAUSE_MAX_MS)
        instance->pause_ms = PAUSE_MAX_MS;
    instance->skip_until_ms = clock_now_ms() + instance->pause_ms;
}

/* After UNKNOWN nothing is known of the instance: it may just have died, or be slow. */
static void note_outcome(struct instance *instance, const struct http_call *call) {
    if (call->outcome == HTTP_CALL_NOT_SENT)
        note_not_sent(instance, call->error);
    if (call->outcome != HTTP_CALL_ANSWERED)
        return;
    if (instance->skip_until_ms != 0)
        log_info("inventory instance is back", "url=%s", instance->url);
    instance->skip_until_ms = instance->pause_ms = 0;
}

static void take_answer(const struct http_call *call, struct inventory_answer *answer) {
    answer->outcome = call->outcome;
    answer->status = call->status;
    snprintf(answer->timing, sizeof answer->timing, "%s", call->header);
    snprintf(answer->message, sizeof answer->message, "%s", call->error != NULL ? call->error : "");
    if (call->outcome == HTTP_CALL_ANSWERED && call->reply_length > 0)
        answer->body = json_read(call->reply, call->reply_length, NULL);
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
    uint64_t tried = 0;
    struct instance *instance;

    (void)snprintf(lines, sizeof lines, "%s%s", inventory->authorization,
                   headers != NULL ? headers : "");
    *answer = (struct inventory_answer){.outcome = HTTP_CALL_NOT_SENT,
                                        .message = "the service is closing"};
    while (!inventory->is_closing &&
           (instance = choose(inventory, tried, clock_now_ms())) != NULL) {
        tried |= UINT64_C(1) << (instance - inventory->instances);
        (void)http_call_await(instance->client, &call);
        note_outcome(instance, &call);
        take_answer(&call, answer);
        http_call_done(&call);
        if (call.outcome != HTTP_CALL_NOT_SENT || clock_now_ms() >= deadline_ms)
            return;
    }
}

const char *inventory_text(const struct inventory_answer *answer, const char *field) {
    const char *text = json_string_value(json_object_get(answer->body, field));

    return text != NULL ? text : "";
}
