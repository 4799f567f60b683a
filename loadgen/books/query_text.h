/* A query of the ledger with its values. A value comes from the shop, so it never becomes a part of
 * the query's own text. */
#ifndef LOADGEN_QUERY_TEXT_H
#define LOADGEN_QUERY_TEXT_H

#include "buffer.h"
#include "shop.h"
#include "values.h"
#include "why.h"

#include <stdbool.h>

#define QUERY_NAMES_MAX 16

/* For SQL with parameters: $1, $2, ... stand in place of the names; a NUL follows the text. `names`
 * gets the name of each parameter. Returns their number; or -1 with the reason. */
__attribute__((warn_unused_result)) int query_text_number(const struct shop_text *query,
                                                          struct buffer *sql,
                                                          const char *names[QUERY_NAMES_MAX],
                                                          struct why *why);
/* The same with constants in place of the names: `constants` has them as SQL, in the order of the
 * text. 0; or -1 with the reason. */
__attribute__((warn_unused_result)) int query_text_quote(const struct shop_text *query,
                                                         struct buffer *sql,
                                                         const char *const *constants,
                                                         struct why *why);

/* Whether a value consists of letters, digits and _ . : @ + = / - alone, and begins no comment: then
 * it has no effect on SQL or a shell. */
bool query_text_is_harmless(const char *value);

/* For the input of a command: each value of the shop must be harmless. 0; or -1 with the reason. */
__attribute__((warn_unused_result)) int query_text_fill(const struct shop_text *query,
                                                        const struct values *values,
                                                        struct buffer *to, struct why *why);

#endif
