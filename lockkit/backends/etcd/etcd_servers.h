/* The members of an etcd cluster, and questions to them: through the JSON gateway, to the member
 * that answered last, and to the next one when that one cannot be reached or has no leader.
 *
 * Each request asks for a member that has a leader (a gRPC header that the gateway hands on), so
 * that one which was cut off from the others says so at once instead of keeping the request. */
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
    char prefix[ETCD_PREFIX_SIZE]; /* of all keys, with its last slash */
    char user[ETCD_USER_SIZE], password[ETCD_USER_SIZE];
};

/* False when it is none. User, password and prefix may be percent-encoded. */
bool etcd_url_parse(struct etcd_url *url, const char *text);

/* ---- The texts that go to etcd and come from it: base64, and integers of 64 bits, which are
 * strings in its JSON. */

#define BASE64_SIZE(bytes) (((bytes) + 2) / 3 * 4 + 1)

/* With a NUL; `text` has BASE64_SIZE(length). */
void base64_encode(char *text, const char *bytes, size_t length);
/* Of base64, decoded; "" when it is missing. False when it does not fit, or is none. */
bool json_bytes_of(const json_t *object, const char *key, char *bytes, size_t size);
/* 0 when it is missing, as etcd leaves out what is 0, or is no number from 0 up. */
int64_t json_integer_of(const json_t *object, const char *key);

/* ---- Questions */

enum etcd_code { ETCD_NOT_FOUND = 5, ETCD_FAILED_PRECONDITION = 9 }; /* of gRPC */

struct etcd_servers;

/* One request and its answer. The caller owns it, and zeroes it first; it may go, or ask again, in
 * the callback. */
struct etcd_ask {
    bool is_repeatable;    /* to ask twice is as good as once: another member may be asked, too */
    unsigned *round_trips; /* counted up each time it is sent */
    void (*on_answer)(struct etcd_ask *ask);
    void *data;

    /* Filled in before the callback. */
    enum lk_status status; /* OK, UNKNOWN, UNAVAILABLE, REFUSED, NOMEM */
    bool was_unknown;      /* some attempt may have taken effect, or may still, whatever `status` */
    int code;              /* of gRPC, when REFUSED */
    const char *why;       /* when REFUSED; like `reply`, until the callback returns */
    const json_t *reply;   /* when OK */
    int64_t raft_term, revision; /* of the reply */

    struct {
        struct http_call call;
        struct etcd_servers *servers;
        const char *path;
        char *body, *headers;
        int64_t deadline_ms;
        unsigned endpoint, tries;
        bool is_out_of_memory, is_reauthenticated;
        TAILQ_ENTRY(etcd_ask) entry; /* while it waits for a token */
    } internal;
};

enum lk_status etcd_servers_open(struct etcd_servers **servers, uv_loop_t *loop,
                                 const struct etcd_url *url);
/* With nothing being asked; watches end. `cb` runs later. */
void etcd_servers_close(struct etcd_servers *servers, void (*cb)(void *data), void *data);

/* `body` is taken, also when it is NULL: then there was no memory for it. `path` is static. The
 * callback runs once, later. */
void etcd_ask_start(struct etcd_servers *servers, struct etcd_ask *ask, const char *path,
                    json_t *body, int64_t deadline_ms);

/* ---- To be told once that a key was deleted, one or any of a range. It is a hint to ask again,
 * never an answer: a waiter polls as well. */

struct etcd_watch;

/* The watch is over and gone: a key was deleted at or after the revision, or it could not be made,
 * or broke, and nothing is known. */
typedef void (*etcd_watch_cb)(void *data, bool is_deleted);

/* From `revision` on; `range_end` NULL: `key` alone. Both are in base64, and copied. `watch`, or
 * NULL, is the one so far: it goes on if it is of the same key, else it is stopped. NULL without
 * memory. `cb` runs once, later, unless it is stopped. */
struct etcd_watch *etcd_watch_start(struct etcd_servers *servers, struct etcd_watch *watch,
                                    const char *key, const char *range_end, int64_t revision,
                                    etcd_watch_cb cb, void *data);
/* `cb` does not run any more. Does nothing without a watch. */
void etcd_watch_stop(struct etcd_watch *watch);

#endif
