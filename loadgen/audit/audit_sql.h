/* The queries of sql/audit.sql, as statements with parameters, and the SQL that makes a product. */
#ifndef LOADGEN_AUDIT_SQL_H
#define LOADGEN_AUDIT_SQL_H

#include "pg.h"
#include "why.h"

#include <stdbool.h>
#include <stddef.h>

#define AUDIT_QUERIES_MAX 16

/* One query: $1 is the product and $2 the time since which to look. */
struct audit_query {
    struct pg_statement statement;
    bool is_orders; /* runs on the database orders, else on inventory */
    char name[32];
    char *sql;
};

struct audit_queries {
    size_t count;
    struct audit_query queries[AUDIT_QUERIES_MAX];
};

/* The embedded sql/audit.sql. */
extern const char audit_text[];

/* Split the text of an audit.sql. 0; or -1, and `why` says what is wrong. Free either way. */
__attribute__((warn_unused_result)) int audit_queries_parse(const char *text,
                                                            struct audit_queries *queries,
                                                            struct why *why);
void audit_queries_free(struct audit_queries *queries);
/* NULL when there is none of that name. */
const struct audit_query *audit_query_find(const struct audit_queries *queries, const char *name);

/* $1 name, $2 initial stock, $3 strategy spec; returns the id and the time of creation. */
extern const struct pg_statement product_insert;
/* $1 id; returns the time of creation, the initial stock and the strategy spec. */
extern const struct pg_statement product_select;

#endif
