/* SQL of the stock, of selling from it, and of transactions. */
#include "stock_sql.h"

#include "buffer.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#define READ_STOCK(unit)                                                                           \
    "SELECT first_unit, available, version, fence,"                                                \
    " (extract(epoch FROM clock_timestamp()) * 1000000)::bigint, " unit                            \
    " FROM stock s WHERE product_id = $1 AND shard = $2"
#define LAST_UNIT "first_unit + available - 1"

/* The subquery on stock_place adds 10 % even without returned units, so it is a statement of its
 * own. */
static struct statement reads[] = {
    [false] = STATEMENT("read_stock", 2, READ_STOCK(LAST_UNIT)),
    [true] = STATEMENT("read_stock_and_place", 2,
                       READ_STOCK("coalesce((SELECT unit FROM stock_place p"
                                  " WHERE p.product_id = s.product_id AND p.shard = s.shard"
                                  " AND p.place = s.available - 1), " LAST_UNIT ")")),
};

enum outcome stock_sql_read(struct pg_pool *pool, const struct stock_read *read,
                            struct stock_row *row, int64_t *server_us, struct why *why) {
    struct number shard = number_of(read->shard);
    struct pg_query query = {
        .on = read->on, .params = {read->product_id, shard.text}, .deadline_ms = read->deadline_ms};
    enum outcome outcome = statement_read(pool, &reads[read->returns_to_count], &query, why);

    if (outcome == OUTCOME_OK && query.affected == 0) {
        outcome = OUTCOME_FAILED;
        (void)why_set(why, "shard %d has no row of stock", read->shard);
    } else if (outcome == OUTCOME_OK) {
        *row = (struct stock_row){.shard = read->shard,
                                  .first_unit = pg_int(&query, 0, 0),
                                  .available = pg_int(&query, 0, 1),
                                  .version = pg_int(&query, 0, 2),
                                  .fence = pg_int(&query, 0, 3),
                                  .unit = pg_int(&query, 0, 5)};
        *server_us = pg_int(&query, 0, 4);
    }
    pg_query_clear(&query);
    return outcome;
}

/* The guard compares with $9. */
#define WRITE_STOCK(guard)                                                                         \
    "WITH written AS ("                                                                            \
    " UPDATE stock SET available = $5::bigint, version = version + 1,"                             \
    "  fence = greatest(fence, $7::bigint)"                                                        \
    " WHERE product_id = $2::uuid AND shard = $3::int" guard " AND clock_timestamp()"              \
    "  <= timestamptz 'epoch' + $8::bigint * interval '1 microsecond' RETURNING shard)"
#define WRITE_LEDGER                                                                               \
    " INSERT INTO reservation (order_id, product_id, shard, unit, remaining, instance, fence)"     \
    " SELECT $1::uuid, $2::uuid, shard, $4::bigint, $5::bigint, $6::text, $7::bigint"              \
    " FROM written"
/* The second unit of a cart is in the row of the first. */
#define WRITE_SECOND                                                                               \
    " UPDATE reservation SET second_shard = $3::int, second_unit = $4::bigint,"                    \
    "  second_remaining = $5::bigint FROM written"                                                 \
    " WHERE order_id = $1::uuid AND second_shard IS NULL AND instance = $6::text"
/* It reads the clock again, later: a write that was too late for the row is never called a
 * conflict. */
#define WRITE_IF(guard, ledger)                                                                    \
    WRITE_STOCK(guard)                                                                             \
    ", noted AS (" ledger " RETURNING 1)"                                                          \
    " SELECT CASE WHEN EXISTS (SELECT FROM noted) THEN 'written'"                                  \
    " WHEN EXISTS (SELECT FROM written) THEN 'unnoted'"                                            \
    " WHEN clock_timestamp() <= timestamptz 'epoch' + $8::bigint * interval '1 microsecond'"       \
    " THEN 'conflict' ELSE 'late' END"

#define IF_VERSION " AND version = $9::bigint"
#define IF_VALUE   " AND available = $9::bigint"
#define IF_FENCE   " AND fence = $9::bigint AND fence < $7::bigint"

/* Of the first unit of an order, and of the second. */
static struct statement writes[][2] = {
    [GUARD_ANY] = {STATEMENT("write_stock", 8, WRITE_STOCK("") WRITE_LEDGER),
                   STATEMENT("write_second", 8, WRITE_STOCK("") WRITE_SECOND)},
    [GUARD_VERSION] = {STATEMENT("write_stock_if_version", 9, WRITE_IF(IF_VERSION, WRITE_LEDGER)),
                       STATEMENT("write_second_if_version", 9, WRITE_IF(IF_VERSION, WRITE_SECOND))},
    [GUARD_VALUE] = {STATEMENT("write_stock_if_value", 9, WRITE_IF(IF_VALUE, WRITE_LEDGER)),
                     STATEMENT("write_second_if_value", 9, WRITE_IF(IF_VALUE, WRITE_SECOND))},
    [GUARD_FENCE] = {STATEMENT("write_stock_if_fence", 9, WRITE_IF(IF_FENCE, WRITE_LEDGER)),
                     STATEMENT("write_second_if_fence", 9, WRITE_IF(IF_FENCE, WRITE_SECOND))},
};

static struct number compared(const struct stock_row *seen, enum guard guard) {
    assert(seen != NULL || guard == GUARD_ANY);
    switch (guard) {
    case GUARD_ANY:
        break;
    case GUARD_VERSION:
        return number_of(seen->version);
    case GUARD_VALUE:
        return number_of(seen->available);
    case GUARD_FENCE:
        return number_of(seen->fence);
    }
    return (struct number){""};
}

enum outcome stock_sql_prepare_write(struct pg_pool *pool, struct pg_conn *on, enum guard guard,
                                     int64_t deadline_ms, struct why *why) {
    struct pg_query query = {.on = on, .deadline_ms = deadline_ms};

    return statement_prepare(pool, &writes[guard][0], &query, why);
}

/* The outcome of a statement that ran. It names its reason where several can stop it. */
static enum outcome outcome_of_write(const struct pg_query *query, enum guard guard,
                                     struct why *why) {
    const char *did =
        guard == GUARD_ANY ? query->affected == 1 ? "written" : "late" : pg_text(query, 0, 0);

    if (strcmp(did, "written") == 0)
        return OUTCOME_SOLD;
    if (strcmp(did, "conflict") == 0)
        return OUTCOME_CONFLICT;
    if (strcmp(did, "unnoted") == 0) {
        (void)why_set(
            why, "the stock row is written, but the ledger did not report that it took the sale");
        return OUTCOME_UNKNOWN;
    }
    (void)why_set(why, "the write came too late and wrote nothing");
    return OUTCOME_BUSY;
}

enum outcome stock_sql_write(struct pg_pool *pool, const struct stock_write *write,
                             const struct reservation *sold, struct why *why) {
    struct number shard = number_of(sold->shard), unit = number_of(sold->unit),
                  remaining = number_of(sold->remaining), fence = number_of(sold->fence),
                  not_after = number_of(write->not_after_us),
                  with = compared(write->seen, write->guard);
    struct pg_query query = {.on = write->on,
                             .params = {sold->order_id, sold->product_id, shard.text, unit.text,
                                        remaining.text, sold->instance, fence.text, not_after.text,
                                        with.text},
                             .deadline_ms = write->deadline_ms};
    enum outcome outcome =
        statement_write(pool, &writes[write->guard][write->is_second], &query, why);

    if (outcome == OUTCOME_OK)
        outcome = outcome_of_write(&query, write->guard, why);
    pg_query_clear(&query);
    return outcome;
}

/* Both ways to take a unit return shard, unit and remaining, or no row. */
static enum outcome stock_sql_take_by(struct pg_pool *pool, struct statement *statement,
                                      struct pg_query *query, struct reservation *sold,
                                      struct why *why) {
    enum outcome outcome = statement_write(pool, statement, query, why);

    if (outcome == OUTCOME_OK && query->affected == 0)
        outcome = OUTCOME_SOLD_OUT;
    if (outcome == OUTCOME_OK) {
        outcome = OUTCOME_SOLD;
        sold->shard = (int)pg_int(query, 0, 0);
        sold->unit = pg_int(query, 0, 1);
        sold->remaining = pg_int(query, 0, 2);
        sold->fence = 0;
    }
    pg_query_clear(query);
    return outcome;
}

static struct statement take_stock = STATEMENT(
    "take_stock", 4,
    "WITH taken AS ("
    " UPDATE stock SET available = available - 1, version = version + 1"
    " WHERE product_id = $2::uuid AND shard = $3::int AND available > 0"
    " RETURNING shard, first_unit, available)"
    " INSERT INTO reservation (order_id, product_id, shard, unit, remaining, instance, fence)"
    " SELECT $1::uuid, $2::uuid, shard, first_unit + available, available, $4::text, 0"
    " FROM taken RETURNING shard, unit, remaining");

enum outcome stock_sql_take(struct pg_pool *pool, struct reservation *sold, int64_t deadline_ms,
                            struct why *why) {
    struct number shard = number_of(sold->shard);
    struct pg_query query = {
        .params = {sold->order_id, sold->product_id, shard.text, sold->instance},
        .deadline_ms = deadline_ms};

    return stock_sql_take_by(pool, &take_stock, &query, sold, why);
}

/* A sale from a row that does not exist: the server checks the same as for any other sale. */
bool stock_sql_is_ready(struct pg_pool *pool, int64_t deadline_ms, char reason[PG_MESSAGE_BYTES]) {
    static const char nothing[] = "00000000-0000-0000-0000-000000000000";
    struct pg_query query = {.params = {nothing, nothing, "-1", "nobody"},
                             .deadline_ms = deadline_ms};
    struct why why;
    bool is_ready = statement_write(pool, &take_stock, &query, &why) == OUTCOME_OK;

    pg_query_reason(&query, reason);
    pg_query_clear(&query);
    return is_ready;
}

enum outcome stock_sql_take_returned(struct pg_pool *pool, struct reservation *sold,
                                     int64_t deadline_ms, struct why *why) {
    static struct statement statement = STATEMENT(
        "take_returned", 3,
        "WITH picked AS MATERIALIZED ("
        " SELECT ctid FROM returned_unit WHERE product_id = $2::uuid"
        " LIMIT 1 FOR UPDATE SKIP LOCKED),"
        " taken AS (DELETE FROM returned_unit WHERE ctid = ANY (ARRAY(SELECT ctid FROM picked))"
        "  RETURNING shard, unit)"
        " INSERT INTO reservation (order_id, product_id, shard, unit, remaining, instance, fence)"
        " SELECT $1::uuid, $2::uuid, shard, unit, 0, $3::text, 0"
        " FROM taken RETURNING shard, unit, remaining");
    struct pg_query query = {.params = {sold->order_id, sold->product_id, sold->instance},
                             .deadline_ms = deadline_ms};

    return stock_sql_take_by(pool, &statement, &query, sold, why);
}

/* The FOR UPDATE waits while a batch of another instance holds the row, and then reads the row as
 * that batch left it. The UPDATE finds the row as it was when the statement began, follows it to
 * the version that is locked here (EvalPlanQual), and takes from that. So both see the same
 * `available`. By its ctid the UPDATE would not find the row again. */
#define TAKE_IN_BATCH(fresh, wanted, numbered, places)                                             \
    "WITH " fresh " seen AS MATERIALIZED (SELECT available FROM stock"                             \
    "  WHERE product_id = $2::uuid AND shard = $3::int AND available > 0 FOR UPDATE),"             \
    " taken AS (UPDATE stock s SET available = s.available - least(s.available, wanted),"          \
    "  version = version + least(s.available, wanted)"                                             \
    "  FROM seen, (SELECT " wanted ") w"                                                           \
    "  WHERE product_id = $2::uuid AND shard = $3::int"                                            \
    "  RETURNING first_unit, seen.available),"                                                     \
    " sold AS ("                                                                                   \
    "  INSERT INTO reservation (order_id, product_id, shard, unit, remaining, instance, fence)"    \
    "  SELECT order_id, $2::uuid, $3::int, first_unit + available - nth, available - nth,"         \
    "   $4::text, 0"                                                                               \
    "  FROM taken, " numbered " WHERE nth <= available RETURNING 1)"                               \
    " SELECT first_unit, available, " places ", (SELECT count(*) FROM sold)"                       \
    " FROM (VALUES (0)) AS one LEFT JOIN taken ON true"

/* The look at the ledger is a subquery. The planner would turn NOT EXISTS into a join, perhaps one
 * that reads the whole ledger. */
#define FRESH                                                                                      \
    "fresh AS MATERIALIZED ("                                                                      \
    " SELECT min(place) AS place, order_id"                                                        \
    " FROM unnest((SELECT $1::uuid[])) WITH ORDINALITY AS asked (order_id, place)"                 \
    " WHERE (SELECT true FROM reservation r WHERE r.order_id = asked.order_id) IS NULL"            \
    " GROUP BY order_id),"                                                                         \
    " numbered AS (SELECT order_id, row_number() OVER (ORDER BY place) AS nth FROM fresh),"

enum outcome stock_sql_take_batch(struct pg_pool *pool, struct batch_sale *sale, struct why *why) {
    static struct statement statements[] = {
        [false] = STATEMENT("take_batch", 4,
                            TAKE_IN_BATCH("", "cardinality($1::uuid[]) AS wanted",
                                          "unnest($1::uuid[]) WITH "
                                          "ORDINALITY AS asked (order_id, nth)",
                                          "NULL")),
        [true] = STATEMENT("take_batch_of_new", 4,
                           TAKE_IN_BATCH(FRESH, "count(*) AS wanted FROM fresh", "numbered",
                                         "(SELECT array_agg(place ORDER BY place) FROM fresh)"))};
    struct number shard = number_of(sale->shard);
    enum outcome outcome;

    sale->query = (struct pg_query){
        .params = {sale->order_ids->bytes, sale->product_id, shard.text, sale->instance},
        .lengths = {(int)sale->order_ids->length},
        .deadline_ms = sale->deadline_ms};
    outcome = statement_write(pool, &statements[sale->has_repeats], &sale->query, why);
    if (outcome == OUTCOME_OK) {
        sale->first_unit = pg_int(&sale->query, 0, 0);
        sale->available = pg_int(&sale->query, 0, 1);
        sale->places = pg_text(&sale->query, 0, 2);
        sale->sold = pg_int(&sale->query, 0, 3);
    }
    return outcome;
}

/* ---- Transactions, on a connection that is held from begin to end */

enum outcome transaction_sql_begin(struct pg_pool *pool, struct pg_conn *on,
                                   enum isolation isolation, int64_t deadline_ms, struct why *why) {
    static struct statement begins[] = {
        [READ_COMMITTED] = STATEMENT("begin", 0, "BEGIN ISOLATION LEVEL READ COMMITTED"),
        [SERIALIZABLE] = STATEMENT("begin_serializable", 0, "BEGIN ISOLATION LEVEL SERIALIZABLE"),
    };
    struct pg_query query = {.on = on, .deadline_ms = deadline_ms};
    enum outcome outcome;

    assert(on != NULL); /* else the next sale on that connection would join the transaction */
    outcome = statement_read(pool, &begins[isolation], &query, why);
    pg_query_clear(&query);
    return outcome;
}

#define COLUMNS                                                                                    \
    "shard, first_unit, available, version, fence,"                                                \
    " (extract(epoch FROM clock_timestamp()) * 1000000)::bigint"

/* The subselect runs once, before the first row is locked. */
#define LIMITED(number) " AND (SELECT set_config('lock_timeout', $" number ", true)) IS NOT NULL"
#define READ_ONE(limited, wait)                                                                    \
    "SELECT " COLUMNS " FROM stock WHERE product_id = $1 AND shard = $2" limited " FOR "           \
    "UPDATE" wait

/* Returns one row if any row has units, without a shard when all those rows are locked. Returns no
 * row when none has units. */
#define READ_ANY(limited, wait)                                                                    \
    "WITH picked AS MATERIALIZED (SELECT " COLUMNS " AS at FROM stock"                             \
    " WHERE product_id = $1 AND available > 0" limited                                             \
    " ORDER BY (shard - $2::int + $3::int) % $3::int LIMIT 1 FOR UPDATE" wait ")"                  \
    " SELECT picked.* FROM (SELECT FROM stock WHERE product_id = $1 AND available > 0 LIMIT 1)"    \
    " AS unsold LEFT JOIN picked ON true"

static struct statement locking_reads[][2] = {
    [ROW_WAIT] = {STATEMENT("read_for_update", 3, READ_ONE(LIMITED("3"), "")),
                  STATEMENT("read_any_for_update", 4, READ_ANY(LIMITED("4"), ""))},
    [ROW_NOWAIT] = {STATEMENT("read_nowait", 2, READ_ONE("", " NOWAIT")),
                    STATEMENT("read_any_nowait", 3, READ_ANY("", " NOWAIT"))},
    [ROW_SKIP_LOCKED] = {STATEMENT("read_skip_locked", 2, READ_ONE("", " SKIP LOCKED")),
                         STATEMENT("read_any_skip_locked", 3, READ_ANY("", " SKIP LOCKED"))},
};

/* Read the answer of a statement that ran. */
static enum outcome take_row(const struct pg_query *query, const struct row_wanted *wanted,
                             struct stock_row *row, int64_t *server_us, struct why *why) {
    if (query->affected == 0 && wanted->shard == ANY_SHARD)
        return OUTCOME_SOLD_OUT;
    if (query->affected == 0 && wanted->wait != ROW_SKIP_LOCKED) {
        (void)why_set(why, "shard %d has no row of stock", wanted->shard);
        return OUTCOME_FAILED;
    }
    if (query->affected == 0 || pg_text(query, 0, 0)[0] == '\0') {
        (void)why_set(why, "other sales hold the stock");
        return OUTCOME_BUSY;
    }
    *row = (struct stock_row){.shard = (int)pg_int(query, 0, 0),
                              .first_unit = pg_int(query, 0, 1),
                              .available = pg_int(query, 0, 2),
                              .version = pg_int(query, 0, 3),
                              .fence = pg_int(query, 0, 4)};
    row->unit = row->first_unit + row->available - 1;
    *server_us = pg_int(query, 0, 5);
    return OUTCOME_OK;
}

enum outcome transaction_sql_read(struct pg_pool *pool, struct pg_conn *on,
                                  const struct row_wanted *wanted, struct stock_row *row,
                                  int64_t *server_us, int64_t deadline_ms, struct why *why) {
    const bool is_any = wanted->shard == ANY_SHARD;
    struct number shard = number_of(is_any ? wanted->first : wanted->shard),
                  shards = number_of(wanted->shards),
                  wait_ms = number_of(wanted->wait_ms > 0 ? wanted->wait_ms : 1);
    struct pg_query query = {.on = on,
                             .params = {wanted->product_id, shard.text,
                                        is_any ? shards.text : wait_ms.text, wait_ms.text},
                             .deadline_ms = deadline_ms};
    enum outcome outcome = statement_read(pool, &locking_reads[wanted->wait][is_any], &query, why);

    if (outcome == OUTCOME_OK)
        outcome = take_row(&query, wanted, row, server_us, why);
    pg_query_clear(&query);
    return outcome;
}

/* If a statement of the transaction failed, the server answers COMMIT with ROLLBACK. */
enum outcome transaction_sql_commit(struct pg_pool *pool, struct pg_conn *on, int64_t deadline_ms,
                                    struct why *why) {
    static struct statement statement = STATEMENT("commit", 0, "COMMIT");
    struct pg_query query = {.on = on, .deadline_ms = deadline_ms};
    enum outcome outcome = statement_write(pool, &statement, &query, why);

    if (outcome == OUTCOME_OK && strcmp(PQcmdStatus(query.result), "COMMIT") != 0) {
        outcome = OUTCOME_FAILED;
        (void)why_set(why, "the transaction had failed before its commit");
    }
    pg_query_clear(&query);
    return outcome;
}
