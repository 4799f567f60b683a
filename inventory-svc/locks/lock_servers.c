/* Opens clients of lockkit by URL, once each. */
#include "lock_servers.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int lock_servers_set(struct lock_servers *servers, enum lock_server which, const char *url,
                     const char *query) {
    size_t size = strlen(url) + strlen(query) + 2;
    const char *separator = strchr(url, '?') == NULL ? "?" : "&";

    if (url[0] == '\0')
        return 0;
    servers->urls[which] = malloc(size);
    if (servers->urls[which] == NULL)
        return -1;
    (void)snprintf(servers->urls[which], size, "%s%s%s", url, query[0] != '\0' ? separator : "",
                   query);
    return 0;
}

enum lk_status lock_servers_client(struct lock_servers *servers, enum lock_server which,
                                   lk_client **client) {
    const struct lk_client_options options = {.size = sizeof options, .label = servers->label};
    enum lk_status status = LK_OK;

    if (servers->clients[which] == NULL)
        status = servers->urls[which] == NULL
                     ? LK_UNSUPPORTED
                     : lk_client_open(&servers->clients[which], servers->loop, servers->urls[which],
                                      &options);
    *client = servers->clients[which];
    return status;
}

static void on_closed(void *data) {
    (void)data;
}

void lock_servers_close(struct lock_servers *servers) {
    for (int i = 0; i < LOCK_SERVER_COUNT; i++) {
        if (servers->clients[i] != NULL)
            lk_client_close(servers->clients[i], on_closed, NULL);
        servers->clients[i] = NULL;
        free(servers->urls[i]);
        servers->urls[i] = NULL;
    }
}
