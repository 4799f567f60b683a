/* Cuts sql/audit.sql into statements that libpq can prepare. */
#include "audit_sql.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MARK "-- query: "

static const struct {
    const char *variable, *parameter;
} variables[] = {{":'product'", "$1"}, {":'since'", "$2"}};
#define VARIABLES (sizeof variables / sizeof variables[0])

const struct pg_statement product_insert = {
    "product_insert",
    "INSERT INTO product (product_id, name, price, initial_stock, strategy, created_at) "
    "VALUES (gen_random_uuid(), $1, 88888.88, $2::bigint, $3, clock_timestamp()) "
    "RETURNING product_id, created_at",
    3};

static struct audit_query *start_query(struct audit_queries *queries, const char *line,
                                       size_t length, char *why, size_t why_size) {
    struct audit_query *query = &queries->queries[queries->count];
    char text[96], database[16];

    snprintf(text, sizeof text, "%.*s", (int)length, line);
    if (queries->count == AUDIT_QUERIES_MAX ||
        sscanf(text, MARK "%31s on %15s", query->name, database) != 2 ||
        (strcmp(database, "orders") != 0 && strcmp(database, "inventory") != 0)) {
        snprintf(why, why_size, "audit.sql: cannot read \"%s\"", text);
        return NULL;
    }
    query->is_orders = strcmp(database, "orders") == 0;
    query->sql = calloc(1, 1);
    if (query->sql == NULL) {
        snprintf(why, why_size, "out of memory");
        return NULL;
    }
    query->statement.name = query->name;
    queries->count++;
    return query;
}

/* Append a line, each variable as its parameter. */
static int add_line(struct audit_query *query, const char *line, size_t length) {
    size_t used = strlen(query->sql);
    char *grown = realloc(query->sql, used + length + 2);

    if (grown == NULL)
        return -1;
    query->sql = grown;
    for (const char *end = line + length; line < end;) {
        size_t v = 0;

        while (v < VARIABLES &&
               strncmp(line, variables[v].variable, strlen(variables[v].variable)) != 0)
            v++;
        if (v == VARIABLES) {
            grown[used++] = *line++;
            continue;
        }
        memcpy(grown + used, variables[v].parameter, 2);
        used += 2;
        line += strlen(variables[v].variable);
        if (query->statement.params < (int)v + 1)
            query->statement.params = (int)v + 1;
    }
    memcpy(grown + used, "\n", 2);
    return 0;
}

/* The parameters of a statement are $1 .. $n: one that uses $2 must use $1. And only one statement
 * can be prepared at a time, so the last semicolon goes, and no other may be there. */
static int finish(struct audit_query *query, char *why, size_t why_size) {
    char *semicolon = strchr(query->sql, ';');

    if (semicolon == NULL || semicolon[1 + strspn(semicolon + 1, " \n")] != '\0' ||
        strstr(query->sql, "$1") == NULL) {
        snprintf(why, why_size, "audit.sql: %s is not one statement about :'product'", query->name);
        return -1;
    }
    *semicolon = '\0';
    query->statement.sql = query->sql;
    return 0;
}

int audit_queries_parse(const char *text, struct audit_queries *queries, char *why,
                        size_t why_size) {
    struct audit_query *query = NULL;

    memset(queries, 0, sizeof *queries);
    for (size_t length; *text != '\0'; text += length + (text[length] == '\n')) {
        length = strcspn(text, "\n");
        if (strncmp(text, MARK, strlen(MARK)) == 0) {
            query = start_query(queries, text, length, why, why_size);
            if (query == NULL)
                return -1;
        } else if (query != NULL && *text != '\\' && add_line(query, text, length) != 0) {
            snprintf(why, why_size, "out of memory");
            return -1;
        }
    }
    for (size_t i = 0; i < queries->count; i++) {
        if (finish(&queries->queries[i], why, why_size) != 0)
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
