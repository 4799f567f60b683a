/* Looks the name up, and keeps to the order and the patience of addresses.h. */
#include "pg_host.h"

#include "clock.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct pg_lookup {
    uv_getaddrinfo_t request;
    struct pg_host *host;
    struct pg_dial *dial; /* NULL: forgotten */
};

static const char *value_of(const PQconninfoOption *option, const char *keyword) {
    for (; option->keyword != NULL; option++)
        if (strcmp(option->keyword, keyword) == 0)
            return option->val != NULL ? option->val : "";
    return "";
}

/* One name, that libpq would look up, and no order of its own. */
static bool is_one_name(const PQconninfoOption *options) {
    const char *host = value_of(options, "host");
    const char *order = value_of(options, "load_balance_hosts");
    unsigned char bytes[sizeof(struct in6_addr)];

    return host[0] != '\0' && host[0] != '/' && host[0] != '@' && strchr(host, ',') == NULL &&
           value_of(options, "hostaddr")[0] == '\0' && inet_pton(AF_INET, host, bytes) != 1 &&
           inet_pton(AF_INET6, host, bytes) != 1 &&
           (order[0] == '\0' || strcmp(order, "disable") == 0);
}

int pg_host_init(struct pg_host *host, uv_loop_t *loop, const char *conninfo,
                 void (*on_forgotten)(void *data), void *data) {
    PQconninfoOption *options = PQconninfoParse(conninfo, NULL);
    bool is_ours = options != NULL && is_one_name(options);

    *host = (struct pg_host){.loop = loop, .on_forgotten = on_forgotten, .data = data};
    if (is_ours)
        host->name = strdup(value_of(options, "host"));
    PQconninfoFree(options);
    return options == NULL || (is_ours && host->name == NULL) ? UV_ENOMEM : 0;
}

void pg_host_free(struct pg_host *host) {
    free(host->name);
    host->name = NULL;
}

static void on_looked_up(uv_getaddrinfo_t *request, int status, struct addrinfo *all) {
    struct pg_lookup *lookup = request->data;
    struct pg_host *host = lookup->host;
    struct pg_dial *dial = lookup->dial;
    char why[160];

    free(lookup);
    host->lookups--;
    if (dial == NULL) {
        uv_freeaddrinfo(all);
        host->on_forgotten(host->data);
        return;
    }
    dial->lookup = NULL;
    if (status == 0) {
        int64_t now_ms = clock_now_ms();

        addresses_begin(&dial->addresses, all, &host->answered, now_ms, dial->until_ms - now_ms);
    } else {
        (void)snprintf(why, sizeof why, "host %.100s: %s", host->name, uv_strerror(status));
    }
    dial->on_found(dial, status == 0 ? NULL : why);
}

int pg_dial_begin(struct pg_dial *dial, int64_t now_ms, int64_t timeout_ms) {
    static const struct addrinfo hints = {.ai_socktype = SOCK_STREAM};
    struct pg_host *host = dial->host;
    struct pg_lookup *lookup;
    int rv;

    dial->until_ms = now_ms + timeout_ms;
    dial->is_reached = false;
    if (host->name == NULL)
        return 0;
    lookup = malloc(sizeof *lookup);
    if (lookup == NULL)
        return UV_ENOMEM;
    *lookup = (struct pg_lookup){.request.data = lookup, .host = host, .dial = dial};
    rv = uv_getaddrinfo(host->loop, &lookup->request, on_looked_up, host->name, NULL, &hints);
    if (rv != 0) {
        free(lookup);
        return rv;
    }
    dial->lookup = lookup;
    host->lookups++;
    return 0;
}

void pg_dial_address(const struct pg_dial *dial, char text[ADDRESS_TEXT]) {
    text[0] = '\0';
    if (dial->addresses.current != NULL)
        address_host(text, dial->addresses.current->ai_addr);
}

int64_t pg_dial_due_ms(const struct pg_dial *dial, int64_t now_ms) {
    return dial->addresses.all == NULL || dial->is_reached
               ? dial->until_ms
               : addresses_due_ms(&dial->addresses, now_ms);
}

bool pg_dial_reaches(struct pg_dial *dial, const PGconn *pg) {
    ConnStatusType status = PQstatus(pg);

    if (dial->is_reached || status == CONNECTION_BAD || status == CONNECTION_STARTED ||
        status == CONNECTION_NEEDED)
        return false;
    dial->is_reached = true;
    return true;
}

bool pg_dial_next(struct pg_dial *dial, bool is_silent, int64_t now_ms) {
    return !dial->is_reached && dial->addresses.all != NULL &&
           addresses_next(&dial->addresses, is_silent, now_ms);
}

void pg_dial_succeed(struct pg_dial *dial) {
    const struct addrinfo *current = dial->addresses.current;

    if (current != NULL && current->ai_addrlen <= sizeof dial->host->answered) {
        dial->host->answered = (struct sockaddr_storage){0};
        memcpy(&dial->host->answered, current->ai_addr, current->ai_addrlen);
    }
    pg_dial_end(dial);
}

void pg_dial_end(struct pg_dial *dial) {
    if (dial->lookup != NULL) {
        dial->lookup->dial = NULL;
        (void)uv_cancel((uv_req_t *)&dial->lookup->request); /* or it ends by itself */
        dial->lookup = NULL;
    }
    uv_freeaddrinfo(dial->addresses.all);
    dial->addresses = (struct addresses){.all = NULL};
}
