/* A schema of this process on the scratch database TEST_PG, with the tables of a file in sql/. */
#ifndef TEST_PG_SCHEMA_H
#define TEST_PG_SCHEMA_H

#include <libpq-fe.h>

struct pg_schema {
    PGconn *admin;      /* works in the schema, as do all who connect with `conninfo` */
    char name[48];      /* <area>_<pid> */
    char conninfo[512]; /* with `options`, which are those of libpq */
};

/* Make it, empty but for the tables of `path`; fails the test when that cannot be. */
void pg_schema_open(struct pg_schema *schema, const char *area, const char *path,
                    const char *options);
/* Drop it; fine when it was not opened. */
void pg_schema_close(struct pg_schema *schema);

/* The file once more. */
void pg_schema_apply(struct pg_schema *schema, const char *path);

/* Run SQL, which must succeed. */
__attribute__((format(printf, 2, 3))) void pg_schema_run(struct pg_schema *schema,
                                                         const char *format, ...);
/* The same; returns the first field of what it answers, until the next question, or NULL when it
 * answers no row. */
__attribute__((format(printf, 2, 3))) const char *pg_schema_ask(struct pg_schema *schema,
                                                                const char *format, ...);
/* The number in it, or -1. */
#define pg_schema_number(...) pg_schema_to_number(pg_schema_ask(__VA_ARGS__))
long pg_schema_to_number(const char *text);

#endif
