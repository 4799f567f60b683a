/* One GET /products/{id} at a time, whose answer nobody waits for. */
#include "live_stock.h"

#include "clock.h"

#include <assert.h>
#include <jansson.h>
#include <stdio.h>

#define ASK_MS 1000 /* what was left longer ago than this is no news */

static void read_reply(struct live_stock *stock, const json_t *reply) {
    const json_t *available = json_object_get(reply, "available");
    const json_t *returned = json_object_get(reply, "returned");
    int64_t left;
    const char *holder = json_string_value(json_object_get(reply, "holder"));

    if (json_is_integer(available) &&
        !__builtin_add_overflow(json_integer_value(available), json_integer_value(returned), &left))
        stock->left = left;
    stock->has_holder = stock->has_holder || holder != NULL;
    snprintf(stock->holder, sizeof stock->holder, "%s", holder != NULL ? holder : "");
}

static void on_answer(struct http_call *call) {
    struct live_stock *stock = call->data;
    json_t *reply = NULL;

    assert(stock->is_asking);
    stock->is_asking = false;
    if (!stock->is_current)
        return;
    stock->left = -1;
    if (call->outcome == HTTP_CALL_ANSWERED && call->status == 200)
        reply = json_loadb(call->reply, call->reply_length, 0, NULL);
    read_reply(stock, reply);
    json_decref(reply);
}

void live_stock_start(struct live_stock *stock, struct http_client *client,
                      const char *product_id) {
    stock->client = client;
    stock->is_current = false; /* a question of the last round may be open */
    stock->left = -1;
    stock->has_holder = false;
    stock->holder[0] = stock->path[0] = '\0';
    if (product_id != NULL && client != NULL)
        snprintf(stock->path, sizeof stock->path, "/products/%s", product_id);
}

void live_stock_ask(struct live_stock *stock) {
    if (stock->is_asking || stock->path[0] == '\0')
        return;
    stock->is_asking = stock->is_current = true;
    stock->call = (struct http_call){.method = "GET",
                                     .target = stock->path,
                                     .deadline_ms = clock_now_ms() + ASK_MS,
                                     .data = stock};
    http_client_call(stock->client, &stock->call, on_answer);
}
