/* Questions to an etcd cluster.
 *
 * Happy path: one POST, one reply. A request that was not sent, or was refused for lack of a
 * leader, goes to the next member, until each was asked or the time is over. If the answer is
 * missing, the request is UNKNOWN. Another member is asked only if that does no harm; half of the
 * time is kept for that while the first member has not proved itself. With a user, the first
 * request waits for a token. If a token is no longer known, its request waits for a new one. */
#include "etcd_servers.h"

#include "buffer.h"
#include "clock.h"
#include "json_read.h"
#include "log.h"

#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SCHEME         "etcd://"
#define DEFAULT_PORT   2379
#define DEFAULT_PREFIX "lk/"

#define STREAMS_MOST   256                /* at a time to one member; a later waiter polls */
#define REPLY_LIMIT    (16 * 1024 * 1024) /* the longest line of waiters that can be read */
#define QUEUE_MOST     65536
#define LINE_MOST      (1024 * 1024) /* in a stream */
#define ASK_LEADER     "Grpc-Metadata-hasleader: true\r\n"

enum {
    CODE_INVALID = 3,
    CODE_OUT_OF_RANGE = 11,
    CODE_UNIMPLEMENTED = 12,
    CODE_DATA_LOSS = 15,
    CODE_UNAUTHENTICATED = 16
};

/* ---- The URL */

/* Decode the part from `at` to `end`. False: a broken escape, a NUL, or it does not fit. */
static bool decode(char *to, size_t size, const char *at, const char *end) {
    for (; at < end; at++, to++, size--) {
        if (size < 2)
            return false;
        *to = *at;
        if (*at != '%')
            continue;
        if (end - at < 3 || !isxdigit((unsigned char)at[1]) || !isxdigit((unsigned char)at[2]))
            return false;
        *to = (char)strtol((char[]){at[1], at[2], '\0'}, NULL, 16);
        if (*to == '\0')
            return false;
        at += 2;
    }
    *to = '\0';
    return true;
}

static bool etcd_url_parse_user(struct etcd_url *url, const char *at, const char *end) {
    const char *colon = memchr(at, ':', (size_t)(end - at));

    return colon != NULL && colon > at && decode(url->user, sizeof url->user, at, colon) &&
           decode(url->password, sizeof url->password, colon + 1, end);
}

bool etcd_url_parse(struct etcd_url *url, const char *text) {
    const char *at = text + strlen(SCHEME), *end, *sign, *path;

    memset(url, 0, sizeof *url);
    if (strncmp(text, SCHEME, strlen(SCHEME)) != 0 || strchr(text, '?') != NULL ||
        strchr(text, '#') != NULL)
        return false;
    end = at + strcspn(at, "/");
    sign = memrchr(at, '@', (size_t)(end - at));
    if (sign != NULL && !etcd_url_parse_user(url, at, sign))
        return false;
    url->count = (unsigned)server_names_parse(url->endpoints, ETCD_ENDPOINTS_MOST,
                                              sign != NULL ? sign + 1 : at, end, DEFAULT_PORT);
    if (url->count == 0)
        return false;
    path = *end == '/' && end[1] != '\0' ? end + 1 : DEFAULT_PREFIX;
    if (!decode(url->prefix, sizeof url->prefix - 1, path, path + strlen(path)))
        return false;
    if (url->prefix[strlen(url->prefix) - 1] != '/')
        (void)strcat(url->prefix, "/");
    return true;
}

/* ---- Texts: base64 (RFC 4648) and integers in etcd's JSON */

static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

void base64_encode(char *text, const char *bytes, size_t length) {
    for (size_t at = 0; at < length; at += 3) {
        size_t left = length - at;
        unsigned bits = (unsigned)(unsigned char)bytes[at] << 16;

        if (left > 1)
            bits |= (unsigned)(unsigned char)bytes[at + 1] << 8;
        if (left > 2)
            bits |= (unsigned char)bytes[at + 2];
        *text++ = digits[bits >> 18];
        *text++ = digits[bits >> 12 & 63];
        *text++ = '=';
        *text++ = '=';
        if (left > 1)
            text[-2] = digits[bits >> 6 & 63];
        if (left > 2)
            text[-1] = digits[bits & 63];
    }
    *text = '\0';
}

static bool base64_decode(char *bytes, size_t size, size_t *length, const char *text) {
    size_t count = strspn(text, digits), made = count * 3 / 4;
    unsigned bits = 0;

    if (count % 4 == 1 || strlen(text) % 4 != 0 || strspn(text + count, "=") > 2 ||
        text[count + strspn(text + count, "=")] != '\0' || made >= size)
        return false;
    for (size_t i = 0; i < count; i++) {
        bits = bits << 6 | (unsigned)(strchr(digits, text[i]) - digits);
        if (i % 4 != 0)
            *bytes++ = (char)(bits >> (6 - 2 * (i % 4)) & 255);
    }
    *bytes = '\0';
    *length = made;
    return true;
}

bool json_bytes_of(const json_t *object, const char *key, char *bytes, size_t size) {
    const char *text = json_string_value(json_object_get(object, key));
    size_t length;

    return base64_decode(bytes, size, &length, text != NULL ? text : "") && strlen(bytes) == length;
}

int64_t json_integer_of(const json_t *object, const char *key) {
    const json_t *value = json_object_get(object, key);
    const char *text = json_string_value(value);
    int64_t number = json_integer_value(value);
    char *end;

    if (text != NULL) {
        errno = 0;
        number = strtoll(text, &end, 10);
        if (errno != 0 || *end != '\0')
            return 0;
    }
    return number > 0 ? number : 0;
}

/* ---- Questions */

struct endpoint {
    struct http_client *questions, *streams;
    const struct server_name *url;
    bool is_proven; /* it has answered the last request that ended */
};

struct etcd_servers {
    struct etcd_url url;
    struct endpoint endpoints[ETCD_ENDPOINTS_MOST];
    unsigned current;
    struct log_limit unreachable;
    char *token; /* NULL: not there yet, or no longer valid */
    struct etcd_ask authentication;
    bool is_authenticating;
    TAILQ_HEAD(, etcd_ask) waiting; /* they wait for the token */
    unsigned open_clients;
    void (*on_closed)(void *data);
    void *data;
};

static const char not_understood[] = "an answer that lockkit does not understand";

static void authenticate(struct etcd_servers *servers, int64_t deadline_ms);
static void send_ask(struct etcd_ask *ask);

static bool needs_token(const struct etcd_servers *servers) {
    return servers->url.user[0] != '\0';
}

static char *headers_of(const struct etcd_servers *servers) {
    char *headers = NULL;
    int length;

    if (servers->token != NULL)
        length = asprintf(&headers, ASK_LEADER "Authorization: %s\r\n", servers->token);
    else
        length = asprintf(&headers, ASK_LEADER);
    return length < 0 ? NULL : headers;
}

static void ask_finish(struct etcd_ask *ask, enum lk_status status) {
    if (ask->was_unknown && status != LK_OK)
        status = LK_UNKNOWN;
    free(ask->internal.body);
    free(ask->internal.headers);
    ask->internal.body = ask->internal.headers = NULL;
    ask->status = status;
    ask->on_answer(ask);
}

/* The member did not answer, or has no leader: ask the others first. */
static void ask_avoid(struct etcd_ask *ask, const char *why) {
    struct etcd_servers *servers = ask->internal.servers;
    const struct server_name *url = servers->endpoints[ask->internal.endpoint].url;
    char quoted[128];
    unsigned left_out;

    servers->endpoints[ask->internal.endpoint].is_proven = false;
    if (servers->current == ask->internal.endpoint)
        servers->current = (servers->current + 1) % servers->url.count;
    if (log_limit_pass(&servers->unreachable, clock_now_ms(), &left_out))
        log_warn("etcd does not answer", "endpoint=%s:%d left_out=%u why=%s", url->host, url->port,
                 left_out, log_quote(quoted, sizeof quoted, why));
}

static bool may_ask_another(const struct etcd_ask *ask) {
    return ask->internal.tries < ask->internal.servers->url.count &&
           clock_now_ms() < ask->internal.deadline_ms;
}

static void ask_not_effective(struct etcd_ask *ask, const char *why) {
    ask_avoid(ask, why);
    if (may_ask_another(ask))
        send_ask(ask);
    else
        ask_finish(ask, LK_UNAVAILABLE);
}

static void ask_unanswered(struct etcd_ask *ask, const char *why) {
    ask->was_unknown = true;
    ask_avoid(ask, why);
    if (ask->is_repeatable && may_ask_another(ask))
        send_ask(ask);
    else
        ask_finish(ask, LK_UNKNOWN);
}

static bool is_about_token(int code, const char *why) {
    return code == CODE_UNAUTHENTICATED ||
           (code == CODE_INVALID && (strstr(why, "auth store is old") != NULL ||
                                     strstr(why, "user name is empty") != NULL));
}

/* The token is useless: it has ended, or the rights have changed. */
static void reauthenticate(struct etcd_ask *ask) {
    struct etcd_servers *servers = ask->internal.servers;

    ask->internal.is_reauthenticated = true;
    ask->internal.tries = 0;
    free(servers->token);
    servers->token = NULL;
    send_ask(ask);
}

/* Whether the request had no effect. The other codes leave that open. */
static bool etcd_servers_is_refusal(int code) {
    return code == CODE_INVALID || (code >= ETCD_NOT_FOUND && code <= ETCD_FAILED_PRECONDITION) ||
           code == CODE_OUT_OF_RANGE || code == CODE_UNIMPLEMENTED || code >= CODE_DATA_LOSS;
}

static void ask_refused(struct etcd_ask *ask, const json_t *error) {
    const char *why = json_string_value(json_object_get(error, "message"));
    int code = (int)json_integer_of(error, "code");

    why = why != NULL ? why : not_understood;
    if (code == 0)
        code = (int)json_integer_of(error, "grpc_code");
    ask->code = code;
    ask->why = why;
    if (strstr(why, "no leader") != NULL || strstr(why, "not leader") != NULL)
        ask_not_effective(ask, why);
    else if (needs_token(ask->internal.servers) && !ask->internal.is_reauthenticated &&
             is_about_token(code, why))
        reauthenticate(ask);
    else if (etcd_servers_is_refusal(code))
        ask_finish(ask, LK_REFUSED);
    else
        ask_unanswered(ask, why);
}

/* An error reply has an HTTP status that says so. The gateway of etcd 3.4 adds a member `error`;
 * those of 3.5 and later do not. In a stream the error is an object of its own. Any other reply has
 * a header. */
static void etcd_servers_take_reply(struct etcd_ask *ask, const json_t *root, bool is_ok) {
    const json_t *result = json_object_get(root, "result"); /* in a stream */
    const json_t *error = json_object_get(root, "error"), *header;

    if (error != NULL || !is_ok) {
        ask_refused(ask, json_is_object(error) ? error : root);
        return;
    }
    ask->reply = result != NULL ? result : root;
    header = json_object_get(ask->reply, "header");
    ask->raft_term = json_integer_of(header, "raft_term");
    ask->revision = json_integer_of(header, "revision");
    if (ask->raft_term == 0 || ask->revision == 0) {
        ask_unanswered(ask, not_understood);
        return;
    }
    ask->internal.servers->endpoints[ask->internal.endpoint].is_proven = true;
    ask_finish(ask, LK_OK);
}

static void ask_answered(struct etcd_ask *ask, const struct http_call *call) {
    json_t *root = json_read_as_is(call->reply, call->reply_length, NULL);

    if (json_is_object(root))
        etcd_servers_take_reply(ask, root, call->status == 200);
    else
        ask_unanswered(ask, "the reply is not JSON");
    json_decref(root);
}

static void on_call_ended(struct http_call *call) {
    struct etcd_ask *ask = call->data;

    switch (call->outcome) {
    case HTTP_CALL_ANSWERED:
        ask_answered(ask, call);
        break;
    case HTTP_CALL_NOT_SENT:
        if (ask->internal.is_out_of_memory)
            ask_finish(ask, LK_NOMEM);
        else
            ask_not_effective(ask, call->error);
        break;
    case HTTP_CALL_UNKNOWN:
        ask_unanswered(ask, call->error);
        break;
    }
}

/* A member that has not proved itself leaves time for the others. */
static int64_t deadline_of(const struct etcd_ask *ask) {
    const struct etcd_servers *servers = ask->internal.servers;
    int64_t now_ms = clock_now_ms(), left_ms = ask->internal.deadline_ms - now_ms;
    bool is_last = ask->internal.tries + 1 >= servers->url.count;

    if (!ask->is_repeatable || is_last || servers->endpoints[servers->current].is_proven)
        return ask->internal.deadline_ms;
    return now_ms + left_ms / 2;
}

static void send_now(struct etcd_ask *ask) {
    struct etcd_servers *servers = ask->internal.servers;

    assert(servers->current < servers->url.count);
    free(ask->internal.headers);
    ask->internal.headers = headers_of(servers);
    ask->internal.is_out_of_memory = ask->internal.body == NULL || ask->internal.headers == NULL;
    ask->internal.endpoint = servers->current;
    ask->internal.call = (struct http_call){
        .method = "POST",
        .target = ask->internal.path,
        .headers = ask->internal.headers,
        .body = ask->internal.body,
        .body_length = ask->internal.body != NULL ? strlen(ask->internal.body) : 0,
        /* Out of memory: send nothing, and answer later. */
        .deadline_ms = ask->internal.is_out_of_memory ? 0 : deadline_of(ask),
        .is_urgent = ask->is_urgent,
        .data = ask,
    };
    ask->internal.tries++;
    if (ask->round_trips != NULL && !ask->internal.is_out_of_memory)
        (*ask->round_trips)++;
    http_call_start(servers->endpoints[servers->current].questions, &ask->internal.call,
                    on_call_ended);
}

static void send_ask(struct etcd_ask *ask) {
    struct etcd_servers *servers = ask->internal.servers;

    if (!needs_token(servers) || servers->token != NULL || ask == &servers->authentication) {
        send_now(ask);
        return;
    }
    TAILQ_INSERT_TAIL(&servers->waiting, ask, internal.entry);
    authenticate(servers, ask->internal.deadline_ms);
}

/* Requests that wait for a token: send them if it is there, else end them like the request for the
 * token. */
static void end_waiting(struct etcd_servers *servers, enum lk_status status, const char *why) {
    TAILQ_HEAD(, etcd_ask) waiting = TAILQ_HEAD_INITIALIZER(waiting);
    struct etcd_ask *ask;

    TAILQ_CONCAT(&waiting, &servers->waiting, internal.entry);
    while ((ask = TAILQ_FIRST(&waiting)) != NULL) {
        TAILQ_REMOVE(&waiting, ask, internal.entry);
        ask->why = why;
        if (status == LK_OK)
            send_ask(ask);
        else
            ask_finish(ask, status == LK_UNKNOWN ? LK_UNAVAILABLE : status);
    }
}

static void on_authenticated(struct etcd_ask *ask) {
    struct etcd_servers *servers = ask->data;
    const char *token = json_string_value(json_object_get(ask->reply, "token"));
    enum lk_status status = ask->status;

    servers->is_authenticating = false;
    if (status == LK_OK && token == NULL) {
        ask->why = "the answer to the login has no token";
        status = LK_REFUSED;
    } else if (status == LK_OK) {
        servers->token = strdup(token);
        status = servers->token != NULL ? LK_OK : LK_NOMEM;
    }
    end_waiting(servers, status, ask->why);
}

static void authenticate(struct etcd_servers *servers, int64_t deadline_ms) {
    if (servers->is_authenticating)
        return;
    servers->is_authenticating = true;
    servers->authentication = (struct etcd_ask){
        .is_repeatable = true, .is_urgent = true, .on_answer = on_authenticated, .data = servers};
    etcd_ask_start(
        servers, &servers->authentication, "/v3/auth/authenticate",
        json_pack("{s:s, s:s}", "name", servers->url.user, "password", servers->url.password),
        deadline_ms);
}

void etcd_ask_start(struct etcd_servers *servers, struct etcd_ask *ask, const char *path,
                    json_t *body, int64_t deadline_ms) {
    assert(ask->on_answer != NULL && ask->internal.body == NULL); /* one question at a time */
    memset(&ask->internal, 0, sizeof ask->internal);
    ask->was_unknown = false;
    ask->code = 0;
    ask->why = NULL;
    ask->reply = NULL;
    ask->internal.servers = servers;
    ask->internal.path = path;
    ask->internal.body = body != NULL ? json_dumps(body, JSON_COMPACT) : NULL;
    ask->internal.deadline_ms = deadline_ms;
    json_decref(body);
    send_ask(ask);
}

/* ---- Watches: the reply to POST /v3/watch has no end, and a line of JSON for each event. */

struct etcd_watch {
    struct http_client *client;
    struct http_call call;
    char *key, *body, *headers;
    struct buffer line; /* the part without an end so far */
    bool is_deleted;
    etcd_watch_cb cb; /* NULL: stopped */
    void *data;
};

/* Whether the stream goes on after this line. */
static bool watch_take_line(struct etcd_watch *watch) {
    json_t *root = json_read_as_is(watch->line.bytes, watch->line.length, NULL);
    const json_t *result = json_object_get(root, "result");

    watch->is_deleted = json_array_size(json_object_get(result, "events")) > 0;
    json_decref(root);
    watch->line.length = 0;
    return result != NULL && !watch->is_deleted;
}

static bool on_watch_part(struct http_call *call, const char *bytes, size_t length) {
    struct etcd_watch *watch = call->data;

    while (length > 0) {
        const char *end = memchr(bytes, '\n', length);
        size_t taken = end != NULL ? (size_t)(end - bytes) + 1 : length;

        if (watch->line.length + taken > LINE_MOST || !buffer_append(&watch->line, bytes, taken))
            return false;
        bytes += taken;
        length -= taken;
        if (end != NULL && !watch_take_line(watch))
            return false;
    }
    return true;
}

static void watch_free(struct etcd_watch *watch) {
    buffer_free(&watch->line);
    free(watch->key);
    free(watch->body);
    free(watch->headers);
    free(watch);
}

static void on_watch_ended(struct http_call *call) {
    struct etcd_watch *watch = call->data;
    etcd_watch_cb cb = watch->cb;
    void *data = watch->data;
    bool is_deleted = watch->is_deleted;

    watch_free(watch);
    if (cb != NULL)
        cb(data, is_deleted);
}

static char *watch_request(const char *key, const char *range_end, int64_t revision) {
    json_t *root =
        json_pack("{s:{s:s, s:I, s:[s], s:s*}}", "create_request", "key", key, "start_revision",
                  (json_int_t)revision, "filters", "NOPUT", "range_end", range_end);
    char *text = root != NULL ? json_dumps(root, JSON_COMPACT) : NULL;

    json_decref(root);
    return text;
}

void etcd_watch_stop(struct etcd_watch *watch) {
    if (watch == NULL)
        return;
    watch->cb = NULL;
    http_call_cancel(watch->client, &watch->call);
}

struct etcd_watch *etcd_watch_start(struct etcd_servers *servers, struct etcd_watch *watch,
                                    const char *key, const char *range_end, int64_t revision,
                                    etcd_watch_cb cb, void *data) {
    if (watch != NULL && strcmp(watch->key, key) == 0)
        return watch;
    etcd_watch_stop(watch);
    watch = calloc(1, sizeof *watch);
    if (watch == NULL)
        return NULL;
    watch->key = strdup(key);
    watch->body = watch_request(key, range_end, revision);
    watch->headers = headers_of(servers);
    if (watch->key == NULL || watch->body == NULL || watch->headers == NULL) {
        watch_free(watch);
        return NULL;
    }
    watch->client = servers->endpoints[servers->current].streams;
    watch->cb = cb;
    watch->data = data;
    watch->call = (struct http_call){.method = "POST",
                                     .target = "/v3/watch",
                                     .headers = watch->headers,
                                     .body = watch->body,
                                     .body_length = strlen(watch->body),
                                     .deadline_ms = INT64_MAX,
                                     .on_part = on_watch_part,
                                     .data = watch};
    http_call_start(watch->client, &watch->call, on_watch_ended);
    return watch;
}

/* ---- Opening and closing */

static void etcd_servers_on_client_closed(void *data) {
    struct etcd_servers *servers = data;
    void (*cb)(void *) = servers->on_closed;
    void *cb_data = servers->data;

    assert(servers->open_clients > 0);
    if (--servers->open_clients > 0)
        return;
    free(servers->token);
    explicit_bzero(&servers->url, sizeof servers->url);
    free(servers);
    if (cb != NULL)
        cb(cb_data);
}

void etcd_servers_close(struct etcd_servers *servers, void (*cb)(void *data), void *data) {
    unsigned count = servers->url.count;

    assert(!servers->is_authenticating && TAILQ_EMPTY(&servers->waiting));
    servers->on_closed = cb;
    servers->data = data;
    for (unsigned i = 0; i < count; i++) {
        struct endpoint endpoint = servers->endpoints[i];

        if (endpoint.questions != NULL)
            http_client_close(endpoint.questions, etcd_servers_on_client_closed, servers);
        if (endpoint.streams != NULL)
            http_client_close(endpoint.streams, etcd_servers_on_client_closed, servers);
    }
}

static int open_endpoint(struct etcd_servers *servers, uv_loop_t *loop, struct endpoint *endpoint) {
    struct http_client_options options = {.host = endpoint->url->host,
                                          .port = endpoint->url->port,
                                          .queue = QUEUE_MOST,
                                          .reply_limit = REPLY_LIMIT};
    int rc = http_client_open(&endpoint->questions, loop, &options);

    if (rc != 0)
        return rc;
    servers->open_clients++;
    options.connections = STREAMS_MOST;
    rc = http_client_open(&endpoint->streams, loop, &options);
    servers->open_clients += rc == 0;
    return rc;
}

enum lk_status etcd_servers_open(struct etcd_servers **servers, uv_loop_t *loop,
                                 const struct etcd_url *url) {
    struct etcd_servers *made = calloc(1, sizeof *made);
    int rc = made != NULL ? 0 : UV_ENOMEM;

    for (unsigned i = 0; rc == 0 && i < url->count; i++) {
        made->url = *url;
        made->endpoints[i].url = &made->url.endpoints[i];
        rc = open_endpoint(made, loop, &made->endpoints[i]);
    }
    if (rc == 0) {
        TAILQ_INIT(&made->waiting);
        *servers = made;
        return LK_OK;
    }
    if (made != NULL && made->open_clients > 0)
        etcd_servers_close(made, NULL, NULL);
    else
        free(made);
    return rc == UV_ENOMEM ? LK_NOMEM : LK_INVALID;
}
