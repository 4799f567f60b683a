/* Looks up names one after another, in a fiber, and passes all addresses to the inventory. */
#include "instances.h"

#include "fiber.h"
#include "text_copy.h"

#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define URLS_BYTES 4096 /* of one name: room for 64 and more */

struct instance_name {
    char url[256], host[256];
    bool is_literal;
    char urls[URLS_BYTES]; /* from its last look-up, or the name itself */
};

static bool instances_is_literal(const char *host) {
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;

    return uv_ip4_addr(host, 0, &v4) == 0 || uv_ip6_addr(host, 0, &v6) == 0;
}

/* False when it does not fit. */
static bool append_url(char *urls, size_t size, const struct addrinfo *address, int port) {
    const bool is_v6 = address->ai_family == AF_INET6;
    size_t length = strlen(urls);
    char host[64];
    int written;

    if (getnameinfo(address->ai_addr, address->ai_addrlen, host, sizeof host, NULL, 0,
                    NI_NUMERICHOST) != 0)
        return true;
    written = snprintf(urls + length, size - length, "%shttp://%s%s%s:%d", length > 0 ? "," : "",
                       is_v6 ? "[" : "", host, is_v6 ? "]" : "", port);
    if ((size_t)written < size - length)
        return true;
    urls[length] = '\0';
    return false;
}

/* Write `url`, or the URLs of `addresses` with its port, separated by commas, into `urls`. */
static void list_urls(const char *url, const struct addrinfo *addresses, char *urls, size_t size) {
    const struct addrinfo *each;
    char host[256];
    int port, count = 0;

    urls[0] = '\0';
    if (http_origin_parse(url, host, sizeof host, &port) == 0)
        for (each = addresses; each != NULL; each = each->ai_next)
            /* Else a name with addresses of both families would be an instance twice. */
            if (each->ai_family == addresses->ai_family &&
                (count++, !append_url(urls, size, each, port)))
                break;
    if (count < 2)
        text_copy(urls, size, url);
}

struct look_up {
    uv_getaddrinfo_t request;
    struct fiber_event done;
    int status;
};

static void instances_on_found(uv_getaddrinfo_t *request, int status, struct addrinfo *addresses) {
    struct look_up *look_up = request->data;

    (void)addresses; /* request->addrinfo */
    look_up->status = status;
    fiber_event_set(&look_up->done);
}

static void look_up_name(uv_loop_t *loop, struct instance_name *name) {
    const struct addrinfo hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM};
    struct look_up look_up = {.done = FIBER_EVENT_INIT};

    look_up.request.data = &look_up;
    if (uv_getaddrinfo(loop, &look_up.request, instances_on_found, name->host, NULL, &hints) != 0)
        return;
    fiber_event_wait(&look_up.done);
    if (look_up.status != 0)
        return;
    list_urls(name->url, look_up.request.addrinfo, name->urls, sizeof name->urls);
    uv_freeaddrinfo(look_up.request.addrinfo);
}

static void instances_tell(struct instances *instances) {
    char *all = calloc(instances->count, URLS_BYTES);

    if (all == NULL)
        return; /* the next tick tries again */
    for (unsigned i = 0; i < instances->count; i++) {
        strcat(all, i > 0 ? "," : "");
        strcat(all, instances->names[i].urls);
    }
    inventory_update(instances->inventory, all);
    free(all);
}

static void finish_when_closed(struct instances *instances) {
    if (!instances->is_timer_closed || instances->is_looking)
        return;
    free(instances->names);
    instances->on_stopped(instances->data);
}

static void look_up_all(void *arg) {
    struct instances *instances = arg;

    for (unsigned i = 0; i < instances->count && !instances->is_closing; i++)
        if (!instances->names[i].is_literal)
            look_up_name(instances->timer.loop, &instances->names[i]);
    if (!instances->is_closing)
        instances_tell(instances);
    instances->is_looking = false;
    finish_when_closed(instances);
}

static void instances_on_time(uv_timer_t *timer) {
    struct instances *instances = timer->data;

    if (instances->is_looking)
        return;
    instances->is_looking = true;
    if (fiber_start(look_up_all, instances) != 0)
        instances->is_looking = false; /* no memory: the next tick tries again */
}

/* Returns the number of names. Cuts `urls` into pieces. */
static unsigned read_names(struct instances *instances, char *urls) {
    unsigned names = 0;
    int port;

    for (const char *url; (url = strsep(&urls, ",")) != NULL && url[0] != '\0';) {
        struct instance_name *name = &instances->names[instances->count];

        if (http_origin_parse(url, name->host, sizeof name->host, &port) != 0)
            continue; /* inventory_open() has refused it */
        text_copy(name->url, sizeof name->url, url);
        text_copy(name->urls, sizeof name->urls, url);
        name->is_literal = instances_is_literal(name->host);
        names += !name->is_literal;
        instances->count++;
    }
    return names;
}

int instances_start(struct instances *instances, uv_loop_t *loop, struct inventory *inventory,
                    const char *urls, uint64_t every_ms) {
    char *copy = strdup(urls);
    size_t most = 1;

    for (const char *at = urls; *at != '\0'; at++)
        most += *at == ',';
    *instances =
        (struct instances){.inventory = inventory, .names = calloc(most, sizeof *instances->names)};
    if (copy == NULL || instances->names == NULL) {
        free(copy);
        free(instances->names);
        return UV_ENOMEM;
    }
    (void)uv_timer_init(loop, &instances->timer); /* cannot fail */
    instances->timer.data = instances;
    if (read_names(instances, copy) > 0)
        (void)uv_timer_start(&instances->timer, instances_on_time, 0, every_ms);
    free(copy);
    return 0;
}

static void instances_on_timer_closed(uv_handle_t *timer) {
    struct instances *instances = timer->data;

    instances->is_timer_closed = true;
    finish_when_closed(instances);
}

void instances_stop(struct instances *instances, void (*on_stopped)(void *data), void *data) {
    if (instances->is_closing)
        return;
    instances->is_closing = true;
    instances->on_stopped = on_stopped;
    instances->data = data;
    uv_close((uv_handle_t *)&instances->timer, instances_on_timer_closed);
}
