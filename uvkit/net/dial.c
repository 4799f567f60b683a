/* Looks up the name in a thread of libuv, and makes a new socket for each address. */
#include "dial.h"

#include "text_copy.h"

#include <assert.h>
#include <netdb.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#define KEPT_PATIENCE_MS 250

static int dial_address(struct dial *dial);
static int dial_look_up(struct dial *dial);

bool dial_is_host(const char *name) {
    size_t length = strlen(name);

    return length > 0 && length < DIAL_HOST_BYTES &&
           strspn(name, "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-._:%") ==
               length;
}

void dial_host_init(struct dial_host *host, const char *name, int port) {
    *host = (struct dial_host){.port = port};
    text_copy(host->name, sizeof host->name, name);
    if (uv_ip6_addr(name, port, (struct sockaddr_in6 *)&host->literal) != 0 &&
        uv_ip4_addr(name, port, (struct sockaddr_in *)&host->literal) != 0)
        memset(&host->literal, 0, sizeof host->literal);
}

void dial_host_keep(struct dial_host *host, const char *name) {
    text_copy(host->name, sizeof host->name, name);
    host->is_kept = !address_is_literal(name);
}

static void dial_maybe_gone(struct dial *dial) {
    if (dial->has_tcp || dial->is_resolving)
        return;
    uv_freeaddrinfo(dial->addresses.all);
    dial->on_gone(dial);
}

/* The error in words, with the address if the name has several. */
static const char *dial_why(struct dial *dial, int code) {
    struct dial_host *host = dial->host;
    char address[ADDRESS_TEXT];

    if (dial->addresses.count < 2)
        return uv_strerror(code);
    address_text(address, dial->addresses.current->ai_addr);
    (void)snprintf(host->failure, sizeof host->failure, "%s: %s", address, uv_strerror(code));
    return host->failure;
}

static void dial_on_closed(uv_handle_t *tcp) {
    struct dial *dial = (struct dial *)(void *)((char *)tcp - offsetof(struct dial, tcp));
    int rc;

    dial->has_tcp = false;
    if (dial->is_closed) {
        dial_maybe_gone(dial);
        return;
    }
    /* The next address of the name, or all of them in place of the kept one. */
    rc = dial->addresses.all != NULL ? dial_address(dial) : dial_look_up(dial);
    if (rc != 0)
        dial_leave(dial, rc);
}

/* The host's dials then end in any order, like those of a name with several addresses. */
static bool dial_leaves_kept(struct dial *dial, int64_t now_ms) {
    if (!dial->host->is_kept || dial->addresses.all != NULL || now_ms >= dial->leave_ms)
        return false;
    dial->host->has_several = true;
    return true;
}

void dial_leave(struct dial *dial, int code) {
    const int64_t now_ms = (int64_t)uv_now(dial->loop);

    dial->leave_ms = dial->since_ms + dial->timeout_ms;
    if (dial->has_tcp && (dial_leaves_kept(dial, now_ms) ||
                          addresses_next(&dial->addresses, code == UV_ETIMEDOUT, now_ms)))
        uv_close((uv_handle_t *)&dial->tcp, dial_on_closed);
    else
        dial->on_over(dial, dial_why(dial, code));
}

static void dial_on_connected(uv_connect_t *connect, int status) {
    struct dial *dial = connect->data;
    const struct addrinfo *current = dial->addresses.current;

    if (dial->is_closed || uv_is_closing((uv_handle_t *)&dial->tcp))
        return;
    if (status == 0)
        status = uv_tcp_nodelay(&dial->tcp, 1);
    if (status != 0) {
        dial_leave(dial, status);
        return;
    }
    if (current != NULL)
        memcpy(dial->host->is_kept ? &dial->host->literal : &dial->host->answered, current->ai_addr,
               current->ai_addrlen);
    dial->on_over(dial, NULL);
}

static int dial_address(struct dial *dial) {
    const struct addrinfo *current = dial->addresses.current;
    const struct sockaddr *address =
        current != NULL ? current->ai_addr : (const struct sockaddr *)&dial->host->literal;
    int rc = dial->has_tcp ? 0 : uv_tcp_init(dial->loop, &dial->tcp);

    if (rc != 0)
        return rc;
    dial->has_tcp = true;
    dial->tcp.data = dial->data;
    if (current != NULL) {
        dial->leave_ms = addresses_due_ms(&dial->addresses, (int64_t)uv_now(dial->loop));
        dial->on_address(dial);
    }
    return uv_tcp_connect(&dial->connect, &dial->tcp, address, dial_on_connected);
}

static void dial_on_resolved(uv_getaddrinfo_t *resolve, int status, struct addrinfo *addresses) {
    struct dial *dial = resolve->data;

    dial->is_resolving = false;
    addresses_begin(&dial->addresses, addresses, &dial->host->answered, dial->since_ms,
                    dial->timeout_ms);
    dial->host->has_several |= dial->addresses.count > 1;
    if (dial->is_closed) {
        dial_maybe_gone(dial);
        return;
    }
    if (status == 0)
        status = dial_address(dial);
    if (status != 0)
        dial_leave(dial, status);
}

static int dial_look_up(struct dial *dial) {
    static const struct addrinfo hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM};
    char port[16];
    int rc;

    (void)snprintf(port, sizeof port, "%d", dial->host->port);
    rc = uv_getaddrinfo(dial->loop, &dial->resolve, dial_on_resolved, dial->host->name, port,
                        &hints);
    dial->is_resolving = rc == 0;
    return rc;
}

int dial_start(struct dial *dial) {
    dial->connect.data = dial->resolve.data = dial;
    dial->leave_ms = dial->since_ms + dial->timeout_ms;
    if (dial->host->literal.ss_family == 0)
        return dial_look_up(dial);
    if (dial->host->is_kept && dial->timeout_ms > KEPT_PATIENCE_MS)
        dial->leave_ms = dial->since_ms + KEPT_PATIENCE_MS;
    return dial_address(dial);
}

void dial_close(struct dial *dial) {
    assert(!dial->is_closed);
    dial->is_closed = true;
    if (dial->is_resolving)
        (void)uv_cancel((uv_req_t *)&dial->resolve); /* or it ends by itself */
    if (!dial->has_tcp)
        dial_maybe_gone(dial);
    else if (!uv_is_closing((uv_handle_t *)&dial->tcp))
        uv_close((uv_handle_t *)&dial->tcp, dial_on_closed);
}
