/* A schema for this process in the scratch database TEST_PG, with the tables of a file in sql/. */
#ifndef TEST_PG_SCHEMA_H
#define TEST_PG_SCHEMA_H

#include <libpq-fe.h>

struct pg_schema {
    PGconn *admin;      /* it works in the schema, like each connection by `conninfo` */
    char name[48];      /* <area>_<pid> */
    char conninfo[512]; /* with `options`, in the words of libpq */
};

/* Make it, with the empty tables of `path`. If that is not possible, the test fails. */
void pg_schema_open(struct pg_schema *schema, const char *area, const char *path,
                    const char *options);
/* Drop it. It need not have been opened. */
void pg_schema_close(struct pg_schema *schema);

/* Run the file again. */
void pg_schema_apply(struct pg_schema *schema, const char *path);

/* Run SQL, which must succeed. */
__attribute__((format(printf, 2, 3))) void pg_schema_run(struct pg_schema *schema,
                                                         const char *format, ...);
/* The same. Returns the first field of the answer, which is valid until the next question; NULL: no
 * row. */
__attribute__((format(printf, 2, 3))) const char *pg_schema_ask(struct pg_schema *schema,
                                                                const char *format, ...);
/* The number in the field, or -1. */
#define pg_schema_number(...) pg_schema_to_number(pg_schema_ask(__VA_ARGS__))
long pg_schema_to_number(const char *text);

#endif
