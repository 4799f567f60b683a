/* A session with a ZooKeeper ensemble on the caller's loop, through libzookeeper-st: it connects by
 * itself, again when the connection breaks, and begins anew when the session has expired. */
#ifndef LOCKKIT_ZK_SESSION_H
#define LOCKKIT_ZK_SESSION_H

#include "zk_url.h"

#include <uv.h>
#include <zookeeper/zookeeper.h>

struct zk_session;

/* All run on the loop, and none inside a call of zk_session_...(). */
struct zk_session_events {
    void (*on_up)(void *data);      /* requests can be sent (again) */
    void (*on_doubt)(void *data);   /* the connection broke; the session may go on */
    void (*on_expired)(void *data); /* with all that was of it */
    void (*on_turn)(void *data);    /* asked for by zk_session_turn() */
    void *data;
};

/* `url` is the caller's and stays. NULL without memory. */
struct zk_session *zk_session_open(uv_loop_t *loop, const struct zk_url *url,
                                   const struct zk_session_events *events);

/* Whether requests can be sent. */
bool zk_session_is_up(const struct zk_session *session);
/* What to send them with, only inside these events and completions. A request is completed once, on
 * the loop; or with ZCLOSING, while the session closes, perhaps by another thread, for which the
 * loop's own waits. */
zhandle_t *zk_session_handle(const struct zk_session *session);
int64_t zk_session_id(const struct zk_session *session);
/* What the server grants: milliseconds after which it ends the session that it does not hear of. */
uint32_t zk_session_timeout_ms(const struct zk_session *session);

/* Run on_turn before the loop waits again. */
void zk_session_turn(struct zk_session *session);

/* Its server is silent: go to another one, where there are several, and do not wait for two thirds
 * of the session as the library would. */
void zk_session_leave_server(struct zk_session *session);

/* End the session at the server, for a second at most; then `cb` runs, later, with it freed. */
void zk_session_close(struct zk_session *session, void (*cb)(void *data), void *data);

#endif
