/* A client of Redis on a loop, and an administrator beside it. */
#include "redis_fixture.h"

#include "log.h"

uv_loop_t loop;
struct redis *redis;
struct redis_address server;
bool is_closed;
char client_name[32];
struct fault_proxy *proxy;
struct own_redis own;

static redisContext *admin; /* blocking */

redisReply *order(const char *format, ...) {
    va_list arguments;
    redisReply *reply;

    va_start(arguments, format);
    reply = redisvCommand(admin, format, arguments);
    va_end(arguments);
    assert_non_null(reply);
    return reply;
}

void kill_clients(const char *type) {
    redisReply *list = order("CLIENT LIST TYPE %s", type);
    char *save = NULL;

    for (char *line = strtok_r(list->str, "\n", &save); line != NULL;
         line = strtok_r(NULL, "\n", &save))
        if (strstr(line, client_name) != NULL && strncmp(line, "id=", 3) == 0)
            ORDER("CLIENT KILL ID %ld", strtol(line + 3, NULL, 10));
    freeReplyObject(list);
}

int redis_set_up(void **state) {
    if (redis_address_parse(&server, redis_url()) != 0)
        return -1;
    admin = redis_admin_connect();
    (void)snprintf(client_name, sizeof client_name, "test-%ld", (long)getpid());
    redis = NULL;
    is_closed = false;
    return uv_loop_init(&loop);
}

void on_closed(void *data) {
    assert_false(is_closed);
    is_closed = true;
}

void close_redis(void) {
    if (redis != NULL)
        redis_close(redis, on_closed, NULL);
    WAIT_FOR(&loop, !redis || is_closed);
    redis = NULL;
    is_closed = false;
}

int redis_tear_down(void **state) {
    if (redis != NULL)
        close_redis();
    if (proxy != NULL)
        fault_proxy_close(proxy);
    proxy = NULL;
    redisFree(admin);
    redis_address_free(&server);
    assert_int_equal(uv_run(&loop, UV_RUN_DEFAULT), 0);
    assert_int_equal(uv_loop_close(&loop), 0);
    return 0;
}

void open_redis_at(const char *url) {
    struct redis_options options = {.url = url, .name = client_name};

    assert_int_equal(redis_open(&redis, &loop, &options), 0);
}

bool redis_opens(void) {
    struct redis_options options = {.url = redis_url(), .name = client_name};
    int status = redis_open(&redis, &loop, &options);

    if (status == 0)
        return true;
    assert_int_equal(status, UV_ENOMEM);
    redis = NULL;
    return false;
}

void open_redis(void) {
    open_redis_at(redis_url());
    WAIT_FOR(&loop, redis->connection.is_up);
}

int redis_set_up_open(void **state) {
    int status = redis_set_up(state);

    if (status == 0)
        open_redis();
    return status;
}

int redis_set_up_far(void **state) {
    int status = redis_set_up(state);

    if (status != 0)
        return status;
    proxy = fault_proxy_open_url(&loop, redis_url());
    fault_proxy_listen(proxy);
    open_redis_at(proxy->url);
    return 0;
}

int redis_set_up_own(void **state) {
    own_redis_start(&own);
    log_init("test", LOG_INFO);
    said_start();
    return redis_set_up(state);
}

int redis_tear_down_own(void **state) {
    int status = redis_tear_down(state);

    said_stop();
    own_redis_stop(&own);
    return status;
}
