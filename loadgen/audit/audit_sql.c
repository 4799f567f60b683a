/* Cuts sql/audit.sql into statements that libpq can prepare. */
#include "audit_sql.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MARK "-- query: "

static const struct {
    const char *variable, *parameter;
} variables[] = {{":'product'", "$1"}, {":'since'", "$2"}};
#define VARIABLES (sizeof variables / sizeof variables[0])

/* It goes back into a query, perhaps of another server: so in a form that none reads otherwise. */
#define CREATED "to_char(created_at AT TIME ZONE 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS.US\"Z\"')"

const struct pg_statement product_insert = {
    "product_insert",
    "INSERT INTO product (product_id, name, price, initial_stock, strategy, created_at) "
    "VALUES (gen_random_uuid(), $1, 88888.88, $2::bigint, $3, clock_timestamp()) "
    "RETURNING product_id, " CREATED,
    3};

const struct pg_statement product_select = {
    "product_select",
    "SELECT " CREATED ", initial_stock, strategy FROM product WHERE product_id = $1::uuid", 1};

/* Read "-- query: <name> on <database>". */
static int read_mark(const char *line, struct audit_query *query, struct why *why) {
    char text[96], database[16];

    snprintf(text, sizeof text, "%.*s", (int)strcspn(line, "\n"), line);
    if (sscanf(text, MARK "%31s on %15s", query->name, database) != 2 ||
        (strcmp(database, "orders") != 0 && strcmp(database, "inventory") != 0))
        return why_set(why, "audit.sql: cannot read \"%s\"", text);
    query->is_orders = strcmp(database, "orders") == 0;
    query->statement.name = query->name;
    return 0;
}

/* Each variable becomes its parameter, which is shorter. */
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

/* Only blanks, and psql's own lines. */
static bool is_for_psql(const char *text) {
    for (;; text += strcspn(text, "\n")) {
        text += strspn(text, " \n");
        if (*text != '\\')
            return *text == '\0';
    }
}

/* The parameters of a statement are $1 .. $n: one that uses $2 must use $1. And only one statement
 * can be prepared at a time, so it ends at its semicolon. */
static int audit_sql_finish(struct audit_query *query, struct why *why) {
    char *semicolon;

    number_parameters(query);
    semicolon = strchr(query->sql, ';');
    if (semicolon == NULL || !is_for_psql(semicolon + 1) || strstr(query->sql, "$1") == NULL)
        return why_set(why, "audit.sql: %s is not one statement about :'product'", query->name);
    *semicolon = '\0';
    query->statement.sql = query->sql;
    return 0;
}

/* Where the next mark stands at the beginning of a line, or the end of the text. */
static const char *next_mark(const char *text) {
    const char *found = strstr(text, "\n" MARK);

    return found != NULL ? found + 1 : text + strlen(text);
}

int audit_queries_parse(const char *text, struct audit_queries *queries, struct why *why) {
    memset(queries, 0, sizeof *queries);
    if (strncmp(text, MARK, strlen(MARK)) != 0)
        text = next_mark(text);
    for (const char *end; *text != '\0'; text = end) {
        struct audit_query *query = &queries->queries[queries->count];
        const char *sql = text + strcspn(text, "\n");

        sql += *sql == '\n';
        end = next_mark(text);
        assert(queries->count < AUDIT_QUERIES_MAX); /* the text is ours */
        if (read_mark(text, query, why) != 0)
            return -1;
        query->sql = strndup(sql, (size_t)(end - sql));
        if (query->sql == NULL)
            return why_set(why, "out of memory");
        queries->count++;
        if (audit_sql_finish(query, why) != 0)
            return -1;
    }
    return 0;
}

void audit_queries_free(struct audit_queries *queries) {
    for (size_t i = 0; i < queries->count; i++)
        free(queries->queries[i].sql);
    queries->count = 0;
}

const struct audit_query *audit_query_find(const struct audit_queries *queries, const char *name) {
    for (size_t i = 0; i < queries->count; i++) {
        if (strcmp(queries->queries[i].name, name) == 0)
            return &queries->queries[i];
    }
    return NULL;
}
