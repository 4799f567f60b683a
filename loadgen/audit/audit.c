/* Cuts sql/audit.sql into statements that libpq can prepare, and reads the ledgers of a product
 * with them. */
#include "audit.h"

#include "clock.h"
#include "fiber.h"
#include "user_command.h"
#include "utf8.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CONNECT_MS 5000 /* limit for the first answer of a database */
#define QUERY_MS   8000 /* limit of each query */
#define POLL_MS    100  /* between two looks at a ledger */
#define SAMPLES    7    /* reads of the database's clock; the first find cold caches */

static const struct pg_statement ping = {"ping", "SELECT current_setting('server_version_num')", 0};

extern const char audit_text[]; /* sql/audit.sql */

/* ---- the statements */

#define MARK "-- query: "

static const struct {
    const char *variable, *parameter;
} variables[] = {{":'product'", "$1"}, {":'since'", "$2"}};
#define VARIABLES (sizeof variables / sizeof variables[0])

/* Reads "-- query: <name> on <database>". */
static void read_mark(const char *line, struct audit_query *query) {
    char database[16];
    const int found = sscanf(line, MARK "%31s on %15s", query->name, database);

    query->is_orders = strcmp(database, "orders") == 0;
    query->statement.name = query->name;
    assert(found == 2 && (query->is_orders || strcmp(database, "inventory") == 0));
}

/* Replaces each variable by its parameter, which is shorter. */
static void number_parameters(struct audit_query *query) {
    for (size_t v = 0; v < VARIABLES; v++)
        for (char *at; (at = strstr(query->sql, variables[v].variable)) != NULL;) {
            const char *rest = at + strlen(variables[v].variable);

            query->statement.params = (int)v + 1;
            at = stpcpy(at, variables[v].parameter);
            assert(at <= rest);
            memmove(at, rest, strlen(rest) + 1);
        }
}

/* Whether the text has only blanks and commands of psql. */
static bool is_for_psql(const char *text) {
    for (;; text += strcspn(text, "\n")) {
        text += strspn(text, " \n");
        if (*text != '\\')
            return *text == '\0';
    }
}

/* The parameters of a statement are $1 .. $n, so a statement with $2 must use $1. A prepared
 * statement is a single one, so the query ends at its semicolon. */
static void finish_query(struct audit_query *query) {
    char *semicolon;

    number_parameters(query);
    semicolon = strchr(query->sql, ';');
    assert(strstr(query->sql, "$1") != NULL);
    assert(semicolon != NULL && is_for_psql(semicolon + 1));
    *semicolon = '\0';
    query->statement.sql = query->sql;
}

/* The next mark at the beginning of a line, or the end of the text. */
static const char *next_mark(const char *text) {
    const char *found = strstr(text, "\n" MARK);

    return found != NULL ? found + 1 : text + strlen(text);
}

/* Cuts sql/audit.sql, our own file, into its queries. Returns 0, or -1 without memory. */
static int cut_queries(struct auditor *auditor) {
    const char *text = next_mark(audit_text);

    for (const char *end; *text != '\0'; text = end) {
        struct audit_query *query = &auditor->queries[auditor->query_count];
        const char *sql = text + strcspn(text, "\n") + 1;

        end = next_mark(text);
        assert(auditor->query_count < AUDIT_QUERIES_MAX);
        read_mark(text, query);
        query->sql = strndup(sql, (size_t)(end - sql));
        if (query->sql == NULL)
            return -1;
        auditor->query_count++;
        finish_query(query);
    }
    return 0;
}

static const struct audit_query *find_query(const struct auditor *auditor, const char *name) {
    const struct audit_query *query = auditor->queries;

    while (strcmp(query->name, name) != 0) {
        query++;
        assert(query < auditor->queries + auditor->query_count);
    }
    return query;
}

/* The time is sent back in queries, perhaps to another server, so its form must be unambiguous. */
#define CREATED "to_char(created_at AT TIME ZONE 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS.US\"Z\"')"

/* $1 name, $2 initial stock, $3 strategy spec. */
static const struct pg_statement product_insert = {
    "product_insert",
    "INSERT INTO product (product_id, name, price, initial_stock, strategy, created_at) "
    "VALUES (gen_random_uuid(), $1, 88888.88, $2::bigint, $3, clock_timestamp()) "
    "RETURNING product_id, " CREATED,
    3};

static const struct pg_statement product_select = {
    "product_select",
    "SELECT " CREATED ", initial_stock, strategy FROM product WHERE product_id = $1::uuid", 1};

/* ---- opening and closing */

static int open_database(struct auditor *auditor, struct pg_pool **pool, const char *conninfo,
                         const char *name, const char *variable, struct why *why) {
    struct pg_pool_options options = {.conninfo = conninfo, .name = "loadgen", .connections = 1};
    struct pg_query query = {.statement = &ping, .deadline_ms = clock_now_ms() + CONNECT_MS};
    enum pg_status status;
    int rc;

    if (conninfo[0] == '\0')
        return why_set(why,
                       "%s is not set. It is the connection string of the database %s. %s sets it "
                       "for the stack that %s starts; --no-judge does not need it",
                       variable, name, user_command(USER_LOADGEN), user_command(USER_UP));
    rc = pg_pool_open(pool, auditor->loop, &options);
    if (rc != 0)
        return why_set(why, "%s is no connection string: %s", variable, uv_strerror(rc));
    status = pg_query_await(*pool, &query);
    if (status == PG_OK)
        auditor->postgres_version = (int)pg_int(&query, 0, 0);
    else
        why_set(why, "the database %s cannot be reached: %s. Start it with %s, or set %s", name,
                query.message, user_command(USER_UP), variable);
    pg_query_clear(&query);
    return status == PG_OK ? 0 : -1;
}

int auditor_open(struct auditor *auditor, uv_loop_t *loop, const char *inventory,
                 const char *orders, struct why *why) {
    memset(auditor, 0, sizeof *auditor);
    auditor->loop = loop;
    auditor->query_ms = QUERY_MS;
    if (cut_queries(auditor) != 0)
        return why_set(why, "out of memory");
    if (open_database(auditor, &auditor->inventory, inventory, "inventory", "LOADGEN_INVENTORY_DB",
                      why) != 0)
        return -1;
    if (orders == NULL)
        return 0;
    return open_database(auditor, &auditor->orders, orders, "orders", "LOADGEN_ORDERS_DB", why);
}

static void audit_on_pool_closed(void *data) {
    fiber_event_set(data);
}

static void close_pool(struct pg_pool *pool) {
    struct fiber_event closed = FIBER_EVENT_INIT;

    if (pool == NULL)
        return;
    pg_pool_close(pool, audit_on_pool_closed, &closed);
    fiber_event_wait(&closed);
}

void auditor_close(struct auditor *auditor) {
    close_pool(auditor->inventory);
    close_pool(auditor->orders);
    auditor->inventory = auditor->orders = NULL;
    for (size_t i = 0; i < auditor->query_count; i++)
        free(auditor->queries[i].sql);
    auditor->query_count = 0;
}

int auditor_create(struct auditor *auditor, const char *name, int64_t stock, const char *spec,
                   struct product *product, struct why *why) {
    char stock_text[24]; /* a parameter is text, and must live until the query has ended */
    struct pg_query query = {.statement = &product_insert,
                             .params = {name, stock_text, spec},
                             .deadline_ms = clock_now_ms() + QUERY_MS};
    bool is_created;

    snprintf(stock_text, sizeof stock_text, "%" PRId64, stock);
    (void)pg_query_await(auditor->inventory, &query);
    is_created = query.status == PG_OK && query.affected == 1;
    if (is_created) {
        snprintf(product->id, sizeof product->id, "%s", pg_text(&query, 0, 0));
        snprintf(product->since, sizeof product->since, "%s", pg_text(&query, 0, 1));
    } else {
        why_set(why, "the product was not created: %s",
                query.status == PG_OK ? "the database added no row" : query.message);
    }
    pg_query_clear(&query);
    return is_created ? 0 : -1;
}

/* Runs a query of audit.sql on the held connection `on`, or on any if it is NULL. Returns 0; or -1
 * with the reason in `why`. Clear `query` either way. */
static int run_query(struct auditor *auditor, struct pg_conn *on, const char *name,
                     const struct product *product, struct pg_query *query, struct why *why) {
    const struct audit_query *found = find_query(auditor, name);

    assert(!found->is_orders || auditor->orders != NULL); /* it was opened to judge */
    memset(query, 0, sizeof *query);
    query->on = on;
    query->statement = &found->statement;
    query->params[0] = product->id;
    query->params[1] = product->since;
    query->deadline_ms = clock_now_ms() + auditor->query_ms;
    if (pg_query_await(found->is_orders ? auditor->orders : auditor->inventory, query) == PG_OK)
        return 0;
    return why_set(why, "the ledger could not be read: %s of audit.sql: %s", name, query->message);
}

/* Returns a count, or -1 while the database does not answer. */
static int64_t count_rows(struct auditor *auditor, const char *name,
                          const struct product *product) {
    struct pg_query query;
    struct why why;
    int64_t count = -1;

    if (run_query(auditor, NULL, name, product, &query, &why) == 0)
        count = pg_int(&query, 0, 0);
    pg_query_clear(&query);
    return count;
}

bool auditor_wait_quiet(struct auditor *auditor, const struct product *product, int64_t still_ms,
                        int64_t deadline_ms, const bool *is_interrupted) {
    int64_t sales = -1, sold_ms = clock_now_ms();

    for (;;) {
        int64_t sales_now = count_rows(auditor, "sales_count", product);
        int64_t orders_now = count_rows(auditor, "orders_count", product);
        int64_t now = clock_now_ms();

        if (sales_now != sales)
            sold_ms = now;
        sales = sales_now;
        if (sales >= 0 && sales == orders_now && now - sold_ms >= still_ms)
            return true;
        if (now >= deadline_ms || *is_interrupted)
            return false;
        fiber_sleep(auditor->loop, POLL_MS);
    }
}

static void audit_copy(char *to, size_t size, const struct pg_query *query, int row, int column) {
    snprintf(to, size, "%s", pg_text(query, row, column));
    utf8_make_printable(to);
}

/* Zeroed structs, one per row of the answer; NULL and a count of 0 without memory. */
static void *make_rows(const struct pg_query *query, size_t size, size_t *count) {
    size_t answered = (size_t)PQntuples(query->result);
    void *rows = calloc(answered + 1, size);

    *count = rows != NULL ? answered : 0;
    return rows;
}

static int take_sales(const struct pg_query *query, struct ledger *ledger) {
    ledger->sales = make_rows(query, sizeof *ledger->sales, &ledger->sale_count);
    for (int row = 0; row < (int)ledger->sale_count; row++) {
        const struct ledger_extra extra = {.fence = pg_int(query, row, 4), .reserved = -1};
        struct ledger_sale *sale = &ledger->sales[row];

        sale->order_id = texts_add(&ledger->texts, pg_text(query, row, 0));
        if (sale->order_id == NULL || ledger_keep_extra(ledger, sale, &extra) != 0 ||
            ledger_keep_instance(ledger, &sale->instance, pg_text(query, row, 3)) != 0)
            return -1;
        sale->quantity = 1;
        sale->unit = pg_int(query, row, 1);
        sale->shard = (int32_t)pg_int(query, row, 2);
        sale->at_us = ledger_time_us(pg_text(query, row, 5));
        sale->remaining = pg_int(query, row, 6);
    }
    return ledger->sales != NULL ? 0 : -1;
}

static int take_orders(const struct pg_query *query, struct ledger *ledger) {
    ledger->orders = make_rows(query, sizeof *ledger->orders, &ledger->order_count);
    for (int row = 0; row < (int)ledger->order_count; row++) {
        struct ledger_order *order = &ledger->orders[row];

        order->order_id = ledger_keep_id(ledger, pg_text(query, row, 0));
        if (order->order_id == NULL ||
            ledger_keep_instance(ledger, &order->instance, pg_text(query, row, 2)) != 0)
            return -1;
        order->unit = pg_int(query, row, 1);
        order->at_us = ledger_time_us(pg_text(query, row, 3));
    }
    return ledger->orders != NULL ? 0 : -1;
}

static int take_rows(const struct pg_query *query, struct ledger *ledger) {
    ledger->rows = make_rows(query, sizeof *ledger->rows, &ledger->row_count);
    for (int row = 0; row < (int)ledger->row_count; row++)
        ledger->rows[row] =
            (struct ledger_row){.shard = pg_int(query, row, 0),
                                .first_unit = pg_int(query, row, 1),
                                .available = pg_int(query, row, 2),
                                .returns_to_count = pg_text(query, row, 3)[0] == 't',
                                .is_loaded = pg_text(query, row, 4)[0] != '\0'};
    return ledger->rows != NULL ? 0 : -1;
}

static int take_returned(const struct pg_query *query, struct ledger *ledger) {
    ledger->returned_units =
        make_rows(query, sizeof *ledger->returned_units, &ledger->returned_count);
    for (int row = 0; row < (int)ledger->returned_count; row++)
        ledger->returned_units[row] =
            (struct ledger_returned){pg_int(query, row, 0), pg_int(query, row, 1)};
    return ledger->returned_units != NULL ? 0 : -1;
}

static int audit_take_stock(const struct pg_query *query, struct ledger *ledger) {
    if (query->affected != 1)
        return -1;
    ledger->initial = pg_int(query, 0, 0);
    ledger->available = pg_int(query, 0, 1);
    ledger->returned = pg_int(query, 0, 2);
    ledger->counted = pg_int(query, 0, 3);
    ledger->units = pg_int(query, 0, 4);
    return 0;
}

struct ledger_part {
    const char *name;
    int (*take)(const struct pg_query *query, struct ledger *ledger);
    const char *trouble;
};

static int read_part(struct auditor *auditor, struct pg_conn *on, const struct product *product,
                     const struct ledger_part *part, struct ledger *ledger, struct why *why) {
    struct pg_query query;
    int rc = run_query(auditor, on, part->name, product, &query, why);

    if (rc == 0 && part->take(&query, ledger) != 0)
        rc = why_set(why, "the ledger of %s could not be read: %s", product->id, part->trouble);
    pg_query_clear(&query);
    return rc;
}

/* Holds a connection with one snapshot for all reads on it. Without the snapshot, a unit that is
 * returned and sold again meanwhile would be missing in both lists. */
static struct pg_conn *hold_snapshot(struct auditor *auditor, struct why *why) {
    const int64_t deadline_ms = clock_now_ms() + auditor->query_ms;
    struct pg_conn *conn = pg_hold(auditor->inventory, deadline_ms);
    struct pg_query query = {.sql = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY",
                             .on = conn,
                             .deadline_ms = deadline_ms,
                             .message = "the database inventory cannot be reached"};

    if (conn == NULL || pg_query_await(auditor->inventory, &query) != PG_OK) {
        why_set(why, "the ledger could not be read: %s", query.message);
        if (conn != NULL)
            pg_give_back(conn);
        conn = NULL;
    }
    pg_query_clear(&query);
    return conn;
}

int auditor_read(struct auditor *auditor, const struct product *product, struct ledger *ledger,
                 struct why *why) {
    static const struct ledger_part orders = {"orders", take_orders, "out of memory"};
    static const struct ledger_part parts[] = {
        {"sales", take_sales, "out of memory"},
        {"stock", audit_take_stock, "the product is not in the database inventory"},
        {"rows", take_rows, "out of memory"},
        {"returned", take_returned, "out of memory"}};
    struct pg_conn *conn;
    int rc;

    memset(ledger, 0, sizeof *ledger);
    /* Orders first: each already has its sale, even if more orders still come in. */
    if (read_part(auditor, NULL, product, &orders, ledger, why) != 0)
        return -1;
    conn = hold_snapshot(auditor, why);
    rc = conn != NULL ? 0 : -1;
    for (size_t i = 0; i < sizeof parts / sizeof parts[0] && rc == 0; i++)
        rc = read_part(auditor, conn, product, &parts[i], ledger, why);
    if (conn != NULL)
        pg_give_back(conn);
    if (rc == 0)
        ledger_sort(ledger);
    return rc;
}

/* Columns of the query "events". */
enum { ORDER, INSTANCE, KIND, NAME, DETAIL, KEY, TOKEN, RESULT, LASTS_MS, TOOK_US, AT_US };

/* An endless event, such as a pause without a known end, would overflow an int64_t. */
#define LASTS_MAX_MS INT64_C(1000000000)

static void audit_take_event(const struct pg_query *query, int row, int64_t offset_us,
                             struct event *event) {
    const int64_t ms = pg_int(query, row, LASTS_MS);

    event->at_ns = (pg_int(query, row, AT_US) + offset_us) * 1000;
    event->began_ns = event->at_ns - pg_int(query, row, TOOK_US) * 1000;
    event->until_ns = event->at_ns + (ms < 0 ? 0 : ms > LASTS_MAX_MS ? LASTS_MAX_MS : ms) * 1000000;
    audit_copy(event->order_id, sizeof event->order_id, query, row, ORDER);
    audit_copy(event->who, sizeof event->who, query, row, INSTANCE);
    audit_copy(event->name, sizeof event->name, query, row, NAME);
    audit_copy(event->detail, sizeof event->detail, query, row, DETAIL);
    audit_copy(event->key, sizeof event->key, query, row, KEY);
    audit_copy(event->token, sizeof event->token, query, row, TOKEN);
}

static int take_events(const struct pg_query *query, uint32_t item, int64_t offset_us,
                       struct event_list *events) {
    for (int row = 0; row < PQntuples(query->result); row++) {
        struct event *event = event_add(events);

        if (event == NULL)
            return -1;
        if (event_parse(pg_text(query, row, KIND), pg_text(query, row, RESULT), event) != 0) {
            events->count--; /* a kind of a newer inventory-svc */
            continue;
        }
        event->item = item;
        audit_take_event(query, row, offset_us, event);
    }
    return 0;
}

/* inventory-svc writes results of locks with a small delay. When a poll finds no new row, all are
 * written. */
int auditor_read_events(struct auditor *auditor, const struct product *product, uint32_t item,
                        int64_t offset_us, struct event_list *events, struct why *why) {
    int64_t count = 0;
    struct pg_query query;
    int rc = run_query(auditor, NULL, "events", product, &query, why);

    while (rc == 0 && query.affected > count) {
        count = query.affected;
        pg_query_clear(&query);
        fiber_sleep(auditor->loop, POLL_MS);
        rc = run_query(auditor, NULL, "events", product, &query, why);
    }
    if (rc == 0 && take_events(&query, item, offset_us, events) != 0)
        rc = why_set(why, "the events of %s could not be read: out of memory", product->id);
    pg_query_clear(&query);
    return rc;
}

int auditor_find(struct auditor *auditor, struct product *product, struct audit_found *found,
                 struct why *why) {
    struct pg_query query = {.statement = &product_select,
                             .params = {product->id},
                             .deadline_ms = clock_now_ms() + QUERY_MS};
    int rc = pg_query_await(auditor->inventory, &query) == PG_OK ? 0 : -1;

    *found = (struct audit_found){.is_there = rc == 0 && query.affected == 1};
    if (rc != 0)
        why_set(why, "the product could not be read: %s", query.message);
    if (found->is_there) {
        audit_copy(product->since, sizeof product->since, &query, 0, 0);
        found->stock = pg_int(&query, 0, 1);
        audit_copy(found->spec, sizeof found->spec, &query, 0, 2);
    }
    pg_query_clear(&query);
    return rc;
}

int auditor_is_fresh(struct auditor *auditor, const struct product *product, bool *is_fresh,
                     struct why *why) {
    struct ledger ledger = {.sales = NULL};
    const int rc = auditor_read(auditor, product, &ledger, why);

    *is_fresh = ledger.available == ledger.initial && ledger.returned == 0 &&
                ledger.sale_count == 0 && ledger.order_count == 0;
    ledger_free(&ledger);
    return rc;
}

int auditor_ask_clock(struct auditor *auditor, struct clock_sample *sample) {
    static const struct pg_statement clock = {
        "clock", "SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint", 0};
    struct pg_query query = {.statement = &clock,
                             .deadline_ms = clock_now_ms() + auditor->query_ms};
    enum pg_status status;

    sample->asked_ns = clock_now_ns();
    status = pg_query_await(auditor->inventory, &query);
    sample->answered_ns = clock_now_ns();
    if (status == PG_OK)
        sample->told_us = pg_int(&query, 0, 0);
    pg_query_clear(&query);
    return status == PG_OK ? 0 : -1;
}

/* The database read its clock during the trip: we take the middle, so the error is at most half. */
int auditor_skew(struct auditor *auditor, int64_t *skew_us) {
    int64_t fastest_ns = INT64_MAX;

    for (int i = 0; i < SAMPLES; i++) {
        const int64_t asked_us = clock_wall_us();
        struct clock_sample sample;
        int64_t took_ns;

        if (auditor_ask_clock(auditor, &sample) != 0)
            return -1;
        took_ns = sample.answered_ns - sample.asked_ns;
        if (took_ns >= fastest_ns)
            continue;
        fastest_ns = took_ns;
        *skew_us = asked_us + took_ns / 2000 - sample.told_us;
    }
    return 0;
}
