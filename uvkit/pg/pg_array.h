/* A one-dimensional array as a parameter in binary format: the server copies it, where it would
 * parse text. */
#ifndef UVKIT_PG_ARRAY_H
#define UVKIT_PG_ARRAY_H

#include "buffer.h"

#include <stdint.h>

/* The OIDs of pg_type, which never change. */
enum pg_element { PG_INT8 = 20, PG_TEXT = 25, PG_UUID = 2950 };

/* Append the head of an array of `count` elements. They follow, each by one call for its type. All
 * return false without memory. */
__attribute__((warn_unused_result)) bool pg_array_begin(struct buffer *array, enum pg_element type,
                                                        unsigned count);
__attribute__((warn_unused_result)) bool pg_array_int8(struct buffer *array, int64_t value);
__attribute__((warn_unused_result)) bool pg_array_text(struct buffer *array, const char *text);
/* `uuid` is text of UUID_TEXT bytes, as uuid.h makes it. */
__attribute__((warn_unused_result)) bool pg_array_uuid(struct buffer *array, const char *uuid);

#endif
