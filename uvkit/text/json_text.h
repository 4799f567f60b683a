/* JSON made of text from any source: a byte that is not UTF-8 becomes U+FFFD, the replacement
 * character, instead of an error. And JSON that is complete, or NULL. */
#ifndef UVKIT_JSON_TEXT_H
#define UVKIT_JSON_TEXT_H

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* A string, a new reference, or NULL without memory. */
__attribute__((warn_unused_result)) json_t *json_text(const char *text);

/* Milliseconds with three decimals. */
json_t *json_ms(double ns);

/* Add `one` (stolen; NULL without memory) to an array or an object. Without memory `*json` is freed
 * and becomes NULL, so a missing part makes everything that contains it fail. */
void json_text_append(json_t **array, json_t *one);
void json_text_set(json_t **object, const char *key, json_t *one);

struct json_member {
    const char *key;
    json_t *value;
};
/* An object of members {key, value}, in their order. The values are stolen. When one of them is
 * NULL, without memory, the object is NULL, too. */
#define JSON_TEXT_OBJECT(...)                                                                      \
    json_text_object((const struct json_member[]){__VA_ARGS__, {NULL, NULL}})
__attribute__((warn_unused_result)) json_t *json_text_object(const struct json_member *members);

/* An array of `count` texts that stand `size` bytes apart; NULL without memory. */
__attribute__((warn_unused_result)) json_t *json_text_array(const char *first, size_t size,
                                                            size_t count);
/* The text of iso_time(). */
__attribute__((warn_unused_result)) json_t *json_text_time(int64_t us);

/* Print it for programs and people, and free it (NULL: memory was short). 0; or -1 with errno when
 * it could not be written. */
__attribute__((warn_unused_result)) int json_text_print(json_t *json, FILE *to);

#endif
