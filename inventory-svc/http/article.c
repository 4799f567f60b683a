/* GET|POST /inventory/minusInventory?inventoryId=: the path and the words of the article that the
 * project started from, so that its readers can follow along. */
#include "handlers.h"

#include "answer.h"

#include <stdio.h>
#include <string.h>

static void reply(struct http_exchange *exchange, int status, int port) {
    const bool is_sold = status == 200 || status == 201;
    char text[96];

    if (status == 409)
        (void)snprintf(text, sizeof text, "库存不足，请联系卖家....");
    else if (status == 503)
        (void)snprintf(text, sizeof text, "服务器繁忙...请稍后重试！！！");
    else
        (void)snprintf(text, sizeof text, "端口：%d,库存扣减%s！！！", port,
                       is_sold ? "成功" : "失败");
    if (status == 503)
        http_reply_header(exchange, "Retry-After", "1");
    http_reply(exchange, is_sold ? 200 : status, "text/plain; charset=utf-8", text, strlen(text));
}

void on_minus_inventory(struct http_exchange *exchange, void *data) {
    struct store *store = data;
    char product_id[UUID_TEXT], order_id[UUID_TEXT];
    struct selling selling = {.product_id = product_id, .order_id = order_id};

    uuid_v7(order_id);
    if (uuid_parse(http_query_param(exchange, "inventoryId"), product_id) != 0)
        reply(exchange, 400, store->port);
    else if (answer_sell(exchange, &selling, store))
        reply(exchange, answer_status(selling.outcome), store->port);
}
