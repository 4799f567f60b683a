/* Opens lockkit clients by URL, each once. */
#include "lock_servers.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static enum lk_status lock_servers_open_client(const struct lock_servers *servers,
                                               enum lock_server server, const char *query,
                                               lk_client **client) {
    const struct lk_client_options options = {.size = sizeof options, .label = servers->label};
    const char *url = servers->urls[server];
    size_t size = strlen(url) + strlen(query) + 2;
    char *whole = malloc(size);
    enum lk_status status;

    if (whole == NULL)
        return LK_NOMEM;
    (void)snprintf(whole, size, "%s%s%s", url,
                   query[0] == '\0'           ? ""
                   : strchr(url, '?') == NULL ? "?"
                                              : "&",
                   query);
    status = lk_client_open(client, servers->loop, whole, &options);
    free(whole);
    return status;
}

enum lk_status lock_servers_client(struct lock_servers *servers, enum lock_server server,
                                   const char *query, lk_client **client) {
    enum lk_status status;
    unsigned i;

    assert(strlen(query) < LOCK_QUERY_BYTES);
    *client = NULL;
    for (i = 0; i < servers->client_count; i++)
        if (servers->clients[i].server == server && strcmp(servers->clients[i].query, query) == 0) {
            *client = servers->clients[i].client;
            return LK_OK;
        }
    if (servers->urls[server] == NULL)
        return LK_UNSUPPORTED;
    if (i == LOCK_CLIENTS_MOST)
        return LK_NOMEM;
    status = lock_servers_open_client(servers, server, query, client);
    if (status != LK_OK)
        return status;
    servers->clients[i].server = server;
    servers->clients[i].client = *client;
    strcpy(servers->clients[i].query, query);
    servers->client_count++;
    return LK_OK;
}

double lock_servers_count(const struct lock_servers *servers, enum lock_server server,
                          size_t offset) {
    double sum = 0;

    assert(offset + sizeof(uint64_t) <= sizeof(struct lk_counters));
    for (unsigned i = 0; i < servers->client_count; i++) {
        struct lk_counters counters = {.size = sizeof counters};
        uint64_t count;

        if (servers->clients[i].server != server)
            continue;
        lk_client_counters(servers->clients[i].client, &counters);
        memcpy(&count, (const char *)&counters + offset, sizeof count);
        sum += (double)count;
    }
    return sum;
}

static void lock_servers_on_closed(void *data) {
    (void)data;
}

void lock_servers_close(struct lock_servers *servers) {
    while (servers->client_count > 0)
        lk_client_close(servers->clients[--servers->client_count].client, lock_servers_on_closed,
                        NULL);
}
