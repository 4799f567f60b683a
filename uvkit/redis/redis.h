/* Redis on libuv: one connection for commands and one for subscriptions, through hiredis.
 *
 * Commands are pipelined in the order of their starts. Each has a deadline. A command is sent at
 * most once, except for a script that the server does not know.
 *
 * A broken connection is opened again after a growing, jittered pause, and subscriptions are made
 * again. They are made again even if only the command connection broke, because both must be to one
 * server. A server counts as dead when it answers nothing for REDIS_SILENCE_MS while commands wait;
 * then the client connects again. It does so, too, when a server answers READONLY, MASTERDOWN or
 * LOADING: the name may lead to the new primary by then. That command ends as rejected.
 *
 * Works with hiredis 0.14 (which has no timeouts of its own) and later. TLS needs hiredis 1.0 with
 * hiredis_ssl when this is built.
 *
 * A channel that the server's ACL denies is logged, and asked for again after a minute.
 *
 * A limit of hiredis: it writes to sockets without MSG_NOSIGNAL. So opening a client makes the
 * process ignore SIGPIPE, unless it handles that signal. */
#ifndef UVKIT_REDIS_H
#define UVKIT_REDIS_H

#include <hiredis/hiredis.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>
#include <uv.h>

enum redis_status {
    REDIS_IS_OK,       /* answered; see `reply` */
    REDIS_IS_REJECTED, /* the server answered with an error; see `message` */
    REDIS_IS_NOT_SENT, /* never sent: not connected, too many pending, or closing; no effect */
    REDIS_IS_UNKNOWN,  /* sent, but not answered in time: it may have taken effect, or may still */
};

#define REDIS_ARGS_MAX   16
#define REDIS_SILENCE_MS 3000

struct redis;
struct redis_call;
struct redis_subscription;
struct fiber_event;

/* `reply` is valid only inside the callback, and NULL unless the status is OK. */
typedef void (*redis_call_cb)(struct redis_call *call, const redisReply *reply);

/* A Lua script with the digest by which Redis knows it. The build makes one of each file
 * lua/<name>.lua in a room, and names it <room>_<name>. */
struct redis_script {
    char sha1[41];
    char text[];
};

/* One command. The caller owns it and zeroes it. Its memory may go in or after its callback.
 * Arguments are copied when it starts. */
struct redis_call {
    int argc;
    const char *argv[REDIS_ARGS_MAX];
    const char **args; /* instead of argv, for any number of arguments; or NULL */
    /* The command runs this script, or NULL. The client fills in the first two arguments: EVALSHA
     * and the digest. A server that does not know the digest has done nothing. Then the client
     * sends the command once more, with EVAL and the text, behind all that it has sent since. */
    const struct redis_script *script;
    bool is_whole;       /* the text is sent, not the digest; may be set before the start */
    unsigned *sends;     /* raised at each sending; or NULL */
    int64_t deadline_ms; /* a moment, clock_now_ms() */
    void *data;          /* the caller's */

    /* Filled in before the callback. */
    enum redis_status status;
    char message[128]; /* when not OK */

    struct {
        redis_call_cb cb;
        TAILQ_ENTRY(redis_call) entry; /* in a list of running calls, or in that of ended calls */
        unsigned term;                 /* the list of running calls */
        size_t place;                  /* in the queue */
        struct fiber_event *ended;     /* redis_call_await() waits for it */
    } internal;
};

/* Gets each message. `message` is NULL when the subscription has just taken effect (again):
 * messages before that moment may be missing. */
typedef void (*redis_message_cb)(struct redis_subscription *subscription, const char *message);

/* One subscription. The caller owns it, and it must live until redis_unsubscribe(). */
struct redis_subscription {
    const char *channel; /* must live as long as the subscription */
    redis_message_cb on_message;
    void *data;
    struct {
        TAILQ_ENTRY(redis_subscription) entry; /* in its channel */
        struct redis_channel *channel;         /* or NULL */
        uint64_t round;
        bool is_effective;
    } internal;
};

/* Zero means the default in brackets. */
struct redis_options {
    /* redis://[user][:password]@host[:port][/db], rediss:// the same with TLS, or
     * unix://[[user][:password]@]/path/to/socket[?db=n], in redis-py's form (redis+unix:// is the
     * same, for programs with URLs of several services). User, password and path may be
     * percent-encoded. Other parameters than db behind `?` are the caller's. Copied; never logged.
     */
    const char *url;
    const char *name;            /* CLIENT SETNAME, and the name in logs [redis] */
    unsigned pending;            /* most commands without an answer [16,384] */
    uint64_t connect_timeout_ms; /* [1,000] */
    /* Runs on the loop each time that commands can be sent (again); or NULL. */
    void (*on_up)(void *data);
    void *data;
};

/* Open: it connects by itself, in the background. 0; or a negative libuv code, and then there is
 * nothing to undo: UV_EINVAL for a bad URL; UV_ENOTSUP, with a line in the log, for rediss:// in a
 * build without TLS. */
__attribute__((warn_unused_result)) int redis_open(struct redis **redis, uv_loop_t *loop,
                                                   const struct redis_options *options);
/* Close. Pending commands end (NOT_SENT or UNKNOWN), subscriptions end without a callback. Then
 * `cb` runs exactly once, later, on the loop, with everything freed. */
typedef void (*redis_close_cb)(void *data);
void redis_close(struct redis *redis, redis_close_cb cb, void *data);

/* Start a command. `cb` runs exactly once, later, on the loop, even if the command cannot be sent.
 * While the connection is being made, for the first time or again, commands wait for it until their
 * deadline. */
void redis_call_start(struct redis *redis, struct redis_call *call, redis_call_cb cb);

/* The same in a fiber, for a command of which only the status matters. */
enum redis_status redis_call_await(struct redis *redis, struct redis_call *call);

/* Element `index` of an array: its integer, or -1 if it is none. Its string, or NULL if it is none.
 */
int64_t redis_reply_integer(const redisReply *reply, size_t index);
const char *redis_reply_text(const redisReply *reply, size_t index);

/* Subscribe to `subscription->channel`. The first subscription opens their connection. Two may name
 * the same channel. 0, UV_ENOMEM, or UV_ECANCELED after redis_close(). */
__attribute__((warn_unused_result)) int redis_subscribe(struct redis *redis,
                                                        struct redis_subscription *subscription);
/* After this returns no callback runs. May be called in a callback. */
void redis_unsubscribe(struct redis *redis, struct redis_subscription *subscription);

#endif
