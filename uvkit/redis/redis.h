/* Redis on libuv: one connection for commands and one for subscriptions, through hiredis.
 *
 * Commands are pipelined in the order they are issued. Each has a deadline. A connection that
 * breaks is opened again with a growing, jittered pause, and subscriptions are made again, also
 * when only that for commands broke, as both are to be of one server; a command is sent at most
 * once, but for a script that the server does not know. A server that answers nothing for
 * REDIS_SILENCE_MS while commands are unanswered is taken for dead, and connected to again; so is
 * one that says READONLY, MASTERDOWN or LOADING to a command, which ends as rejected, since its
 * name may lead to the new primary by then. Works with hiredis 0.14 (which has no timeouts of its
 * own) and later; TLS needs 1.0 with hiredis_ssl, when this is built.
 *
 * A channel that the server's ACL denies is told in the log, and asked for again after a minute.
 *
 * A limit of hiredis: it writes to sockets without MSG_NOSIGNAL, so opening a client makes the
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
    REDIS_IS_NOT_SENT, /* never sent: not connected, too many pending, or closing; without effect */
    REDIS_IS_UNKNOWN,  /* sent, not answered in time: it may have taken effect, or may still */
};

#define REDIS_ARGS_MAX   16
#define REDIS_SILENCE_MS 3000

struct redis;
struct redis_call;
struct redis_subscription;
struct fiber_event;

/* `reply` is valid only inside the callback, and NULL unless the status is OK. */
typedef void (*redis_call_cb)(struct redis_call *call, const redisReply *reply);

/* A Lua script behind the digest by which Redis knows it. The build makes one of each file
 * lua/<name>.lua in a room: it is named <room>_<name>. */
struct redis_script {
    char sha1[41];
    char text[];
};

/* One command; the caller owns it and zeroes it; it may go in or after its callback. Arguments are
 * copied when it starts. */
struct redis_call {
    int argc;
    const char *argv[REDIS_ARGS_MAX];
    const char **args; /* instead of argv, and any number of them; or NULL */
    /* The command runs this script, or NULL. The client fills in the first two arguments: EVALSHA
     * and the digest. A server that does not know the digest has done nothing. Then the client
     * sends the command once more, with EVAL and the text, behind all that it has sent since. */
    const struct redis_script *script;
    bool is_whole;       /* the text is sent, not the digest; may be set before the start */
    unsigned *sends;     /* counted up when it is sent; or NULL */
    int64_t deadline_ms; /* a moment, clock_now_ms() */
    void *data;          /* the caller's */

    /* Filled in before the callback. */
    enum redis_status status;
    char message[128]; /* when not OK */

    struct {
        redis_call_cb cb;
        TAILQ_ENTRY(redis_call) entry; /* among the running, or the ended */
        size_t place;                  /* in the queue */
        struct fiber_event *ended;     /* what redis_call_await() waits for */
    } internal;
};

/* Told of each message, with `message` NULL when the subscription has just become (again)
 * effective: what was published before that moment may have been missed. */
typedef void (*redis_message_cb)(struct redis_subscription *subscription, const char *message);

/* One subscription; the caller owns it, and it must live until redis_unsubscribe(). */
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
     * unix://[[user][:password]@]/path/to/socket[?db=n], as redis-py reads them (redis+unix:// is
     * the same for programs that have URLs of other services, too). User, password and path may be
     * percent-encoded. Parameters behind `?` other than db are the caller's. Copied; never logged.
     */
    const char *url;
    const char *name;            /* CLIENT SETNAME, and the name in logs [redis] */
    unsigned pending;            /* commands that may be unanswered at a time [16,384] */
    uint64_t connect_timeout_ms; /* [1,000] */
    /* Runs on the loop whenever commands can be sent (again); or NULL. */
    void (*on_up)(void *data);
    void *data;
};

/* Open: it connects by itself, in the background. 0 or a negative libuv code (UV_EINVAL for a bad
 * URL, UV_ENOTSUP for rediss:// in a build without TLS, which is in the log, too), and then there
 * is nothing to undo. */
__attribute__((warn_unused_result)) int redis_open(struct redis **redis, uv_loop_t *loop,
                                                   const struct redis_options *options);
/* Pending commands end (NOT_SENT or UNKNOWN), subscriptions end without a word; then `cb` runs
 * exactly once, later, on the loop, with everything freed. */
typedef void (*redis_close_cb)(void *data);
void redis_close(struct redis *redis, redis_close_cb cb, void *data);

/* Start a command. `cb` runs exactly once, later, on the loop, also when it cannot be sent. While
 * the first connection is being made, or one is being made again, commands wait for it until their
 * deadline. */
void redis_call_start(struct redis *redis, struct redis_call *call, redis_call_cb cb);

/* The same in a fiber, for a command whose reply says no more than its status. */
enum redis_status redis_call_await(struct redis *redis, struct redis_call *call);

/* Element `index` of an array, when it is an integer; else -1. When it is a string; else NULL. */
int64_t redis_reply_integer(const redisReply *reply, size_t index);
const char *redis_reply_text(const redisReply *reply, size_t index);

/* Subscribe to `subscription->channel`. The connection for subscriptions is opened at the first
 * use. Two subscriptions may name the same channel. 0, UV_ENOMEM, or UV_ECANCELED after
 * redis_close(). */
__attribute__((warn_unused_result)) int redis_subscribe(struct redis *redis,
                                                        struct redis_subscription *subscription);
/* No callback after this returns. May be called in a callback. */
void redis_unsubscribe(struct redis *redis, struct redis_subscription *subscription);

#endif
