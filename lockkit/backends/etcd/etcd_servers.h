/* The members of an etcd cluster, and questions to them, through the JSON gateway. A question goes
 * to the member that answered last. If that member cannot be reached or has no leader, it goes to
 * the next one.
 *
 * Each request asks for a member with a leader (a gRPC header that the gateway passes on). So a
 * member that is cut off from the others says so at once, and does not keep the request. */
#ifndef LOCKKIT_ETCD_SERVERS_H
#define LOCKKIT_ETCD_SERVERS_H

#include "backend.h"
#include "http_client.h"
#include "server_name.h"

#include <jansson.h>

/* ---- The URL: etcd://[user:password@]host[:port][,host[:port]...][/prefix] */

#define ETCD_ENDPOINTS_MOST 9
#define ETCD_USER_SIZE      256
#define ETCD_PREFIX_SIZE    256

struct etcd_url {
    struct server_name endpoints[ETCD_ENDPOINTS_MOST];
    unsigned count;
    char prefix[ETCD_PREFIX_SIZE]; /* before each key, with its last slash */
    char user[ETCD_USER_SIZE], password[ETCD_USER_SIZE];
};

/* False: it is no such URL. User, password and prefix may be percent-encoded. */
bool etcd_url_parse(struct etcd_url *url, const char *text);

/* ---- Texts to and from etcd: base64, and integers of 64 bits, which its JSON has as strings. */

#define BASE64_SIZE(bytes) (((bytes) + 2) / 3 * 4 + 1)

/* Ends `text` with a NUL; `text` has BASE64_SIZE(length) bytes. */
void base64_encode(char *text, const char *bytes, size_t length);
/* Decode base64; "" when it is missing. False: it does not fit, or is no base64. */
bool json_bytes_of(const json_t *object, const char *key, char *bytes, size_t size);
/* 0 when it is missing, because etcd omits zeros, or when it is not a number from 0 up. */
int64_t json_integer_of(const json_t *object, const char *key);

/* ---- Questions */

enum etcd_code { ETCD_NOT_FOUND = 5, ETCD_FAILED_PRECONDITION = 9 }; /* codes of gRPC */

struct etcd_servers;

/* One request and its answer. The caller owns it, and zeroes it first. In the callback it may be
 * freed, or ask again. */
struct etcd_ask {
    bool is_repeatable;    /* asking twice does no harm, so another member may be asked, too */
    bool is_urgent;        /* it goes before other questions */
    unsigned *round_trips; /* counts each sending */
    void (*on_answer)(struct etcd_ask *ask);
    void *data;

    /* Filled in before the callback. */
    enum lk_status status; /* OK, UNKNOWN, UNAVAILABLE, REFUSED, NOMEM */
    /* some attempt may have taken effect, or may still do so, with any `status` */
    bool was_unknown;
    int code;                    /* of gRPC, with REFUSED */
    const char *why;             /* with REFUSED; lives like `reply` until the callback returns */
    const json_t *reply;         /* with OK */
    int64_t raft_term, revision; /* from the reply */

    struct {
        struct http_call call;
        struct etcd_servers *servers;
        const char *path;
        char *body, *headers;
        int64_t deadline_ms;
        unsigned endpoint, tries;
        bool is_out_of_memory, is_reauthenticated;
        TAILQ_ENTRY(etcd_ask) entry; /* in the list of requests that wait for a token */
    } internal;
};

enum lk_status etcd_servers_open(struct etcd_servers **servers, uv_loop_t *loop,
                                 const struct etcd_url *url);
/* Call it when no question is under way. It ends watches. `cb` runs later. */
void etcd_servers_close(struct etcd_servers *servers, void (*cb)(void *data), void *data);

/* Takes `body` over; NULL means that there was no memory for it. `path` is static. The callback
 * runs once, later. */
void etcd_ask_start(struct etcd_servers *servers, struct etcd_ask *ask, const char *path,
                    json_t *body, int64_t deadline_ms);

/* ---- Watches: hear once that a key, or one of a range, was deleted. That is a hint to ask again,
 * never an answer: a waiter polls as well. */

struct etcd_watch;

/* The watch has ended. `is_deleted`: a key was deleted at or after the revision. Else the watch
 * could not be made, or broke, and nothing is known. */
typedef void (*etcd_watch_cb)(void *data, bool is_deleted);

/* Watch from `revision` on; `range_end` NULL: only `key`. Both are in base64, and copied. `watch`
 * (or NULL) is the present one: it goes on if it has the same key, else it is stopped. NULL: out of
 * memory. `cb` runs once, later, unless it is stopped. */
struct etcd_watch *etcd_watch_start(struct etcd_servers *servers, struct etcd_watch *watch,
                                    const char *key, const char *range_end, int64_t revision,
                                    etcd_watch_cb cb, void *data);
/* `cb` will not run. Does nothing if `watch` is NULL. */
void etcd_watch_stop(struct etcd_watch *watch);

#endif
