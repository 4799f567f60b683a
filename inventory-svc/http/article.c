/* GET|POST /inventory/minusInventory?inventoryId=: the path and the words of the article that the
 * project started from, so that its readers can follow along. */
#include "selling.h"

#include <stdio.h>
#include <string.h>

static void reply_text(struct http_exchange *exchange, int status, const char *text) {
    if (status == 503)
        http_reply_header(exchange, "Retry-After", "1");
    http_reply(exchange, status, "text/plain; charset=utf-8", text, strlen(text));
}

static void reply(struct http_exchange *exchange, const struct selling *selling, int port) {
    char text[96];

    if (selling->status == 409) {
        reply_text(exchange, 409, "库存不足，请联系卖家....");
        return;
    }
    if (selling->status == 503) {
        reply_text(exchange, 503, "服务器繁忙...请稍后重试！！！");
        return;
    }
    (void)snprintf(text, sizeof text, "端口：%d,库存扣减%s！！！", port,
                   selling->code == NULL ? "成功" : "失败");
    reply_text(exchange, selling->code == NULL ? 200 : selling->status, text);
}

void on_minus_inventory(struct http_exchange *exchange, void *data) {
    struct inventory *inventory = data;
    char product_id[UUID_TEXT], order_id[UUID_TEXT];
    struct selling selling = {
        .product_id = product_id, .order_id = order_id, .request_id = http_request_id(exchange)};

    uuid_v7(order_id);
    if (uuid_parse(http_query_param(exchange, "inventoryId"), product_id) != 0) {
        selling.status = 400;
        selling.code = "bad_request";
    } else {
        selling_run(&selling, inventory);
    }
    if (selling.is_reply_dropped) {
        http_reply_drop(exchange);
        return;
    }
    selling_tell_cost(&selling, exchange);
    reply(exchange, &selling, inventory->port);
}
