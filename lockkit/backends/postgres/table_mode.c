/* mode=table: a lock is a row, and ends at a moment on the server's clock.
 *
 * Each command is one statement, which commits by itself. So it also works through a transaction
 * pooler. Waiters hear of a release by NOTIFY. A pooler cannot pass that on, so behind one they
 * poll. */
#include "backoff.h"
#include "clock.h"
#include "postgres_mode.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define CHANNEL        "lockkit_free"

#define PAUSE_FIRST_MS 100
#define PAUSE_MOST_MS  5000

/* $1 name, $2 owner, $3 ttl, $4 label, $5 a token that was seen, $6 number of reserved tokens. The
 * first condition keeps a refused attempt from writing: the conflict alone would write to the row.
 * The token is at least the server's clock in microseconds. So it rises even if the last rows were
 * lost (a failover to a replica that lagged). */
static const char acquire_sql[] =
    "WITH got AS ("
    " INSERT INTO lockkit_lock AS l (name, owner, label, fence, until)"
    " SELECT $1, $2, $4,"
    "  greatest((extract(epoch FROM clock_timestamp()) * 1000000)::bigint, $5::bigint + 1)"
    "   + $6::bigint,"
    "  clock_timestamp() + $3::int * interval '1 ms'"
    " WHERE NOT EXISTS (SELECT FROM lockkit_lock WHERE name = $1 AND owner <> $2"
    "  AND until > clock_timestamp())"
    " ON CONFLICT (name) DO UPDATE SET owner = excluded.owner, label = excluded.label,"
    "  until = clock_timestamp() + $3::int * interval '1 ms',"
    "  fence = CASE WHEN l.owner = excluded.owner THEN l.fence"
    "   ELSE greatest(l.fence + 1 + $6::bigint, excluded.fence) END"
    " WHERE l.owner IS NULL OR l.until <= clock_timestamp() OR l.owner = excluded.owner"
    " RETURNING fence - $6::bigint AS fence)"
    "SELECT fence, -1 FROM got UNION ALL"
    " SELECT NULL, ceil(extract(epoch FROM until - clock_timestamp()) * 1000)::bigint"
    " FROM lockkit_lock WHERE name = $1 AND owner IS NOT NULL AND NOT EXISTS (SELECT FROM got)";

static const char renew_sql[] =
    "UPDATE lockkit_lock SET until = clock_timestamp() + $3::int * interval '1 ms'"
    " WHERE name = $1 AND owner = $2 AND until > clock_timestamp() RETURNING name";

static const char release_sql[] =
    "WITH old AS (SELECT name, until > clock_timestamp() AS is_ours FROM lockkit_lock"
    "  WHERE name = $1 AND owner = $2 FOR UPDATE),"
    " new AS (UPDATE lockkit_lock l SET owner = NULL, until = '-infinity' FROM old"
    "  WHERE l.name = old.name RETURNING old.is_ours)"
    "SELECT pg_notify('" CHANNEL "', $1) FROM new WHERE is_ours";

static const char break_sql[] =
    "WITH new AS (UPDATE lockkit_lock SET owner = NULL, until = '-infinity'"
    "  WHERE name = $1 AND owner = coalesce($2, owner) AND until > clock_timestamp()"
    "  RETURNING name)"
    "SELECT pg_notify('" CHANNEL "', $1) FROM new";

static const char inspect_sql[] =
    "SELECT false, owner, label, fence,"
    " ceil(extract(epoch FROM until - clock_timestamp()) * 1000)::bigint, false"
    " FROM lockkit_lock WHERE name = $1 AND owner IS NOT NULL AND until > clock_timestamp()";

/* ---- Waiting */

static void table_mode_push_all(struct pg_backend *backend) {
    const struct lk_backend_config *config = &backend->config;

    config->push(config->data, LK_PUSH_FREE, NULL, NULL, NULL);
}

static void on_listener_open(void *data) {
    struct pg_backend *backend = data;

    backend->listener.failures = 0;
    if (backend->listener.link->is_direct) {
        pg_link_run(backend->listener.link, "LISTEN " CHANNEL, 0, NULL);
        return;
    }
    log_warn("postgres cannot tell of free locks through a pooler", "waiters=poll");
    backend->listener.is_deaf = true;
    pg_link_close(backend->listener.link);
    backend->listener.link = NULL;
}

/* Earlier releases were not heard. */
static void table_mode_on_listening(void *data, PGresult *result) {
    PQclear(result);
    table_mode_push_all(data);
}

static void on_notice(void *data, const char *name) {
    const struct lk_backend_config *config = &((struct pg_backend *)data)->config;

    if (*name)
        config->push(config->data, LK_PUSH_FREE, name, NULL, NULL);
}

static void on_listener_end(void *data, enum pg_link_end end, const char *why) {
    struct pg_backend *backend = data;

    (void)end;
    (void)why; /* the connections that run commands tell it */
    backend->listener.link = NULL;
    backend->listener.at_ms = clock_now_ms() + (int64_t)backoff_ms(backend->listener.failures++,
                                                                   PAUSE_FIRST_MS, PAUSE_MOST_MS);
}

/* Begins with the first waiter. If the connection breaks, the next waiter opens it again. */
static void listen_from_now(struct pg_backend *backend) {
    static const struct pg_link_events events = {.on_open = on_listener_open,
                                                 .on_result = table_mode_on_listening,
                                                 .on_notice = on_notice,
                                                 .on_end = on_listener_end};

    if (backend->listener.link == NULL && !backend->listener.is_deaf &&
        clock_now_ms() >= backend->listener.at_ms)
        backend->listener.link = pg_link_open(&backend->links, &events, backend);
}

/* ---- Commands */

static void table_mode_take_acquired(struct pg_sent *sent, const PGresult *result) {
    struct lk_command *command = sent->command;
    bool is_there = PQntuples(result) > 0;

    if (is_there && !PQgetisnull(result, 0, 0)) {
        command->fence = (uint64_t)pg_integer(result, 0, 0);
        pg_answer(sent, LK_OK);
        return;
    }
    if (is_there && pg_integer(result, 0, 1) > 0)
        command->remaining_ms = pg_integer(result, 0, 1);
    if (command->patience_ms > 0)
        listen_from_now(sent->backend);
    pg_answer(sent, LK_BUSY);
}

static void table_mode_take(struct pg_sent *sent, const PGresult *result) {
    if (sent->command->verb == LK_ACQUIRE)
        table_mode_take_acquired(sent, result);
    else
        pg_answer(sent, PQntuples(result) > 0 ? LK_OK : LK_LOST);
}

static void table_mode_run(struct pg_sent *sent) {
    static const struct {
        const char *sql;
        int count;
    } statements[] = {[LK_ACQUIRE] = {acquire_sql, 6},
                      [LK_RENEW] = {renew_sql, 3},
                      [LK_RELEASE] = {release_sql, 2},
                      [LK_INSPECT] = {inspect_sql, 1},
                      [LK_BREAK] = {break_sql, 2}};
    const struct lk_command *command = sent->command;

    sent->call =
        (struct pg_call){.sql = statements[command->verb].sql,
                         .count = statements[command->verb].count,
                         .params = {command->name, command->owner, sent->ttl,
                                    sent->backend->config.label, sent->above, sent->reserved}};
    pg_ask(sent);
}

static void table_mode_close(struct pg_backend *backend) {
    if (backend->listener.link != NULL)
        pg_link_close(backend->listener.link);
}

const struct pg_mode pg_table_mode = {
    .name = "table",
    .caps = LK_CAP_TTL | LK_CAP_EVENTS | LK_CAP_FENCE_LINEAR | LK_CAP_CROSS_PROCESS | LK_CAP_BREAK |
            LK_CAP_HANDOVER,
    .connections = PG_WORKERS,
    .acquires_most = 2 * PG_WORKERS, /* one under way on each connection, and the next one */
    .run = table_mode_run,
    .take = table_mode_take,
    .close = table_mode_close,
};
