/* How an HTTP client comes to be: the origin taken apart, the defaults, the handles. */
#include "http_client_internal.h"

#include "sigpipe.h"
#include "text_copy.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static bool is_host(const char *host) {
    size_t length = strlen(host);

    return length > 0 && length < HTTP_CLIENT_HOST_BYTES &&
           strspn(host, "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-._:%") ==
               length;
}

static int client_open_parse_port(const char *text, int *port) {
    size_t length = strspn(text, "0123456789");

    if (length == 0 || length > 5 || text[length] != '\0')
        return UV_EINVAL;
    *port = atoi(text);
    return *port >= 1 && *port <= 65535 ? 0 : UV_EINVAL;
}

int http_origin_parse(const char *url, char *host, size_t host_size, int *port) {
    static const char scheme[] = "http://";
    const char *start, *end;
    bool is_bracketed;

    if (strncasecmp(url, scheme, sizeof scheme - 1) != 0)
        return UV_EINVAL;
    start = url + sizeof scheme - 1;
    is_bracketed = *start == '[';
    start += is_bracketed;
    end = start + strcspn(start, is_bracketed ? "]" : ":");
    if ((size_t)(end - start) >= host_size || (is_bracketed && *end != ']'))
        return UV_EINVAL;
    memcpy(host, start, (size_t)(end - start));
    host[end - start] = '\0';
    end += is_bracketed;
    *port = 80;
    if (!is_host(host) || (*end != '\0' && *end != ':'))
        return UV_EINVAL;
    return *end == ':' ? client_open_parse_port(end + 1, port) : 0;
}

static void set_address(struct http_client *client, const char *host, int port) {
    bool is_v6 = uv_ip6_addr(host, port, (struct sockaddr_in6 *)&client->literal) == 0;
    char port_text[16] = "";

    if (!is_v6 && uv_ip4_addr(host, port, (struct sockaddr_in *)&client->literal) != 0)
        memset(&client->literal, 0, sizeof client->literal);
    if (port != 80)
        (void)snprintf(port_text, sizeof port_text, ":%d", port);
    text_copy(client->host, sizeof client->host, host);
    (void)snprintf(client->authority, sizeof client->authority, "%s%s%s%s", is_v6 ? "[" : "", host,
                   is_v6 ? "]" : "", port_text);
}

static void set_options(struct http_client *client, const struct http_client_options *options) {
    struct http_client_options *set = &client->options;

    *set = *options;
    set->host = client->host;
    set->connections = set->connections != 0 ? set->connections : 64;
    set->opening = set->opening != 0 ? set->opening : set->connections;
    set->queue = set->queue != 0 ? set->queue : 1024;
    set->reply_limit = set->reply_limit != 0 ? set->reply_limit : 64 * 1024;
    set->connect_timeout_ms = set->connect_timeout_ms != 0 ? set->connect_timeout_ms : 1000;
    set->idle_ms = set->idle_ms != 0 ? set->idle_ms : 30000;
}

int http_client_open(struct http_client **client, uv_loop_t *loop,
                     const struct http_client_options *options) {
    struct http_client *made;

    if (options->host == NULL || !is_host(options->host) || options->port < 1 ||
        options->port > 65535)
        return UV_EINVAL;
    made = calloc(1, sizeof *made);
    if (made == NULL)
        return UV_ENOMEM;
    made->loop = loop;
    set_address(made, options->host, options->port);
    set_options(made, options);
    for (int state = 0; state < CONNECTION_STATES; state++)
        TAILQ_INIT(&made->connections[state]);
    TAILQ_INIT(&made->queue);
    TAILQ_INIT(&made->ended);
    TAILQ_INIT(&made->running);
    made->retry_ms = HTTP_CLIENT_NEVER_MS;
    (void)uv_timer_init(loop, &made->timer); /* cannot fail, nor do the others */
    (void)uv_check_init(loop, &made->polled);
    (void)uv_idle_init(loop, &made->ending);
    made->timer.data = made->polled.data = made->ending.data = made;
    sigpipe_ignore();
    *client = made;
    return 0;
}
