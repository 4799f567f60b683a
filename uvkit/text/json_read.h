/* The one way to JSON from bytes, whoever wrote them. jansson parses by recursion, down to 2,048
 * levels, and a fiber's stack is small: so the nesting is bounded before. */
#ifndef UVKIT_JSON_READ_H
#define UVKIT_JSON_READ_H

#include <jansson.h>
#include <stddef.h>

#define JSON_READ_DEPTH 32

/* A new reference, in which each string is one printable line (utf8.h); or NULL, and `error`,
 * unless NULL, says why and where: not JSON, a key given twice, or nested too deeply. */
__attribute__((warn_unused_result)) json_t *json_read(const char *bytes, size_t length,
                                                      json_error_t *error);
/* The same, with the strings as they are. */
__attribute__((warn_unused_result)) json_t *json_read_as_is(const char *bytes, size_t length,
                                                            json_error_t *error);
/* Likewise, of a string alone. */
__attribute__((warn_unused_result)) json_t *json_read_string(const char *bytes, size_t length);
/* As json_read() does, all that a file has; the line is -1 when it cannot be read. */
__attribute__((warn_unused_result)) json_t *json_read_file(const char *path, json_error_t *error);

#endif
