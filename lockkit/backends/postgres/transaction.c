/* Locks in the caller's transaction. */
#include "fnv.h"
#include "lockkit_pg.h"

#include "postgres_mode.h"

#include <stdio.h>
#include <string.h>

int64_t lk_pg_key(const char *name) {
    const uint64_t hash = fnv_hash(name);
    int64_t key;

    memcpy(&key, &hash, sizeof key);
    return key;
}

const char *lk_pg_lock_sql(enum lk_mode mode, int is_try) {
    if (is_try)
        return mode == LK_SHARED ? "SELECT pg_try_advisory_xact_lock_shared($1::bigint)"
                                 : "SELECT pg_try_advisory_xact_lock($1::bigint)";
    return mode == LK_SHARED ? "SELECT pg_advisory_xact_lock_shared($1::bigint)"
                             : "SELECT pg_advisory_xact_lock($1::bigint)";
}

static void tell_lock_refused(const char *why) {
    char line[PG_LINK_WHY_SIZE], quoted[2 * PG_LINK_WHY_SIZE];

    pg_first_line(line, sizeof line, why);
    log_warn("postgres refuses a lock in a transaction", "why=%s",
             log_quote(quoted, sizeof quoted, line));
}

/* Run one statement. OK: *is_true is its first field. TIMEOUT: 55P03. */
static enum lk_status transaction_run(PGconn *conn, const char *sql, const char *param,
                                      bool *is_true) {
    PGresult *result = PQexecParams(conn, sql, param != NULL ? 1 : 0, NULL, &param, NULL, NULL, 0);
    enum lk_status status = LK_OK;

    if (PQstatus(conn) != CONNECTION_OK)
        status = LK_UNKNOWN;
    else if (pg_has_state(result, "55P03"))
        status = LK_TIMEOUT;
    else if (pg_is_error(result))
        status = LK_REFUSED;
    if (status == LK_REFUSED)
        tell_lock_refused(PQresultErrorMessage(result));
    if (is_true != NULL)
        *is_true = status == LK_OK && PQntuples(result) > 0 && *PQgetvalue(result, 0, 0) == 't';
    PQclear(result);
    return status;
}

/* Waits below a savepoint, so that the transaction outlives a wait that fails. */
static enum lk_status transaction_wait(PGconn *conn, const char *sql, const char *key,
                                       uint32_t wait_ms) {
    char limit[PG_NUMBER_SIZE];
    enum lk_status status;

    (void)snprintf(limit, sizeof limit, "%u", wait_ms == LK_FOREVER ? 0 : wait_ms);
    status = transaction_run(conn, "SAVEPOINT lockkit", NULL, NULL);
    /* The old value is kept beside it, in a setting with a custom name. */
    if (status == LK_OK)
        status = transaction_run(
            conn,
            "SELECT set_config('lockkit.kept', current_setting('lock_timeout'), true),"
            " set_config('lock_timeout', $1, true)",
            limit, NULL);
    if (status == LK_OK)
        status = transaction_run(conn, sql, key, NULL);
    if (status == LK_OK)
        status = transaction_run(
            conn, "SELECT set_config('lock_timeout', current_setting('lockkit.kept'), true)", NULL,
            NULL);
    else if (status != LK_UNKNOWN &&
             transaction_run(conn, "ROLLBACK TO SAVEPOINT lockkit", NULL, NULL) != LK_OK)
        return LK_UNKNOWN;
    return transaction_run(conn, "RELEASE SAVEPOINT lockkit", NULL, NULL) == LK_OK ? status
                                                                                   : LK_UNKNOWN;
}

enum lk_status lk_pg_lock(PGconn *conn, const char *name, enum lk_mode mode, uint32_t wait_ms) {
    const char *sql = lk_pg_lock_sql(mode, wait_ms == LK_TRY);
    char key[PG_NUMBER_SIZE];
    enum lk_status status;
    bool is_taken;

    if (PQtransactionStatus(conn) != PQTRANS_INTRANS)
        return LK_INVALID;
    (void)snprintf(key, sizeof key, "%lld", (long long)lk_pg_key(name));
    if (wait_ms != LK_TRY)
        return transaction_wait(conn, sql, key, wait_ms);
    status = transaction_run(conn, sql, key, &is_taken);
    return status == LK_OK && !is_taken ? LK_BUSY : status;
}
