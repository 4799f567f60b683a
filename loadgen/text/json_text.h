/* JSON of text that may come from anywhere: what is no UTF-8 becomes U+FFFD, the replacement
 * character, instead of an error. And JSON that is all there, or NULL. */
#ifndef LOADGEN_JSON_TEXT_H
#define LOADGEN_JSON_TEXT_H

#include <jansson.h>
#include <stddef.h>

/* A string, a new reference, or NULL without memory. */
__attribute__((warn_unused_result)) json_t *json_text(const char *text);

/* Milliseconds with three decimals. */
json_t *json_ms(double ns);

/* Add `one` (stolen; NULL without memory) to an array or an object. Without memory `*json` is freed
 * and becomes NULL: so a part that is missing is one that fails all in which it is packed. */
void json_text_append(json_t **array, json_t *one);
void json_text_set(json_t **object, const char *key, json_t *one);

/* The most bytes that json_text_quote() writes for `length` bytes. */
#define JSON_TEXT_ROOM(length) (6 * (length) + 2)
/* Write `text` as a JSON string, with its quotes and no NUL; returns where it ends. */
char *json_text_quote(char *to, const char *text);

#endif
