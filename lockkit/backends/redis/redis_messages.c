/* News of hand-overs, `owner:fence:ttl:now:name`. */
#include "redis_messages.h"

#include "redis_grants.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

#define EXACT_MOST (UINT64_C(1) << 53) /* of Lua's numbers */

void redis_messages_take(struct redis_server *server, const char *news) {
    struct redis_grant grant = {0};
    int name = 0;

    if (sscanf(news, "%40[0-9a-f]:%" SCNu64 ":%" SCNu32 ":%" SCNu64 ":%n", grant.owner,
               &grant.fence, &grant.ttl_ms, &grant.at_ms, &name) < 4 ||
        name == 0 || news[name] == '\0' || grant.fence > EXACT_MOST || grant.at_ms > EXACT_MOST)
        return;
    if (server->replicas == 0) /* or else they are asked, too */
        redis_grants_put(&server->grants, &grant);
    server->config.push(server->config.data, LK_PUSH_FREE, news + name, grant.owner, NULL);
}

/* NULL, newly effective, is an event as well: something may have been missed before. */
static void on_message(struct redis_subscription *subscription, const char *message) {
    struct redis_server *server = subscription->data;

    if (message) {
        redis_messages_take(server, message);
        return;
    }
    redis_grants_forget(&server->grants);
    server->config.push(server->config.data, LK_PUSH_FREE, NULL, NULL, NULL);
}

bool redis_messages_init(struct redis_server *server) {
    unsigned char bytes[CLIENT_SIZE / 2];

    if (getrandom(bytes, sizeof bytes, 0) != (ssize_t)sizeof bytes)
        return false;
    for (size_t i = 0; i < sizeof bytes; i++)
        (void)snprintf(server->client + 2 * i, 3, "%02x", bytes[i]);
    (void)snprintf(server->channel, sizeof server->channel, "lk:client:%s", server->client);
    server->subscription = (struct redis_subscription){
        .channel = server->channel, .on_message = on_message, .data = server};
    return true;
}

void redis_messages_listen(struct redis_server *server) {
    if (!server->is_subscribed)
        server->is_subscribed = redis_subscribe(server->link.redis, &server->subscription) == 0;
}
