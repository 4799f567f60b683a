/* The part of a reply that a query finds, and whether a predicate holds for it. */
#ifndef LOADGEN_REPLY_VALUE_H
#define LOADGEN_REPLY_VALUE_H

#include "buffer.h"
#include "jq_program.h"
#include "shop.h"
#include "values.h"
#include "web_client.h"

#include <jansson.h>

/* A reply of a customer's request. */
struct reply_view {
    const struct web_request *request;
    struct web_visitor *visitor;
    const struct values *values;
    json_t
        *json; /* the body; or NULL: it is neither an object nor an array of JSON (json_read.h) */
};

struct reply_value {
    enum jq_result kind;
    struct buffer text; /* a text as it is, all else as JSON; a NUL follows it */
};

/* Finds the value of a query in a reply; `program` is that of a query JQ or REGEX, else NULL. The
 * caller frees `value->text`. False without memory. */
__attribute__((warn_unused_result)) bool reply_value_find(const struct reply_view *reply,
                                                          const struct shop_query *query,
                                                          struct jq_program *program,
                                                          struct reply_value *value);

/* Whether the predicate holds; `program` is that of MATCHES, else NULL. For NOTHING only `not
 * exists` holds. Predicates such as < need two numbers, those such as `contains` a text. Without
 * memory, or if its text has a name without a value, it does not hold. */
bool reply_value_meets(const struct reply_value *value, const struct shop_predicate *predicate,
                       struct jq_program *program, const struct values *values);

#endif
