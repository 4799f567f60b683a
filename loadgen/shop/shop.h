/* A shop file: how to buy in a shop that somebody else wrote, how to read its replies, and where it
 * keeps its orders. docs/shop-file.md is the format. This room turns the text into `struct shop`;
 * it opens no connection and runs no command.
 *
 * Everything that a struct shop points to lives until shop_free(). Nothing changes after
 * shop_read(). Texts are UTF-8 without control characters other than tab and line feed. */
#ifndef LOADGEN_SHOP_H
#define LOADGEN_SHOP_H

#include "why.h"

#include <stdbool.h>
#include <stddef.h>

#define SHOP_FILE_BYTES (256 * 1024) /* a larger file is refused */
#define SHOP_ITEMS      64           /* at most: steps of a section, headers of a step, ... */
#define SHOP_NAME_BYTES 64           /* of {{name}}, at most */
#define SHOP_NESTING    64           /* of a JSON body, at most */

/* ---- texts with {{name}} in them */

/* The kinds of text parts. */
enum shop_part_kind {
    SHOP_LITERAL,      /* `text` itself */
    SHOP_NAME,         /* the value of the name `text` itself */
    SHOP_NAME_IN_JSON, /* the value of the name `text`, escaped for the inside of a JSON string */
    SHOP_NAME_IN_GRAPHQL, /* for a string of GraphQL, which stands inside a JSON string */
};

struct shop_part {
    enum shop_part_kind kind;
    const char *text; /* NUL-terminated */
    size_t length;
};

/* To fill it, append its parts in turn. Zero parts are the empty text. Each name is one that has a
 * value at this place (see struct shop_value). A value comes from the shop, so it may have any
 * bytes: refuse a line break in a header or a URL. */
struct shop_text {
    struct shop_part *parts;
    size_t count;
};

/* ---- names and their values
 *
 * Always there: `stock` (units of the product) and `run` (a text that differs in each round); for a
 * customer also `n` (1, 2, ...) and `key` (a UUID). The others are those of the file, and captures.
 * Captures of `setup` have a value in all later sections, captures of `prepare` and `order` for the
 * same customer. A later capture of the same name replaces the value. */
enum shop_value_kind {
    SHOP_SET, /* `text` */
    SHOP_ENV, /* the environment's variable `name`; a secret: never print it */
    SHOP_RUN, /* once a round: what the shell command `text` prints, without the last line feed */
};

struct shop_value {
    enum shop_value_kind kind;
    const char *name;
    struct shop_text text; /* uses only values that stand before it */
    int line;
};

/* ---- questions to a reply */

#define SHOP_QUERIES(X)                                                                            \
    X(STATUS, "status")     /* a number */                                                         \
    X(BODY, "body")         /* the whole body, a text */                                           \
    X(HEADER, "header")     /* the first header of that name; names without case */                \
    X(COOKIE, "cookie")     /* what the customer's cookie of that name has now */                  \
    X(JSONPATH, "jsonpath") /* of a JSON body: $.a.b[0].c */                                       \
    X(JQ, "jq")             /* of a JSON body: the first result of a jq program */                 \
    X(REGEX, "regex")       /* of the body: the first group */

enum shop_query_kind {
#define X(id, name) SHOP_QUERY_##id,
    SHOP_QUERIES(X)
#undef X
};

struct shop_query {
    enum shop_query_kind kind;
    struct shop_text argument; /* empty for STATUS and BODY; a literal for JQ, JSONPATH and REGEX */
};

#define SHOP_PREDICATES(X)                                                                         \
    X(EQUAL, "==")                                                                                 \
    X(NOT_EQUAL, "!=")                                                                             \
    X(LESS, "<")                                                                                   \
    X(LESS_OR_EQUAL, "<=")                                                                         \
    X(GREATER, ">")                                                                                \
    X(GREATER_OR_EQUAL, ">=")                                                                      \
    X(CONTAINS, "contains")                                                                        \
    X(STARTS_WITH, "startsWith")                                                                   \
    X(ENDS_WITH, "endsWith")                                                                       \
    X(MATCHES, "matches")                                                                          \
    X(EXISTS, "exists")                                                                            \
    X(IS_EMPTY, "isEmpty")

enum shop_predicate_kind {
#define X(id, name) SHOP_##id,
    SHOP_PREDICATES(X)
#undef X
};

/* What the result of a query is compared with. */
enum shop_operand_kind {
    SHOP_NO_OPERAND, /* of EXISTS and IS_EMPTY */
    SHOP_TEXT,       /* a text. With MATCHES: a regular expression, a literal */
    SHOP_NUMBER,     /* `text` has its digits in the file's spelling: 10 or -0.5 */
    SHOP_TRUE,
    SHOP_FALSE,
    SHOP_NULL,
    SHOP_VALUE, /* {{name}} without quotes: equal as a text, or as a number if both are numbers */
};

struct shop_predicate {
    enum shop_predicate_kind kind;
    bool is_negated; /* `not` stands before it */
    enum shop_operand_kind operand;
    struct shop_text text;
};

/* ---- steps */

struct shop_field { /* of a header, a form, or a URL's query; form and query: not yet encoded */
    struct shop_text name, value;
};

struct shop_fields {
    struct shop_field *items;
    size_t count;
};

struct shop_capture {
    const char *name;
    struct shop_query query;
    bool is_secret; /* `redact` stands behind it: never print its value */
    int line;
};

struct shop_assert {
    struct shop_query query;
    struct shop_predicate predicate;
    int line;
};

enum shop_body_kind { SHOP_NO_BODY, SHOP_BODY_TEXT, SHOP_BODY_FORM };

#define SHOP_ANY_STATUS 0

/* A request, and the conditions of its reply. */
struct shop_step {
    const char *method;
    struct shop_text
        url; /* "/path" on the customer's base, or "http://..."; begins with one of these
                             or with a value */
    struct shop_fields headers, query;
    enum shop_body_kind body_kind;
    struct shop_text body;    /* of SHOP_BODY_TEXT: bytes to send */
    struct shop_fields form;  /* of SHOP_BODY_FORM */
    const char *content_type; /* to send unless `headers` has one; NULL for none */
    int status;               /* what it must be, or SHOP_ANY_STATUS */
    struct shop_capture *captures;
    size_t capture_count;
    struct shop_assert *asserts;
    size_t assert_count;
    bool
        is_commit_mark; /* from the sending of this step on, it is not certain that nothing was sold.
                            Exactly one step of `order` has it: the first of `commit`, else its first */
    int line;
};

struct shop_steps {
    struct shop_step *items;
    size_t count;
};

/* ---- how an order ended, and where the orders are */

#define SHOP_OUTCOMES(X)                                                                           \
    X(SOLD, "sold")                                                                                \
    X(SOLD_OUT, "soldout")                                                                         \
    X(BUSY, "busy")                                                                                \
    X(REFUSED, "refused")

enum shop_outcome_word {
#define X(id, name) SHOP_##id,
    SHOP_OUTCOMES(X)
#undef X
};

/* Asked after each step of `order`, in turn; the first rule that holds ends the order. */
struct shop_outcome {
    enum shop_outcome_word word;
    struct shop_query query;
    struct shop_predicate predicate;
    int line;
};

enum shop_ledger_kind {
    SHOP_LEDGER_POSTGRES, /* `target` is a conninfo or a URI of libpq; queries are SQL */
    SHOP_LEDGER_COMMAND,  /* `target` is a shell command; it reads a query on its standard input */
};

/* The count of a product, for a trigger of --witness. Only in a ledger of Postgres. */
struct shop_witness {
    struct shop_text table; /* its name, as in SQL; empty if the file has no witness */
    struct shop_text rows;  /* a condition of SQL: the rows of the product */
    struct shop_text left;  /* an expression of SQL: the units that such a row has left */
    int line;
};

struct shop_ledger {
    enum shop_ledger_kind kind;
    struct shop_text target; /* uses only SHOP_SET and SHOP_ENV */
    struct shop_text orders, stock;
    struct shop_text writes; /* empty if the file has none */
    struct shop_witness witness;
    int line;
};

/* ---- the file */

enum shop_section { SHOP_SETUP, SHOP_PREPARE, SHOP_ORDER, SHOP_TEARDOWN };
#define SHOP_SECTIONS (SHOP_TEARDOWN + 1)

struct shop_memory; /* holds everything that the shop points to */

struct shop {
    const char *path; /* as given to shop_read() */
    const char *name;
    struct shop_text *bases; /* URLs without a slash at the end; uses only SHOP_SET and SHOP_ENV */
    size_t base_count;       /* at least 1 */
    struct shop_text version, config; /* one line each, for reports; no parts: the file has none.
                                         They may use each of `values`, and `stock` and `run` */
    struct shop_value *values;
    size_t value_count;
    struct shop_steps sections[SHOP_SECTIONS]; /* ORDER has at least one step */
    struct shop_outcome *outcomes;             /* at least one is SOLD */
    size_t outcome_count;
    struct shop_ledger ledger;
    struct shop_memory *memory;
};

/* Reads a file. 0; or -1 with a reason such as `a.shop:12:5: expected ...` in `why`, and then there
 * is nothing to free. Lines and columns begin with 1; a column is a character, not a byte. */
__attribute__((warn_unused_result)) int shop_read(struct shop *shop, const char *path,
                                                  struct why *why);
/* The same with a text of `length` bytes; `path` names it in errors. */
__attribute__((warn_unused_result)) int shop_parse(struct shop *shop, const char *path,
                                                   const char *text, size_t length,
                                                   struct why *why);
void shop_free(struct shop *shop);

#endif
