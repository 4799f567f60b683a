/* The parts that the files of the Redis client share: address, connection, subscriptions. */
#ifndef UVKIT_REDIS_INTERNAL_H
#define UVKIT_REDIS_INTERNAL_H

#include "addresses.h"
#include "log.h"
#include "redis.h"

#include <hiredis/async.h>

#if defined(UVKIT_REDIS_TLS) && HIREDIS_MAJOR >= 1
#define REDIS_HAS_TLS
#endif

/* ---- redis_url.c */

/* A string is NULL if the URL does not give it. */
struct redis_address {
    char *host; /* or path */
    char *path; /* of a socket */
    char *user;
    char *password;
    int port;
    int db;
    bool is_tls;
    struct sockaddr_storage first; /* the host's address for the next attempt */
};

/* 0, UV_EINVAL or UV_ENOMEM, and then there is nothing to free. */
int redis_address_parse(struct redis_address *address, const char *url);
void redis_address_free(struct redis_address *address);

/* Time before it asks again for anything that the server refused this user: people change rights.
 */
#define REDIS_REFUSED_MS 60000

/* ---- redis_connection.c: a connection that opens itself again */

struct redis_connection {
    /* Set before redis_connection_open(). */
    uv_loop_t *loop;
    struct redis_address *address;
    void *tls; /* OpenSSL's context, or NULL */
    const char *name;
    const char *use; /* for the log */
    uint64_t timeout_ms;
    /* The server has greeted; it is lost (no more answers come); all handles are closed. The second
     * may run inside redis_connection_drop() and _close(), so it must not call the user. */
    void (*on_up)(void *data);
    void (*on_down)(void *data);
    void (*on_closed)(void *data);
    /* It is lost because the server denied the first request: returns true if something else is
     * wanted. Or NULL. */
    bool (*on_refused)(void *data);
    void *data;

    struct redis_watcher *watcher; /* of the current socket, or NULL */
    void *session;                 /* of TLS on that socket, or NULL */
    uv_timer_t timer;              /* limit of an attempt, or pause before the next */
    uv_idle_t writer; /* sends the commands of a turn of the loop, before the loop waits */
    uv_getaddrinfo_t resolving;
    struct addresses addresses; /* of the attempt, when the host is a name */
    bool is_resolving;
    bool is_connected; /* the socket of the attempt */
    bool is_silent;    /* the address of the attempt */
    char said[128];    /* an error of the server before its greeting, or "" */
    unsigned handles;  /* plus 1 while the resolver works */
    unsigned attempts; /* since it was last up for a while */
    int64_t up_since_ms;
    bool is_up, is_closing, is_writing, is_told_down;
    unsigned refusals;        /* since refused_since_ms */
    int64_t refused_since_ms; /* or earlier than REDIS_REFUSED_MS ago */
    bool is_told_refused;     /* logged; false again once it is granted */
    char why[128];            /* why it is down, or "" */
    char told[128];           /* the reason in the last log line */
    struct log_limit telling;
};

void redis_connection_open(struct redis_connection *connection);
void redis_connection_close(struct redis_connection *connection);
/* Read all waiting input of the socket, from the loop. */
void redis_connection_read(struct redis_connection *connection);
/* Give this socket up, and connect again later. */
void redis_connection_drop(struct redis_connection *connection, const char *why);
/* Give up this socket, and connect again later. */
void redis_connection_drop_soon(struct redis_connection *connection);
/* Copy a server's error without the quoted part of the command, which may be a secret. */
void redis_copy_error(char *to, size_t size, const char *text);
/* The context for sending, while it is up. */
redisAsyncContext *redis_connection_context(const struct redis_connection *connection);

/* ---- redis_subscription.c */

#define REDIS_CHANNEL_LISTS 256

LIST_HEAD(redis_channels, redis_channel);

struct redis_subscriptions {
    struct redis_connection connection;
    struct redis_channels channels[REDIS_CHANNEL_LISTS]; /* by hash of the name */
    struct redis_channels joined;      /* with subscribers to tell that they are effective */
    struct redis_subscription *cursor; /* the next subscriber to tell, during a round */
    uint64_t round;                    /* of telling */
    uint64_t asked, refused;           /* counts: SUBSCRIBEs sent, and denied */
};

/* True when the connection is open: then its on_closed() will run. */
bool redis_subscriptions_close(struct redis *redis);
/* Tell the subscribers of the channels in `joined`. */
void redis_subscriptions_tell(struct redis_subscriptions *subscriptions);

/* ---- redis.c */

TAILQ_HEAD(redis_calls, redis_call);

/* The place of a command in the queue. */
struct redis_place {
    struct redis_call *call; /* NULL when its deadline has passed */
    char *text;              /* while it waits; a command with a digest keeps it until its answer */
    size_t length;
    bool is_sent;
};

#define REDIS_TERMS 8

struct redis {
    struct redis_address address;
    void *tls; /* OpenSSL's context, or NULL */
    char *name;
    struct redis_connection connection;
    struct redis_subscriptions subscriptions;
    struct redis_calls running[REDIS_TERMS], ended; /* running: by the time that a call has */
    struct redis_place *places;
    size_t capacity, head, sent, tail; /* they only grow; modulo capacity in `places` */
    uv_timer_t timer; /* next deadline, end of silence, ended calls, or joined channels */
    int64_t timer_due_ms;
    int64_t silent_since_ms; /* last reply, or the first command without one */
    unsigned parts;          /* connections that are not closed yet */
    bool is_closing;
    const char *turning; /* why it leaves this server, to which nothing more is sent; or NULL */
    void (*on_up)(void *data); /* the user's, or NULL */
    void *on_up_data;
    redis_close_cb on_closed;
    void *on_closed_data;
};

/* Set the timer for the earliest due moment. */
void redis_arm(struct redis *redis);

#endif
