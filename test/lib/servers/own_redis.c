/* Starts redis-server on a free port, and ends it. */
#include "own_redis.h"

#include "own_port.h"
#include "own_process.h"
#include "process_end.h"
#include "test.h"

#include <sys/wait.h>
#include <unistd.h>

#define PATIENCE_MS 10000

void own_redis_connect(struct own_redis *own) {
    for (int waited_ms = 0;; waited_ms += 10) {
        own->admin = redisConnect("127.0.0.1", own->port);
        if (own->admin != NULL && own->admin->err == 0)
            return;
        redisFree(own->admin);
        if (waited_ms >= PATIENCE_MS)
            fail_msg("redis-server did not start on port %d", own->port);
        (void)usleep(10000);
    }
}

void own_redis_start_again(struct own_redis *own) {
    char port[12];

    (void)snprintf(port, sizeof port, "%d", own->port);
    own->pid =
        own_process_start(NULL, NULL, SIGKILL, "redis-server", "--port", port, "--bind",
                          "127.0.0.1", "--unixsocket", own->socket, "--save", "", (char *)NULL);
    own_redis_connect(own);
}

void own_redis_start(struct own_redis *own) {
    own->port = own_port();
    (void)snprintf(own->url, sizeof own->url, "redis://127.0.0.1:%d", own->port);
    (void)snprintf(own->socket, sizeof own->socket, "/tmp/own-redis-%ld-%d", (long)getpid(),
                   own->port);
    own_redis_start_again(own);
}

void own_redis_kill(struct own_redis *own) {
    redisFree(own->admin);
    own->admin = NULL;
    process_end(&own->pid, SIGKILL);
    (void)unlink(own->socket);
}

void own_redis_stop(struct own_redis *own) {
    if (own->pid)
        own_redis_kill(own);
}

void own_redis_pause(struct own_redis *own) {
    int status;

    assert_int_equal(kill(own->pid, SIGSTOP), 0);
    assert_int_equal(waitpid(own->pid, &status, WUNTRACED), own->pid);
    assert_true(WIFSTOPPED(status));
}

void own_redis_go_on(struct own_redis *own) {
    assert_int_equal(kill(own->pid, SIGCONT), 0);
}

long long own_redis_do(struct own_redis *own, const char *format, ...) {
    va_list arguments;
    redisReply *reply;
    long long integer;

    va_start(arguments, format);
    reply = redisvCommand(own->admin, format, arguments);
    va_end(arguments);
    assert_non_null(reply);
    if (reply->type == REDIS_REPLY_ERROR)
        fail_msg("%s: %s", format, reply->str);
    integer = reply->integer;
    freeReplyObject(reply);
    return integer;
}
