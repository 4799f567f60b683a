/* Brings libcurl and the loop together.
 *
 * libcurl says which sockets it watches (on_socket) and when it wants to be called next (on_timer).
 * Each event of the loop goes to curl_multi_socket_action(), and afterwards curl_multi_info_read()
 * tells which requests have ended. Callbacks of requests never run inside a callback of libcurl.
 *
 * A request:  start -> running -> ended -> callback (at the end of the event that ended it, or from
 *             an idle handle when the caller's own call ended it) */
#include "web_client.h"

#include "addresses.h"
#include "clock.h"
#include "loop.h"
#include "text_copy.h"

#include <assert.h>
#include <curl/curl.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>

#define REPLY_LIMIT    (1024 * 1024)
#define HEAD_LIMIT     (64 * 1024)
#define USER_AGENT     128
#define REDIRECTS      10L
#define CLIENT_HANDLES 2 /* timer and idle handle */

/* Idle connections to keep. libcurl's own limit is four for each running request, so it would close
 * most of them after a burst. */
#define IDLE_CONNECTIONS 1024
/* libcurl uses no connection again that was idle for a second more than this. Many servers close
 * one after 2 or 5 s, and a request that meets the close would be lost. */
#define IDLE_S 1L

TAILQ_HEAD(web_requests, web_request);

struct web_client {
    uv_loop_t *loop;
    CURLM *multi;
    uv_timer_t timer;
    uv_idle_t ending; /* active while ended requests wait for their callback */
    struct web_requests running, ended;
    unsigned visitors, open_handles;
    bool any_address, is_closing, has_closed_handles;
    size_t reply_limit;
    char user_agent[USER_AGENT];
    web_client_cb on_closed;
    void *on_closed_data;
};

/* A socket that libcurl watches. */
struct web_socket {
    uv_poll_t poll;
    struct web_client *client;
    curl_socket_t fd;
};

struct web_visitor {
    struct web_client *client;
    CURL *easy; /* with the cookies */
    struct web_request *request;
};

/* ---- the ends */

static void client_on_handle_closed(uv_handle_t *handle) {
    struct web_client *client = handle->data;
    web_client_cb on_closed = client->on_closed;
    void *data = client->on_closed_data;

    if (--client->open_handles > 0)
        return;
    assert(client->visitors == 0);
    free(client);
    curl_global_cleanup();
    on_closed(data);
}

static void client_maybe_closed(struct web_client *client) {
    if (!client->is_closing || client->has_closed_handles || client->visitors > 0 ||
        !TAILQ_EMPTY(&client->ended))
        return;
    client->has_closed_handles = true;
    uv_close((uv_handle_t *)&client->timer, client_on_handle_closed);
    uv_close((uv_handle_t *)&client->ending, client_on_handle_closed);
}

/* Requests that end meanwhile wait for the next time. */
static void client_tell_ended(struct web_client *client) {
    struct web_requests ended = TAILQ_HEAD_INITIALIZER(ended);
    struct web_request *request;

    TAILQ_CONCAT(&ended, &client->ended, internal.entry);
    while ((request = TAILQ_FIRST(&ended)) != NULL) {
        TAILQ_REMOVE(&ended, request, internal.entry);
        request->internal.visitor->request = NULL;
        request->internal.cb(request);
    }
}

static void client_on_ending(uv_idle_t *ending) {
    struct web_client *client = ending->data;

    client_tell_ended(client);
    if (TAILQ_EMPTY(&client->ended))
        (void)uv_idle_stop(ending);
    client_maybe_closed(client);
}

static int64_t moment_ns(CURL *easy, CURLINFO info) {
    curl_off_t microseconds = 0;

    (void)curl_easy_getinfo(easy, info, &microseconds);
    return (int64_t)microseconds * 1000;
}

/* libcurl must not point into the request any more. curl_easy_reset() would do more: it also loses
 * the memory of COOKIEFILE, in libcurl 7.88. */
static void forget_request(CURL *easy) {
    (void)curl_easy_setopt(easy, CURLOPT_HTTPHEADER, NULL);
    (void)curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, NULL);
    (void)curl_easy_setopt(easy, CURLOPT_DEBUGFUNCTION, NULL);
    (void)curl_easy_setopt(easy, CURLOPT_VERBOSE, 0L);
    (void)curl_easy_setopt(easy, CURLOPT_CUSTOMREQUEST, NULL);
    (void)curl_easy_setopt(easy, CURLOPT_COPYPOSTFIELDS, NULL);
}

/* Off the multi handle, and onto the list of ended requests. */
static void request_end(struct web_request *request, enum web_outcome outcome) {
    struct web_client *client = request->internal.visitor->client;
    CURL *easy = request->internal.visitor->easy;
    long status = 0;

    if (request->internal.is_running) {
        (void)curl_multi_remove_handle(client->multi, easy);
        TAILQ_REMOVE(&client->running, request, internal.entry);
        (void)curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &status);
        request->connected_ns = moment_ns(easy, CURLINFO_CONNECT_TIME_T);
        request->first_byte_ns = moment_ns(easy, CURLINFO_STARTTRANSFER_TIME_T);
    }
    request->internal.is_running = false;
    request->total_ns = clock_now_ns() - request->started_ns;
    request->status = (int)status;
    request->outcome = outcome;
    forget_request(easy);
    curl_slist_free_all(request->internal.lines);
    request->internal.lines = NULL;
    TAILQ_INSERT_TAIL(&client->ended, request, internal.entry);
}

/* The same outside an event of libcurl. */
static void request_end_later(struct web_request *request, enum web_outcome outcome) {
    request_end(request, outcome);
    (void)uv_idle_start(&request->internal.visitor->client->ending, client_on_ending);
}

static void describe(struct web_request *request, CURLcode code) {
    const struct web_client *client = request->internal.visitor->client;
    const char *text = request->internal.curl_error;

    if (request->internal.is_too_large)
        (void)snprintf(request->error, sizeof request->error,
                       "the reply has more than %zu bytes of body, or a head of more than %d bytes",
                       client->reply_limit, HEAD_LIMIT);
    else if (request->internal.is_out_of_memory)
        text_copy(request->error, sizeof request->error, "out of memory");
    else if (request->is_forbidden)
        (void)snprintf(request->error, sizeof request->error,
                       "the address %s is neither loopback nor private", request->internal.refused);
    else if (code == CURLE_ABORTED_BY_CALLBACK)
        text_copy(request->error, sizeof request->error,
                  "the connection ended before the reply, and the request is not sent again");
    else
        text_copy(request->error, sizeof request->error,
                  text[0] != '\0' ? text : curl_easy_strerror(code));
}

static void request_on_done(struct web_request *request, CURLcode code) {
    enum web_outcome outcome = WEB_ANSWERED;

    if (code != CURLE_OK) {
        describe(request, code);
        outcome = request->internal.sent > 0 ? WEB_UNKNOWN : WEB_NOT_SENT;
    }
    request_end(request, outcome);
}

/* ---- events, from the loop to libcurl */

static void client_act(struct web_client *client, curl_socket_t fd, int events) {
    int running, left;
    CURLMsg *message;

    (void)curl_multi_socket_action(client->multi, fd, events, &running);
    while ((message = curl_multi_info_read(client->multi, &left)) != NULL) {
        char *request = NULL;

        if (message->msg != CURLMSG_DONE)
            continue;
        (void)curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, &request);
        request_on_done((void *)request, message->data.result);
    }
    client_tell_ended(client);
    client_maybe_closed(client);
}

/* libuv does not tell the error of a socket. libcurl finds it when it reads or writes. */
static void on_ready(uv_poll_t *poll, int status, int events) {
    struct web_socket *socket = (struct web_socket *)poll;
    int flags = status < 0 ? CURL_CSELECT_IN | CURL_CSELECT_OUT : 0;

    flags |= events & UV_READABLE ? CURL_CSELECT_IN : 0;
    flags |= events & UV_WRITABLE ? CURL_CSELECT_OUT : 0;
    client_act(socket->client, socket->fd, flags);
}

static void on_due(uv_timer_t *timer) {
    client_act(timer->data, CURL_SOCKET_TIMEOUT, 0);
}

static void on_socket_closed(uv_handle_t *handle) {
    struct web_socket *socket = (struct web_socket *)handle;

    handle->data = socket->client;
    client_on_handle_closed(handle);
    free(socket);
}

/* ---- wishes, from libcurl to the loop */

static struct web_socket *socket_open(struct web_client *client, curl_socket_t fd) {
    struct web_socket *socket = calloc(1, sizeof *socket);

    if (socket == NULL)
        return NULL;
    if (uv_poll_init(client->loop, &socket->poll, fd) != 0) {
        free(socket);
        return NULL;
    }
    socket->client = client;
    socket->fd = fd;
    client->open_handles++;
    (void)curl_multi_assign(client->multi, fd, socket);
    return socket;
}

/* libcurl closes the descriptor when this returns. */
static void socket_close(struct web_client *client, struct web_socket *socket) {
    (void)curl_multi_assign(client->multi, socket->fd, NULL);
    uv_close((uv_handle_t *)&socket->poll, on_socket_closed);
}

/* -1 ends all transfers of the multi handle, so no memory ends only this socket's: libcurl notices
 * its timeout. */
static int on_socket(CURL *easy, curl_socket_t fd, int what, void *data, void *of_socket) {
    struct web_client *client = data;
    struct web_socket *socket = of_socket;
    int events = 0;

    (void)easy;
    if (what == CURL_POLL_REMOVE) {
        if (socket != NULL)
            socket_close(client, socket);
        return 0;
    }
    if (socket == NULL)
        socket = socket_open(client, fd);
    if (socket == NULL)
        return 0;
    events |= what != CURL_POLL_IN ? UV_WRITABLE : 0;
    events |= what != CURL_POLL_OUT ? UV_READABLE : 0;
    (void)uv_poll_start(&socket->poll, events, on_ready);
    return 0;
}

static int on_timer(CURLM *multi, long timeout_ms, void *data) {
    struct web_client *client = data;

    (void)multi;
    if (timeout_ms < 0 || uv_is_closing((uv_handle_t *)&client->timer))
        (void)uv_timer_stop(&client->timer);
    else
        (void)uv_timer_start(&client->timer, on_due, (uint64_t)timeout_ms, 0);
    return 0;
}

/* ---- libcurl's questions about a request */

/* Each new connection asks here. The address is the one that it is about to connect to. */
static curl_socket_t on_open_socket(void *data, curlsocktype purpose, struct curl_sockaddr *to) {
    struct web_request *request = data;
    char text[ADDRESS_TEXT];

    (void)purpose;
    if (!request->internal.visitor->client->any_address && !address_is_private(&to->addr)) {
        address_host(text, &to->addr);
        text_copy(request->internal.refused, sizeof request->internal.refused, text);
        request->is_forbidden = true;
        return CURL_SOCKET_BAD;
    }
    return socket(to->family, to->socktype | SOCK_CLOEXEC, to->protocol);
}

/* Each request that is about to be sent asks here: the first, and one for each redirect. Any other
 * is libcurl's repetition on a new connection. */
static int on_send(void *data, char *peer, char *self, int peer_port, int self_port) {
    struct web_request *request = data;
    long redirects = 0;

    (void)peer, (void)self, (void)peer_port, (void)self_port;
    (void)curl_easy_getinfo(request->internal.visitor->easy, CURLINFO_REDIRECT_COUNT, &redirects);
    if (request->internal.sent > (unsigned)redirects)
        return CURL_PREREQFUNC_ABORT;
    request->internal.sent = (unsigned)redirects + 1;
    if (request->sent_ns == 0)
        request->sent_ns = clock_now_ns();
    return CURL_PREREQFUNC_OK;
}

static size_t keep(struct web_request *request, struct buffer *buffer, size_t limit,
                   const char *bytes, size_t length) {
    request->internal.is_too_large = length > limit - buffer->length;
    request->internal.is_out_of_memory =
        !request->internal.is_too_large &&
        (!buffer_append(buffer, bytes, length) || !buffer_append(buffer, "", 1)); /* the NUL */
    if (request->internal.is_too_large || request->internal.is_out_of_memory)
        return 0; /* libcurl ends the transfer */
    buffer->length--;
    return length;
}

static size_t on_body(char *bytes, size_t size, size_t count, void *data) {
    struct web_request *request = data;

    return keep(request, &request->reply, request->internal.visitor->client->reply_limit, bytes,
                size * count);
}

/* A status line begins another reply, after an interim reply or a redirect. */
static size_t on_header(char *bytes, size_t size, size_t count, void *data) {
    struct web_request *request = data;

    if (size * count > 5 && memcmp(bytes, "HTTP/", 5) == 0) {
        request->head.length = 0;
        request->reply.length = 0;
    }
    return keep(request, &request->head, HEAD_LIMIT, bytes, size * count);
}

static int on_debug(CURL *easy, curl_infotype type, char *bytes, size_t length, void *data) {
    struct web_request *request = data;

    (void)easy;
    if (type == CURLINFO_TEXT)
        request->on_talk(request, WEB_TALK_NOTE, bytes, length);
    else if (type == CURLINFO_HEADER_OUT)
        request->on_talk(request, WEB_TALK_HEAD_OUT, bytes, length);
    else if (type == CURLINFO_HEADER_IN)
        request->on_talk(request, WEB_TALK_HEAD_IN, bytes, length);
    return 0;
}

/* ---- a request */

static bool is_line(const char *line) {
    if (strchr(line, ':') == NULL || line[0] == ':')
        return false;
    for (; *line != '\0'; line++)
        if (((unsigned char)*line < 0x20 && *line != '\t') || *line == 0x7f)
            return false;
    return true;
}

static CURLcode append_line(struct curl_slist **lines, const char *line) {
    struct curl_slist *longer = curl_slist_append(*lines, line);

    if (longer == NULL)
        return CURLE_OUT_OF_MEMORY;
    *lines = longer;
    return CURLE_OK;
}

/* "Name:" tells libcurl to leave a header out, "Name;" to send it without a value. */
static CURLcode append_header(struct curl_slist **lines, const char *line) {
    const size_t name = strcspn(line, ":");
    char empty[256];

    if (line[name + 1 + strspn(line + name + 1, " \t")] != '\0')
        return append_line(lines, line);
    if (name + 2 > sizeof empty)
        return CURLE_BAD_FUNCTION_ARGUMENT;
    (void)snprintf(empty, sizeof empty, "%.*s;", (int)name, line);
    return append_line(lines, empty);
}

/* libcurl adds neither a type of the body nor a wait for `100 Continue`. */
static CURLcode set_headers(CURL *easy, struct web_request *request) {
    struct curl_slist **lines = &request->internal.lines;
    CURLcode code = append_line(lines, "Expect:");
    bool has_type = false;

    for (const char *const *line = request->headers; line != NULL && *line != NULL; line++) {
        if (!is_line(*line))
            return CURLE_BAD_FUNCTION_ARGUMENT;
        has_type = has_type || strncasecmp(*line, "Content-Type:", 13) == 0;
        if (code == CURLE_OK)
            code = append_header(lines, *line);
    }
    if (code == CURLE_OK && !has_type)
        code = append_line(lines, "Content-Type:");
    return code == CURLE_OK ? curl_easy_setopt(easy, CURLOPT_HTTPHEADER, *lines) : code;
}

#define SET(option, value)                                                                         \
    do {                                                                                           \
        CURLcode set_ = curl_easy_setopt(easy, CURLOPT_##option, value);                           \
        if (set_ != CURLE_OK)                                                                      \
            return set_;                                                                           \
    } while (0)

static CURLcode set_method(CURL *easy, const struct web_request *request) {
    const char *method = request->method;

    if (request->body != NULL || strcmp(method, "POST") == 0) {
        SET(POST, 1L);
        SET(POSTFIELDSIZE_LARGE, (curl_off_t)request->body_length);
        SET(COPYPOSTFIELDS, request->body != NULL ? request->body : "");
    } else if (strcmp(method, "HEAD") == 0) {
        SET(NOBODY, 1L);
    } else {
        SET(HTTPGET, 1L);
    }
    if (strcmp(method, "HEAD") != 0 &&
        strcmp(method, request->body != NULL ? "POST" : "GET") != 0 && strcmp(method, "POST") != 0)
        SET(CUSTOMREQUEST, method); /* also for redirects, so only where it must be */
    return CURLE_OK;
}

static CURLcode set_limits(CURL *easy, const struct web_request *request) {
    SET(PROTOCOLS_STR, "http,https");
    SET(REDIR_PROTOCOLS_STR, "http,https");
    SET(FOLLOWLOCATION, request->follows ? 1L : 0L);
    SET(MAXREDIRS, REDIRECTS);
    SET(TIMEOUT_MS, (long)request->timeout_ms);
    SET(PROXY, ""); /* also not that of the environment */
    SET(NOSIGNAL, 1L);
    SET(MAXAGE_CONN, IDLE_S);
    SET(ACCEPT_ENCODING, ""); /* all that libcurl knows */
    return CURLE_OK;
}

static CURLcode set_callbacks(CURL *easy, struct web_request *request) {
    SET(PRIVATE, request);
    SET(ERRORBUFFER, request->internal.curl_error);
    SET(WRITEFUNCTION, on_body);
    SET(WRITEDATA, request);
    SET(HEADERFUNCTION, on_header);
    SET(HEADERDATA, request);
    SET(OPENSOCKETFUNCTION, on_open_socket);
    SET(OPENSOCKETDATA, request);
    SET(PREREQFUNCTION, on_send);
    SET(PREREQDATA, request);
    if (request->on_talk == NULL)
        return CURLE_OK;
    SET(VERBOSE, 1L);
    SET(DEBUGFUNCTION, on_debug);
    SET(DEBUGDATA, request);
    return CURLE_OK;
}

static CURLcode set_all(CURL *easy, struct web_request *request) {
    const char *user_agent = request->internal.visitor->client->user_agent;
    CURLcode code = set_callbacks(easy, request);

    code = code == CURLE_OK ? set_limits(easy, request) : code;
    code = code == CURLE_OK ? set_method(easy, request) : code;
    code = code == CURLE_OK ? set_headers(easy, request) : code;
    if (code != CURLE_OK)
        return code;
    if (user_agent[0] != '\0')
        SET(USERAGENT, user_agent);
    SET(URL, request->url);
    return CURLE_OK;
}

static void request_begin(struct web_visitor *visitor, struct web_request *request) {
    request->outcome = WEB_NOT_SENT;
    request->status = 0;
    request->head = request->reply = (struct buffer){0};
    request->started_ns = clock_now_ns();
    request->sent_ns = 0;
    request->connected_ns = request->first_byte_ns = request->total_ns = 0;
    request->error[0] = '\0';
    request->is_forbidden = false;
    memset(&request->internal, 0, sizeof request->internal);
    request->internal.visitor = visitor;
    visitor->request = request;
}

void web_request_start(struct web_visitor *visitor, struct web_request *request,
                       web_request_cb cb) {
    struct web_client *client = visitor->client;
    CURLcode code;

    assert(visitor->request == NULL && !client->is_closing && request->timeout_ms > 0);
    request_begin(visitor, request);
    request->internal.cb = cb;
    if (request->body != NULL && strcmp(request->method, "HEAD") == 0) {
        text_copy(request->error, sizeof request->error, "a request HEAD has no body");
        request_end_later(request, WEB_NOT_SENT);
        return;
    }
    code = set_all(visitor->easy, request);
    if (code == CURLE_OK && curl_multi_add_handle(client->multi, visitor->easy) != CURLM_OK)
        code = CURLE_OUT_OF_MEMORY;
    if (code != CURLE_OK) {
        if (code == CURLE_BAD_FUNCTION_ARGUMENT)
            text_copy(request->error, sizeof request->error,
                      "a header is no `Name: value`, or has a control character");
        else
            describe(request, code);
        request_end_later(request, WEB_NOT_SENT);
        return;
    }
    request->internal.is_running = true;
    TAILQ_INSERT_TAIL(&client->running, request, internal.entry);
}

void web_request_cancel(struct web_request *request) {
    if (!request->internal.is_running)
        return;
    text_copy(request->error, sizeof request->error, "cancelled");
    request_end_later(request, request->internal.sent > 0 ? WEB_UNKNOWN : WEB_NOT_SENT);
}

/* ---- visitors and the client */

struct web_visitor *web_visitor_open(struct web_client *client) {
    struct web_visitor *visitor = calloc(1, sizeof *visitor);

    if (visitor == NULL)
        return NULL;
    visitor->client = client;
    visitor->easy = curl_easy_init();
    /* An empty name: cookies are kept, and no file has them. */
    if (visitor->easy == NULL ||
        curl_easy_setopt(visitor->easy, CURLOPT_COOKIEFILE, "") != CURLE_OK) {
        curl_easy_cleanup(visitor->easy);
        free(visitor);
        return NULL;
    }
    client->visitors++;
    return visitor;
}

void web_visitor_close(struct web_visitor *visitor) {
    struct web_client *client = visitor->client;

    assert(visitor->request == NULL && client->visitors > 0);
    client->visitors--;
    if (client->is_closing)
        (void)uv_idle_start(&client->ending, client_on_ending);
    curl_easy_cleanup(visitor->easy);
    free(visitor);
}

/* A line of libcurl's list has seven fields, with tabs between them: the last two are name and
 * value. */
int web_visitor_cookie(struct web_visitor *visitor, const char *name, struct buffer *to) {
    const size_t length = strlen(name);
    struct curl_slist *lines = NULL;
    const char *found = NULL;
    int code = 0;

    (void)curl_easy_getinfo(visitor->easy, CURLINFO_COOKIELIST, &lines);
    for (const struct curl_slist *line = lines; line != NULL; line = line->next) {
        const char *at = line->data;

        for (int fields = 0; fields < 5 && at != NULL; fields++)
            at = strchr(at, '\t') != NULL ? strchr(at, '\t') + 1 : NULL;
        if (at != NULL && strncmp(at, name, length) == 0 && at[length] == '\t')
            found = at + length + 1;
    }
    if (found != NULL)
        code = buffer_append_text(to, found) ? 1 : -1;
    curl_slist_free_all(lines);
    return code;
}

static void client_set_options(struct web_client *client,
                               const struct web_client_options *options) {
    client->any_address = options->any_address;
    client->reply_limit = options->reply_limit != 0 ? options->reply_limit : REPLY_LIMIT;
    if (options->user_agent != NULL)
        text_copy(client->user_agent, sizeof client->user_agent, options->user_agent);
    (void)curl_multi_setopt(client->multi, CURLMOPT_MAXCONNECTS, (long)IDLE_CONNECTIONS);
    (void)curl_multi_setopt(client->multi, CURLMOPT_SOCKETFUNCTION, on_socket);
    (void)curl_multi_setopt(client->multi, CURLMOPT_SOCKETDATA, client);
    (void)curl_multi_setopt(client->multi, CURLMOPT_TIMERFUNCTION, on_timer);
    (void)curl_multi_setopt(client->multi, CURLMOPT_TIMERDATA, client);
}

int web_client_open(struct web_client **to, uv_loop_t *loop,
                    const struct web_client_options *options) {
    struct web_client *client;

    loop_ignore_sigpipe();
    if (curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK)
        return UV_ENOMEM;
    client = calloc(1, sizeof *client);
    if (client == NULL)
        goto err_after_global;
    client->multi = curl_multi_init();
    if (client->multi == NULL)
        goto err_after_client;
    client->loop = loop;
    TAILQ_INIT(&client->running);
    TAILQ_INIT(&client->ended);
    (void)uv_timer_init(loop, &client->timer); /* neither can fail */
    (void)uv_idle_init(loop, &client->ending);
    client->timer.data = client->ending.data = client;
    client->open_handles = CLIENT_HANDLES;
    client_set_options(client, options);
    *to = client;
    return 0;

err_after_client:
    free(client);
err_after_global:
    curl_global_cleanup();
    return UV_ENOMEM;
}

void web_client_close(struct web_client *client, web_client_cb cb, void *data) {
    struct web_request *request;

    assert(!client->is_closing);
    client->is_closing = true;
    client->on_closed = cb;
    client->on_closed_data = data;
    while ((request = TAILQ_FIRST(&client->running)) != NULL)
        web_request_cancel(request);
    (void)curl_multi_cleanup(client->multi); /* closes all connections */
    client->multi = NULL;
    (void)uv_idle_start(&client->ending, client_on_ending);
}
