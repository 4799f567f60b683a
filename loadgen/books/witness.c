/* See witness.h. One connection is held from begin to drop: its session has the lock of the
 * schema's name. A schema whose name nobody has locked is one of a run that was killed. */
#include "witness.h"

#include "clock.h"
#include "fiber.h"
#include "pg.h"
#include "query_text.h"
#include "utf8.h"
#include "uuid.h"
#include "witness_sql.h"
#include "writes.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define RETRY_MS 100

struct witness {
    uv_loop_t *loop;
    const struct shop *shop;
    struct pg_pool *pool;
    struct pg_conn *on;
    char name[WITNESS_NAME]; /* of the schema; "" if there is none */
    struct buffer count;     /* the SQL of witness_sql_count() */
    int64_t left;            /* in the rows that were there at the beginning */
    witness_cb on_closed;
    void *data;
};

/* ---- opening and closing */

static void witness_free(struct witness *witness) {
    buffer_free(&witness->count);
    free(witness);
}

static int open_pool(struct witness *witness, const struct values *values, struct why *why) {
    const struct shop_ledger *ledger = &witness->shop->ledger;
    struct buffer target = {0};
    int code = values_fill(values, &ledger->target, FILL_AS_IS, &target, why);

    if (code == 0) {
        const struct pg_pool_options options = {
            .conninfo = target.bytes, .name = "loadgen", .connections = 1};

        code = pg_pool_open(&witness->pool, witness->loop, &options);
        if (code != 0)
            (void)why_set(why, "%s:%d: libpq cannot read the address of the database",
                          witness->shop->path, ledger->line);
    }
    buffer_free(&target);
    return code == 0 ? 0 : -1;
}

int witness_open(struct witness **to, uv_loop_t *loop, const struct shop *shop,
                 const struct values *values, struct why *why) {
    struct witness *witness;

    if (shop->ledger.kind != SHOP_LEDGER_POSTGRES)
        return why_set(why, "%s:%d: --witness needs a `ledger postgres`: it is a trigger there",
                       shop->path, shop->ledger.line);
    if (shop->ledger.witness.line == 0)
        return why_set(why,
                       "%s:%d: --witness needs a block [Witness] in the ledger, which names the "
                       "table of the stock",
                       shop->path, shop->ledger.line);
    witness = calloc(1, sizeof *witness);
    if (witness == NULL)
        return why_set(why, "out of memory");
    witness->loop = loop;
    witness->shop = shop;
    if (open_pool(witness, values, why) != 0) {
        witness_free(witness);
        return -1;
    }
    *to = witness;
    return 0;
}

static void on_pool_closed(void *data) {
    struct witness *witness = data;
    witness_cb cb = witness->on_closed;

    data = witness->data;
    witness_free(witness);
    cb(data);
}

void witness_close(struct witness *witness, witness_cb cb, void *data) {
    witness->on_closed = cb;
    witness->data = data;
    if (witness->on != NULL)
        pg_give_back(witness->on);
    pg_pool_close(witness->pool, on_pool_closed, witness);
}

/* ---- questions */

static enum witness_answer refuse(const struct witness *witness, struct why *why,
                                  const char *text) {
    (void)why_set(why, "%s:%d: [Witness]: %s", witness->shop->path,
                  witness->shop->ledger.witness.line, text);
    return WITNESS_WRONG;
}

static enum witness_answer no_memory(struct why *why) {
    (void)why_set(why, "the witness: out of memory");
    return WITNESS_AWAY;
}

static bool is_lock_busy(const struct pg_query *query) {
    return strcmp(query->sqlstate, "55P03") == 0 || strcmp(query->sqlstate, "40P01") == 0;
}

/* Runs the query on the held connection. */
static enum witness_answer ask(struct witness *witness, struct pg_query *query, int64_t ms,
                               struct why *why) {
    query->on = witness->on;
    query->deadline_ms = clock_now_ms() + ms;
    if (pg_query_await(witness->pool, query) == PG_OK)
        return WITNESS_OK;
    if (query->status == PG_REJECTED && !is_lock_busy(query)) {
        char text[PG_MESSAGE_BYTES + 40];

        (void)snprintf(text, sizeof text, "the database refuses it: %s", query->message);
        return refuse(witness, why, text);
    }
    (void)why_set(why, "the witness: %s", query->message);
    return WITNESS_AWAY;
}

static enum witness_answer run(struct witness *witness, const char *sql, int64_t ms,
                               struct why *why) {
    struct pg_query query = {.sql = sql};
    enum witness_answer answer = ask(witness, &query, ms, why);

    pg_query_clear(&query);
    return answer;
}

/* Runs SQL that needs a lock of the shop's table. */
static enum witness_answer run_patiently(struct witness *witness, const char *sql, int64_t ms,
                                         struct why *why) {
    const int64_t deadline_ms = clock_now_ms() + ms;

    for (;;) {
        struct pg_query query = {.sql = sql};
        enum witness_answer answer = ask(witness, &query, deadline_ms - clock_now_ms(), why);
        const bool is_busy = query.status == PG_REJECTED && is_lock_busy(&query);

        pg_query_clear(&query);
        if (!is_busy || clock_now_ms() + RETRY_MS >= deadline_ms)
            return answer;
        fiber_sleep(witness->loop, RETRY_MS);
    }
}

/* Locks or unlocks a schema's name. If it fails, another run may drop the schema, or the end of the
 * session unlocks it. */
static void turn_lock(struct witness *witness, const struct pg_statement *statement,
                      const char *name, int64_t ms) {
    struct pg_query query = {.statement = statement, .params = {name}};
    struct why why;

    (void)ask(witness, &query, ms, &why);
    pg_query_clear(&query);
}

/* Holds a connection that answers. The first question goes to no held one, so it can tell why there
 * is none. */
static enum witness_answer connect_now(struct witness *witness, int64_t ms, struct why *why) {
    enum witness_answer answer;

    if (witness->on != NULL && run(witness, "SELECT 1", ms, why) == WITNESS_OK)
        return WITNESS_OK;
    if (witness->on != NULL)
        pg_give_back(witness->on);
    witness->on = NULL;
    answer = run(witness, "SELECT 1", ms, why);
    if (answer != WITNESS_OK)
        return WITNESS_AWAY;
    witness->on = pg_hold(witness->pool, clock_now_ms() + ms);
    if (witness->on == NULL) {
        (void)why_set(why, "the witness: the database gave no connection in time");
        return WITNESS_AWAY;
    }
    if (witness->name[0] != '\0')
        turn_lock(witness, &witness_lock, witness->name, ms);
    return WITNESS_OK;
}

/* ---- dropping */

static enum witness_answer drop(struct witness *witness, const char *name, int64_t ms,
                                struct why *why) {
    struct buffer sql = {0};
    enum witness_answer answer;
    struct why reason;

    if (!witness_sql_drop(&sql, name)) {
        buffer_free(&sql);
        return no_memory(why);
    }
    answer = run_patiently(witness, sql.bytes, ms, &reason);
    buffer_free(&sql);
    if (answer == WITNESS_OK)
        turn_lock(witness, &witness_unlock, name, ms);
    else
        (void)why_set(why,
                      "%s. The trigger %s stays in the database. As its owner, run: DROP FUNCTION "
                      "%s.note() CASCADE; DROP SCHEMA %s CASCADE",
                      reason.text, name, name, name);
    return answer;
}

/* Drops the schemas of runs that were killed. */
static enum witness_answer drop_others(struct witness *witness, int64_t ms, struct why *why) {
    struct pg_query query = {.statement = &witness_others};
    enum witness_answer answer = ask(witness, &query, ms, why);

    for (int i = 0; answer == WITNESS_OK && i < PQntuples(query.result); i++)
        if (pg_text(&query, i, 1)[0] == 't')
            answer = drop(witness, pg_text(&query, i, 0), ms, why);
    pg_query_clear(&query);
    return answer;
}

enum witness_answer witness_drop(struct witness *witness, int64_t ms, struct why *why) {
    enum witness_answer answer = WITNESS_OK;

    if (witness->name[0] != '\0')
        answer = connect_now(witness, ms, why);
    if (witness->name[0] != '\0' && answer == WITNESS_OK)
        answer = drop(witness, witness->name, ms, why);
    if (answer != WITNESS_OK)
        return answer;
    witness->name[0] = '\0';
    if (witness->on != NULL)
        pg_give_back(witness->on);
    witness->on = NULL;
    return WITNESS_OK;
}

/* ---- beginning */

/* An expression of the file with its values as constants. The author may have put one inside text
 * that is not seen as quoted, such as $$...$$, so a value must have no effect there, either. */
static enum witness_answer fill(struct witness *witness, const struct shop_text *text,
                                const struct values *values, int64_t ms, struct buffer *to,
                                struct why *why) {
    struct pg_query query = {.statement = &witness_quote};
    const char *names[QUERY_NAMES_MAX], *constants[QUERY_NAMES_MAX];
    struct why reason;
    int count = query_text_number(text, to, names, &reason);
    enum witness_answer answer;

    if (count < 0)
        return refuse(witness, why, reason.text);
    for (int i = 0; i < count; i++) {
        query.params[i] = values_get(values, names[i]);
        if (query.params[i] == NULL || query_text_is_harmless(query.params[i]))
            continue;
        (void)why_set(&reason,
                      "the value of {{%s}} has other characters than letters, digits and _ . : @ + "
                      "= / -, so it may not stand in [Witness]",
                      names[i]);
        return refuse(witness, why, reason.text);
    }
    answer = ask(witness, &query, ms, why);
    if (answer == WITNESS_OK) {
        for (int i = 0; i < count; i++)
            constants[i] = query.params[i] != NULL ? pg_text(&query, 0, i) : "NULL";
        to->length = 0;
        if (query_text_quote(text, to, constants, &reason) != 0)
            answer = no_memory(why);
    }
    pg_query_clear(&query);
    return answer;
}

static enum witness_answer look(struct witness *witness, const struct values *values, int64_t ms,
                                struct pg_query *query, struct why *why) {
    struct buffer table = {0};
    enum witness_answer answer = WITNESS_AWAY;

    *query = (struct pg_query){.statement = &witness_look};
    if (values_fill(values, &witness->shop->ledger.witness.table, FILL_AS_IS, &table, why) == 0) {
        query->params[0] = table.bytes;
        answer = ask(witness, query, ms, why);
    }
    if (answer == WITNESS_OK && PQntuples(query->result) == 0)
        answer = refuse(witness, why,
                        "the database has no such table; perhaps its schema is "
                        "missing in the name");
    else if (answer == WITNESS_OK && pg_text(query, 0, LOOK_IS_TABLE)[0] != 't')
        answer = refuse(witness, why, "this is no table: a view or a foreign table has no count");
    buffer_free(&table);
    return answer;
}

static enum witness_answer check_rights(const struct witness *witness, const struct pg_query *look,
                                        struct why *why) {
    const bool may_create = pg_text(look, 0, LOOK_MAY_CREATE)[0] == 't';
    const bool may_trigger = pg_text(look, 0, LOOK_MAY_TRIGGER)[0] == 't';
    const char *role = pg_text(look, 0, LOOK_ROLE);
    char text[1024];

    if (may_create && may_trigger)
        return WITNESS_OK;
    if (!may_create)
        (void)snprintf(text, sizeof text,
                       "the role %s may not make a schema. As the owner of the database, run: "
                       "GRANT CREATE ON DATABASE %s TO %s",
                       role, pg_text(look, 0, LOOK_DATABASE), role);
    else
        (void)snprintf(text, sizeof text,
                       "the role %s may not make a trigger. As the owner of the table, run: GRANT "
                       "TRIGGER ON %s TO %s",
                       role, pg_text(look, 0, LOOK_TABLE), role);
    return refuse(witness, why, text);
}

/* The rows and the sum of their numbers. */
static enum witness_answer count(struct witness *witness, int64_t ms, int64_t *rows, int64_t *left,
                                 struct why *why) {
    struct pg_query query = {.sql = witness->count.bytes};
    enum witness_answer answer = ask(witness, &query, ms, why);

    if (answer == WITNESS_OK) {
        *rows = pg_int(&query, 0, 0);
        *left = pg_int(&query, 0, 1);
        if (pg_int(&query, 0, 2) > 0)
            answer = refuse(witness, why, "`left` is NULL in a row of `rows`");
    }
    pg_query_clear(&query);
    return answer;
}

/* A shop that makes its row with the first sale has none yet. */
static enum witness_answer check_count(struct witness *witness, const struct pg_query *look,
                                       int64_t left, int64_t ms, struct why *why) {
    int64_t rows = 0;
    char text[256];
    enum witness_answer answer = count(witness, ms, &rows, &witness->left, why);

    if (answer != WITNESS_OK)
        return answer;
    if (rows > 1 && pg_text(look, 0, LOOK_KEY)[0] == '\0')
        return refuse(witness, why,
                      "several rows meet `rows`, and the table has no primary key that tells them "
                      "apart");
    if (rows == 0 || witness->left == left)
        return WITNESS_OK;
    (void)snprintf(text, sizeof text,
                   "%" PRId64 " units are left by `left` in %" PRId64 " rows, and %" PRId64
                   " by [Stock]; both must count the same units",
                   witness->left, rows, left);
    return refuse(witness, why, text);
}

static void make_name(char name[WITNESS_NAME]) {
    char id[UUID_TEXT];
    size_t length = strlen(strcpy(name, "loadgen_witness_"));

    uuid_v7(id);
    for (const char *c = id; *c != '\0'; c++)
        if (*c != '-')
            name[length++] = *c;
    name[length] = '\0';
}

static enum witness_answer make(struct witness *witness, const struct pg_query *look,
                                const char *rows, const char *left, int64_t ms, struct why *why) {
    struct buffer sql = {0};
    enum witness_answer answer;

    make_name(witness->name);
    answer = witness_sql_begin(&sql, witness->name, look, rows, left)
                 ? run_patiently(witness, sql.bytes, ms, why)
                 : no_memory(why);
    buffer_free(&sql);
    if (answer != WITNESS_OK) {
        struct why left_over;

        if (witness_drop(witness, ms, &left_over) != WITNESS_OK)
            *why = left_over;
        witness->name[0] = '\0';
    }
    return answer;
}

enum witness_answer witness_begin(struct witness *witness, const struct values *values,
                                  int64_t left, int64_t ms, struct why *why) {
    const struct shop_witness *file = &witness->shop->ledger.witness;
    struct buffer rows = {0}, number = {0};
    struct pg_query table = {0};
    enum witness_answer answer;

    assert(witness->name[0] == '\0');
    answer = connect_now(witness, ms, why);
    if (answer == WITNESS_OK)
        answer = drop_others(witness, ms, why);
    if (answer == WITNESS_OK)
        answer = look(witness, values, ms, &table, why);
    if (answer == WITNESS_OK)
        answer = check_rights(witness, &table, why);
    if (answer == WITNESS_OK)
        answer = fill(witness, &file->rows, values, ms, &rows, why);
    if (answer == WITNESS_OK)
        answer = fill(witness, &file->left, values, ms, &number, why);
    witness->count.length = 0;
    if (answer == WITNESS_OK &&
        !witness_sql_count(&witness->count, &table, rows.bytes, number.bytes))
        answer = no_memory(why);
    if (answer == WITNESS_OK)
        answer = check_count(witness, &table, left, ms, why);
    if (answer == WITNESS_OK)
        answer = make(witness, &table, rows.bytes, number.bytes, ms, why);
    pg_query_clear(&table);
    buffer_free(&rows);
    buffer_free(&number);
    return answer;
}

/* ---- reading */

/* A numeric of Postgres that is a whole number. */
static bool read_number(const char *text, int64_t *number) {
    char *end;

    *number = strtoll(text, &end, 10);
    if (*end == '.')
        end += 1 + strspn(end + 1, "0");
    return *end == '\0' && end != text && *number <= WRITE_MAX && *number >= -WRITE_MAX;
}

static enum witness_answer take_write(const struct witness *witness, const struct pg_query *query,
                                      int row, struct ledger_write *write, struct why *why) {
    const bool has_found = !PQgetisnull(query->result, row, READ_FOUND);
    const bool has_left = !PQgetisnull(query->result, row, READ_LEFT);
    char text[PG_MESSAGE_BYTES + 80];

    *write = (struct ledger_write){.seq = pg_int(query, row, READ_SEQ),
                                   .tx = pg_int(query, row, READ_TX),
                                   .found = WRITE_NOTHING};
    (void)snprintf(write->row, sizeof write->row, "%s", pg_text(query, row, READ_ROW));
    utf8_make_printable(write->row);
    write->at_us = ledger_time_us(pg_text(query, row, READ_AT));
    if (!PQgetisnull(query->result, row, READ_WHY)) {
        (void)snprintf(text, sizeof text, "an expression failed at write %" PRId64 ": %.*s",
                       write->seq, PG_MESSAGE_BYTES, pg_text(query, row, READ_WHY));
        return refuse(witness, why, text);
    }
    if ((has_found && !read_number(pg_text(query, row, READ_FOUND), &write->found)) ||
        (has_left && !read_number(pg_text(query, row, READ_LEFT), &write->left))) {
        (void)snprintf(text, sizeof text,
                       "`left` was no whole number at write %" PRId64 ": %.30s, then %.30s",
                       write->seq, pg_text(query, row, READ_FOUND), pg_text(query, row, READ_LEFT));
        return refuse(witness, why, text);
    }
    return WITNESS_OK;
}

static enum witness_answer take_writes(struct witness *witness, const struct pg_query *query,
                                       struct ledger *ledger, int64_t left, struct why *why) {
    const size_t count = (size_t)PQntuples(query->result);
    struct ledger_write *writes = calloc(count + 1, sizeof *writes);
    enum witness_answer answer = writes != NULL ? WITNESS_OK : no_memory(why);
    int64_t sum = witness->left;

    for (size_t i = 0; answer == WITNESS_OK && i < count; i++) {
        answer = take_write(witness, query, (int)i, &writes[i], why);
        sum += writes[i].left - (writes[i].found == WRITE_NOTHING ? 0 : writes[i].found);
    }
    if (answer == WITNESS_OK && sum != left) {
        (void)why_set(why,
                      "the witness: the count went from %" PRId64 " to %" PRId64
                      ", and the writes that the trigger saw lead to %" PRId64
                      ": some writes passed it by",
                      witness->left, left, sum);
        answer = WITNESS_WRONG;
    }
    if (answer != WITNESS_OK) {
        free(writes);
        return answer;
    }
    writes_sort(writes, count);
    free(ledger->writes); /* of [Writes] */
    ledger->writes = writes;
    ledger->write_count = count;
    ledger->has_writes = true;
    return WITNESS_OK;
}

/* In a transaction that sees the count and the writes of one moment. */
static enum witness_answer read_all(struct witness *witness, const char *sql, struct ledger *ledger,
                                    int64_t ms, struct why *why) {
    struct pg_query query = {.sql = sql};
    int64_t rows, left = 0;
    enum witness_answer answer =
        run(witness, "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY", ms, why);

    if (answer == WITNESS_OK)
        answer = count(witness, ms, &rows, &left, why);
    if (answer == WITNESS_OK && left != ledger->available) {
        char text[256];

        (void)snprintf(text, sizeof text,
                       "%" PRId64 " units are left by `left`, and %" PRId64 " by [Stock]", left,
                       ledger->available);
        answer = refuse(witness, why, text);
    }
    if (answer == WITNESS_OK)
        answer = ask(witness, &query, ms, why);
    if (answer == WITNESS_OK)
        answer = take_writes(witness, &query, ledger, left, why);
    pg_query_clear(&query);
    return answer;
}

enum witness_answer witness_read(struct witness *witness, struct ledger *ledger, int64_t ms,
                                 struct why *why) {
    struct buffer sql = {0};
    enum witness_answer answer = connect_now(witness, ms, why);

    assert(witness->name[0] != '\0');
    if (answer == WITNESS_OK)
        answer = witness_sql_read(&sql, witness->name)
                     ? read_all(witness, sql.bytes, ledger, ms, why)
                     : no_memory(why);
    if (answer != WITNESS_AWAY) {
        struct why ignored; /* without a transaction, it only warns */

        (void)run(witness, "ROLLBACK", ms, &ignored);
    }
    buffer_free(&sql);
    return answer;
}
