/* Names and their values, and the texts that they fill. A customer's values stand before those of
 * the round. */
#ifndef LOADGEN_VALUES_H
#define LOADGEN_VALUES_H

#include "buffer.h"
#include "shop.h"
#include "why.h"

#define VALUE_BYTES (64 * 1024) /* of a value, at most */

struct value {
    const char *name; /* of the shop file, or a constant */
    char *text;
    bool is_secret;
};

/* Zeroed, it is empty. */
struct values {
    const struct values *above; /* the values of the round; or NULL */
    struct value *items;
    size_t count;
};

/* Copies the text; `name` must live as long as the values. 0; or -1 without memory. */
__attribute__((warn_unused_result)) int values_set(struct values *values, const char *name,
                                                   const char *text, size_t length, bool is_secret);
/* NULL if the name has no value. */
const char *values_get(const struct values *values, const char *name);
void values_free(struct values *values);

/* How a text is written to its place. */
enum fill {
    FILL_AS_IS,
    FILL_HEADER, /* refuses control characters, which could begin another header */
    FILL_URL,    /* values keep / ? # & = % and so on; bytes that no URL has become %XX */
    FILL_FIELD,  /* all of it is a name or a value of a form or a query: %XX, + for a space */
};

/* Appends the text with its values. 0; or -1 with the reason. */
__attribute__((warn_unused_result)) int values_fill(const struct values *values,
                                                    const struct shop_text *text, enum fill fill,
                                                    struct buffer *to, struct why *why);

/* Appends `bytes` and a NUL behind them, with *** in place of each secret, also where the secret is
 * escaped for JSON or for a URL, and with ? in place of each NUL. Stops when `to` has `most` bytes;
 * `length` gets how many it has read. No part of a secret is left. `values` may be NULL. False
 * without memory. */
__attribute__((warn_unused_result)) bool values_mask(const struct values *values, const char *bytes,
                                                     size_t *length, size_t most,
                                                     struct buffer *to);

/* The same bytes as one printable line. The caller frees it. NULL without memory. */
__attribute__((warn_unused_result)) char *values_show(const struct values *values,
                                                      const char *bytes, size_t length,
                                                      size_t most);
/* The same for a reason, in its place. */
void values_show_why(const struct values *values, struct why *why);

#endif
