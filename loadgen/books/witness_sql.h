/* The SQL of the witness: its trigger with the expressions of a shop file, and its questions. */
#ifndef LOADGEN_WITNESS_SQL_H
#define LOADGEN_WITNESS_SQL_H

#include "buffer.h"
#include "pg.h"
#include "shop.h"

#define WITNESS_NAME 64

/* $1 is `table`. No row: there is no such table. */
extern const struct pg_statement witness_look;
enum witness_look_columns {
    LOOK_TABLE, /* with its schema, quoted */
    LOOK_ALIAS, /* without, quoted */
    LOOK_KEY,   /* expressions of the row's name over OLD and over NEW; '' without a primary key */
    LOOK_NEW_KEY,
    LOOK_IS_TABLE,
    LOOK_MAY_CREATE,
    LOOK_MAY_TRIGGER,
    LOOK_IS_OWNER,
    LOOK_ROLE, /* quoted, like LOOK_DATABASE */
    LOOK_DATABASE,
};
/* Each value as a constant of SQL; NULL for NULL. */
extern const struct pg_statement witness_quote;
/* The schemas of all witnesses. `is_free`: its run is gone, and this session has the lock of its
 * name now. */
extern const struct pg_statement witness_others;
/* $1 is a schema's name. */
extern const struct pg_statement witness_lock, witness_unlock;

/* Each appends a text with its NUL to the empty `sql`. False without memory.
 *
 * `name` is that of the schema. `rows` and `left` are expressions with constants in place of their
 * names. `look` is the answer to witness_look. */
bool witness_sql_begin(struct buffer *sql, const char *name, const struct pg_query *look,
                       const char *rows, const char *left);
/* How many rows there are; the sum of their numbers; how many of these are NULL. */
bool witness_sql_count(struct buffer *sql, const struct pg_query *look, const char *rows,
                       const char *left);
/* The columns of witness_read_columns. A write of a row that another write has made, or that is not
 * there afterwards, has an empty `found` or `left`. */
bool witness_sql_read(struct buffer *sql, const char *name);
enum witness_read_columns { READ_SEQ, READ_ROW, READ_TX, READ_AT, READ_FOUND, READ_LEFT, READ_WHY };
bool witness_sql_drop(struct buffer *sql, const char *name);

#endif
