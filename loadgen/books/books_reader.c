/* See books_reader.h. */
#include "books_reader.h"

#include "clock.h"
#include "pg.h"
#include "query_command.h"
#include "query_text.h"

#include <stdlib.h>
#include <string.h>

_Static_assert(QUERY_NAMES_MAX <= PG_PARAMS_MAX, "each name is a parameter");

enum { ORDERS, STOCK, WRITES, QUERIES };

struct books_reader {
    uv_loop_t *loop;
    const struct shop *shop;
    struct buffer target; /* of `ledger command` */
    struct pg_pool *pool; /* of `ledger postgres`; or NULL */
    struct buffer sql[QUERIES];
    const char *names[QUERIES][QUERY_NAMES_MAX];
    struct pg_statement statements[QUERIES];
    books_reader_cb on_closed;
    void *data;
};

static const struct {
    const char *name, *statement;
    int (*take)(struct books *books, const struct rows *rows, struct why *why);
} queries[QUERIES] = {[ORDERS] = {"[Orders]", "shop_orders", books_take_orders},
                      [STOCK] = {"[Stock]", "shop_stock", books_take_stock},
                      [WRITES] = {"[Writes]", "shop_writes", books_take_writes}};

static const struct shop_text *query_of(const struct books_reader *reader, int which) {
    const struct shop_ledger *ledger = &reader->shop->ledger;

    return which == ORDERS ? &ledger->orders : which == STOCK ? &ledger->stock : &ledger->writes;
}

/* A file may be without [Writes]. */
static bool has_query(const struct books_reader *reader, int which) {
    return query_of(reader, which)->count > 0;
}

/* ---- opening and closing */

static void reader_free(struct books_reader *reader) {
    for (int i = 0; i < QUERIES; i++)
        buffer_free(&reader->sql[i]);
    buffer_free(&reader->target);
    free(reader);
}

static int open_postgres(struct books_reader *reader, struct why *why) {
    const struct pg_pool_options options = {
        .conninfo = reader->target.bytes, .name = "loadgen", .connections = 1};
    struct why reason;
    int code;

    for (int i = 0; i < QUERIES; i++) {
        code = query_text_number(query_of(reader, i), &reader->sql[i], reader->names[i], &reason);
        if (code < 0)
            return why_set(why, "%s:%d: %s: %s", reader->shop->path, reader->shop->ledger.line,
                           queries[i].name, reason.text);
        reader->statements[i] = (struct pg_statement){
            .name = queries[i].statement, .sql = reader->sql[i].bytes, .params = code};
    }
    code = pg_pool_open(&reader->pool, reader->loop, &options);
    return code == 0 ? 0
                     : why_set(why, "%s:%d: libpq cannot read the address of the database",
                               reader->shop->path, reader->shop->ledger.line);
}

int books_reader_open(struct books_reader **to, uv_loop_t *loop, const struct shop *shop,
                      const struct values *values, struct why *why) {
    struct books_reader *reader = calloc(1, sizeof *reader);

    if (reader == NULL)
        return why_set(why, "out of memory");
    reader->loop = loop;
    reader->shop = shop;
    if (values_fill(values, &shop->ledger.target, FILL_AS_IS, &reader->target, why) != 0 ||
        (shop->ledger.kind == SHOP_LEDGER_POSTGRES && open_postgres(reader, why) != 0)) {
        reader_free(reader);
        return -1;
    }
    *to = reader;
    return 0;
}

static void reader_on_closed(void *data) {
    struct books_reader *reader = data;
    books_reader_cb cb = reader->on_closed;

    data = reader->data;
    reader_free(reader);
    cb(data);
}

void books_reader_close(struct books_reader *reader, books_reader_cb cb, void *data) {
    reader->on_closed = cb;
    reader->data = data;
    if (reader->pool != NULL)
        pg_pool_close(reader->pool, reader_on_closed, reader);
    else
        reader_on_closed(reader);
}

/* ---- rows */

/* Takes the rows of a query, and frees them. */
static int take_rows(struct books *books, int which, struct rows *rows, int code, struct why *why) {
    if (code == 0)
        code = queries[which].take(books, rows, why);
    rows_free(rows);
    return code;
}

static int copy_result(const PGresult *result, struct rows *rows, struct why *why) {
    rows->has_head = true;
    for (int i = 0; i < PQnfields(result); i++) {
        const enum column column = column_find(PQfname(result, i), strlen(PQfname(result, i)));

        if (column != COLUMN_COUNT)
            rows->has[column] = true;
    }
    for (int row = 0; row < PQntuples(result); row++) {
        if (rows_add(rows, why) != 0)
            return -1;
        for (int i = 0; i < PQnfields(result); i++) {
            const enum column column = column_find(PQfname(result, i), strlen(PQfname(result, i)));

            if (column != COLUMN_COUNT && !PQgetisnull(result, row, i) &&
                rows_set(rows, column, PQgetvalue(result, row, i),
                         (size_t)PQgetlength(result, row, i), why) != 0)
                return -1;
        }
    }
    return 0;
}

/* ---- Postgres */

static enum books_end end_query(const struct pg_query *query, const char *name, struct why *why) {
    if (query->status == PG_OK)
        return BOOKS_READ;
    (void)why_set(why, "%s: %s%s", name,
                  query->status == PG_REJECTED ? "the database refuses the query: " : "",
                  query->message);
    return query->status == PG_REJECTED ? BOOKS_WRONG : BOOKS_AWAY;
}

static enum books_end run_sql(struct books_reader *reader, struct pg_conn *on, const char *sql,
                              int64_t ms, struct why *why) {
    struct pg_query query = {.sql = sql, .on = on, .deadline_ms = clock_now_ms() + ms};
    enum books_end end;

    (void)pg_query_await(reader->pool, &query);
    end = end_query(&query, "the ledger", why);
    pg_query_clear(&query);
    return end;
}

static enum books_end ask_postgres(struct books_reader *reader, struct pg_conn *on, int which,
                                   const struct values *values, int64_t ms, struct books *books,
                                   struct why *why) {
    struct pg_query query = {
        .statement = &reader->statements[which], .on = on, .deadline_ms = clock_now_ms() + ms};
    struct rows rows = {.query = queries[which].name};
    enum books_end end;

    for (int i = 0; i < reader->statements[which].params; i++)
        query.params[i] = values_get(values, reader->names[which][i]);
    (void)pg_query_await(reader->pool, &query);
    end = end_query(&query, queries[which].name, why);
    if (end == BOOKS_READ &&
        take_rows(books, which, &rows, copy_result(query.result, &rows, why), why) != 0)
        end = BOOKS_WRONG;
    pg_query_clear(&query);
    return end;
}

/* The first question has its own connection to no hold, so it can tell why there is none. */
static enum books_end read_postgres(struct books_reader *reader, const struct values *values,
                                    int64_t ms, struct books *books, struct why *why) {
    enum books_end end = run_sql(reader, NULL, "SELECT 1", ms, why);
    struct pg_conn *on = end == BOOKS_READ ? pg_hold(reader->pool, clock_now_ms() + ms) : NULL;

    if (end != BOOKS_READ)
        return end;
    if (on == NULL) {
        (void)why_set(why, "the ledger: the database gave no connection in time");
        return BOOKS_AWAY;
    }
    end = run_sql(reader, on, "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY", ms, why);
    for (int i = 0; i < QUERIES && end == BOOKS_READ; i++)
        if (has_query(reader, i))
            end = ask_postgres(reader, on, i, values, ms, books, why);
    pg_give_back(on); /* rolls back */
    return end;
}

/* ---- a command */

static enum books_end ask_command(struct books_reader *reader, int which,
                                  const struct values *values, int64_t ms, struct books *books,
                                  struct why *why) {
    struct buffer input = {0}, output = {0};
    struct rows rows = {.query = queries[which].name};
    struct why reason;
    int code = query_text_fill(query_of(reader, which), values, &input, &reason);

    if (code == 0)
        code = query_command_run(reader->loop, reader->target.bytes, &input, (uint64_t)ms, &output,
                                 &reason);
    if (code == 0 && !buffer_append(&output, "", 1))
        code = why_set(&reason, "out of memory");
    if (code != 0)
        (void)why_set(why, "%s: %s", queries[which].name, reason.text);
    else
        code = take_rows(books, which, &rows,
                         rows_read(&rows, output.bytes, output.length - 1, why), why);
    buffer_free(&input);
    buffer_free(&output);
    return code == 0 ? BOOKS_READ : BOOKS_WRONG;
}

static enum books_end read_command(struct books_reader *reader, const struct values *values,
                                   int64_t ms, struct books *books, struct why *why) {
    enum books_end end = BOOKS_READ;

    for (int i = 0; i < QUERIES && end == BOOKS_READ; i++)
        if (has_query(reader, i))
            end = ask_command(reader, i, values, ms, books, why);
    return end;
}

enum books_end books_read(struct books_reader *reader, const struct values *values, int64_t ms,
                          struct books *books, struct why *why) {
    enum books_end end;

    *books = (struct books){0};
    end = reader->pool != NULL ? read_postgres(reader, values, ms, books, why)
                               : read_command(reader, values, ms, books, why);
    if (end != BOOKS_READ)
        books_free(books);
    return end;
}
