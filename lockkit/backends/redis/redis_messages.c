/* Messages are an owner token and the name of the lock that it was handed. */
#include "redis_messages.h"

#include <stdio.h>
#include <string.h>
#include <sys/random.h>

/* NULL, newly effective, is an event as well: something may have been missed before. */
static void on_message(struct redis_subscription *subscription, const char *message) {
    const struct redis_server *server = subscription->data;
    char owner[OWNER_SIZE] = "";

    if (!message) {
        server->config.push(server->config.data, LK_PUSH_FREE, NULL, NULL, NULL);
    } else if (strlen(message) >= OWNER_SIZE) {
        memcpy(owner, message, OWNER_SIZE - 1);
        server->config.push(server->config.data, LK_PUSH_FREE, message + OWNER_SIZE - 1, owner,
                            NULL);
    }
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
        server->is_subscribed = redis_subscribe(server->redis, &server->subscription) == 0;
}
