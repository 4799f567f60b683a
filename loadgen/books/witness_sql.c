/* See witness_sql.h. */
#include "witness_sql.h"

#include <stdio.h>

/* A shop's transaction that has locked its table for longer makes begin and drop try again. */
#define LOCK_TIMEOUT "SELECT set_config('lock_timeout', '500ms', true);\n"

/* The lock of a schema's name, held by the session of its run. */
#define NAME_LOCK "(1819308903, hashtext("

#define KEY(row)                                                                                   \
    "coalesce((SELECT string_agg(format('" row ".%I', a.attname), ', ' ORDER BY a.attnum)"         \
    " FROM pg_index i JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = ANY(i.indkey)" \
    " WHERE i.indrelid = c.oid AND i.indisprimary), '')"

const struct pg_statement witness_look = {
    "witness_look",
    "SELECT format('%I.%I', n.nspname, c.relname), quote_ident(c.relname), " KEY("OLD") ", " KEY(
        "NEW") ", c.relkind IN ('r', 'p'), has_database_privilege(current_database(), 'CREATE'),"
               " has_table_privilege(c.oid, 'TRIGGER'), pg_has_role(c.relowner, 'USAGE'),"
               " quote_ident(current_user), quote_ident(current_database())"
               " FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace"
               " WHERE c.oid = to_regclass($1)",
    1};

#define Q(n) "quote_literal($" #n "::text)"
const struct pg_statement witness_quote = {
    "witness_quote",
    "SELECT " Q(1) ", " Q(2) ", " Q(3) ", " Q(4) ", " Q(5) ", " Q(6) ", " Q(7) ", " Q(8) ", " Q(
        9) ", " Q(10) ", " Q(11) ", " Q(12) ", " Q(13) ", " Q(14) ", " Q(15) ", " Q(16),
    16};
#undef Q

const struct pg_statement witness_others = {"witness_others",
                                            "SELECT nspname, pg_try_advisory_lock" NAME_LOCK
                                            "nspname)) AS is_free FROM pg_namespace"
                                            " WHERE nspname ~ '^loadgen_witness_[0-9a-f]{32}$'",
                                            0};
const struct pg_statement witness_lock = {"witness_lock",
                                          "SELECT pg_try_advisory_lock" NAME_LOCK "$1))", 1};
const struct pg_statement witness_unlock = {"witness_unlock",
                                            "SELECT pg_advisory_unlock" NAME_LOCK "$1))", 1};

static bool append_all(struct buffer *sql, const char *const *texts) {
    for (; *texts != NULL; texts++)
        if (!buffer_append_text(sql, *texts))
            return false;
    return buffer_append(sql, "", 1);
}
#define APPEND(sql, ...) append_all((sql), (const char *const[]){__VA_ARGS__, NULL})

/* An expression stands in lines of its own: it may end with a comment. */
#define SEE(row, was, number)                                                                      \
    "      SELECT (\n", left, "\n)::numeric INTO " number " FROM (SELECT " row ".*) AS ", alias,   \
        " WHERE (\n", rows, "\n);\n      " was " := FOUND;\n"

/* The expressions run in a block of their own, so their failure is no failure of the shop's write.
 * The block writes nothing, so it costs no transaction id. A NULL becomes NaN, which is no count.
 *
 * A write of the shop locks its table, and then the table of the witness; the drop follows that
 * order, too. With ALWAYS the trigger also sees sessions that replicate. */
bool witness_sql_begin(struct buffer *sql, const char *name, const struct pg_query *look,
                       const char *rows, const char *left) {
    const char *table = pg_text(look, 0, LOOK_TABLE), *alias = pg_text(look, 0, LOOK_ALIAS);
    const char *key = pg_text(look, 0, LOOK_KEY), *new_key = pg_text(look, 0, LOOK_NEW_KEY);
    const bool is_owner = pg_text(look, 0, LOOK_IS_OWNER)[0] == 't';

    return APPEND(
        sql, LOCK_TIMEOUT,
        "SELECT set_config('search_path', concat_ws(', ', nullif(current_setting('search_path'),"
        " ''), 'pg_temp'), true);\nSELECT pg_advisory_lock" NAME_LOCK "'",
        name, "'));\nCREATE SCHEMA ", name, ";\nCREATE UNLOGGED TABLE ", name,
        ".write (seq bigserial, at timestamptz, tx bigint, row_name text, found numeric,"
        " \"left\" numeric, problem text);\nCREATE FUNCTION ",
        name,
        ".note() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT"
        " AS $",
        name,
        "$\n#variable_conflict use_column\nDECLARE\n  loadgen_found numeric;\n"
        "  loadgen_left numeric;\n  loadgen_was boolean := false;\n"
        "  loadgen_is boolean := false;\n  loadgen_problem text;\nBEGIN\n  BEGIN\n"
        "    IF TG_OP <> 'INSERT' THEN\n",
        SEE("OLD", "loadgen_was", "loadgen_found"), "    END IF;\n    IF TG_OP <> 'DELETE' THEN\n",
        SEE("NEW", "loadgen_is", "loadgen_left"),
        "    END IF;\n  EXCEPTION WHEN OTHERS THEN\n    loadgen_problem := SQLERRM;\n  END;\n"
        "  IF loadgen_was OR loadgen_is OR loadgen_problem IS NOT NULL THEN\n    INSERT INTO ",
        name,
        ".write (at, tx, row_name, found, \"left\", problem) VALUES (clock_timestamp(),"
        " txid_current(), CASE WHEN TG_OP = 'INSERT' THEN concat_ws(','",
        *new_key != '\0' ? ", " : "", new_key, ") ELSE concat_ws(','", *key != '\0' ? ", " : "",
        key,
        ") END, CASE WHEN loadgen_was THEN coalesce(loadgen_found, 'NaN') END,"
        " CASE WHEN loadgen_is THEN coalesce(loadgen_left, 'NaN') END, loadgen_problem);\n"
        "  END IF;\n  RETURN NULL;\nEND $",
        name, "$;\nCREATE TRIGGER ", name, " AFTER INSERT OR UPDATE OR DELETE ON ", table,
        " FOR EACH ROW EXECUTE FUNCTION ", name, ".note();\n", is_owner ? "ALTER TABLE " : "",
        is_owner ? table : "", is_owner ? " ENABLE ALWAYS TRIGGER " : "", is_owner ? name : "");
}

bool witness_sql_count(struct buffer *sql, const struct pg_query *look, const char *rows,
                       const char *left) {
    return APPEND(sql, "SELECT count(*), coalesce(sum(n), 0), count(*) - count(n) FROM (SELECT (\n",
                  left, "\n)::numeric AS n FROM ", pg_text(look, 0, LOOK_TABLE), " AS ",
                  pg_text(look, 0, LOOK_ALIAS), " WHERE (\n", rows, "\n)) AS loadgen_rows");
}

bool witness_sql_read(struct buffer *sql, const char *name) {
    return APPEND(
        sql,
        "SELECT seq, CASE WHEN octet_length(row_name) < 64 THEN row_name ELSE md5(row_name) END,"
        " tx, to_char(at AT TIME ZONE 'UTC',"
        " 'YYYY-MM-DD\"T\"HH24:MI:SS.US\"Z\"'), found, \"left\", problem FROM ",
        name, ".write ORDER BY seq");
}

/* The function first: that locks the shop's table, as a write of the shop does first. */
bool witness_sql_drop(struct buffer *sql, const char *name) {
    return APPEND(sql, LOCK_TIMEOUT "DROP FUNCTION IF EXISTS ", name, ".note() CASCADE;\n",
                  "DROP SCHEMA IF EXISTS ", name, " CASCADE");
}
