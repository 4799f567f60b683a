/* The only way to JSON from bytes of any writer. jansson parses by recursion, down to 2,048 levels,
 * and a fiber's stack is small. So this bounds the nesting first. */
#ifndef UVKIT_JSON_READ_H
#define UVKIT_JSON_READ_H

#include <jansson.h>
#include <stddef.h>

#define JSON_READ_DEPTH 32

/* A new reference, in which each string is one printable line (utf8.h). Or NULL, and `error`,
 * unless NULL, tells the reason and the place: not JSON, a key given twice, or nested too deeply.
 */
__attribute__((warn_unused_result)) json_t *json_read(const char *bytes, size_t length,
                                                      json_error_t *error);
/* The same, with unchanged strings. */
__attribute__((warn_unused_result)) json_t *json_read_as_is(const char *bytes, size_t length,
                                                            json_error_t *error);
/* The same for a single string. */
__attribute__((warn_unused_result)) json_t *json_read_string(const char *bytes, size_t length);
/* Like json_read() for all of a file. The line is -1 when the file cannot be read. */
__attribute__((warn_unused_result)) json_t *json_read_file(const char *path, json_error_t *error);

#endif
