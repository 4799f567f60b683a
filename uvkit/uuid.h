/* UUIDs as text: version 7 made here, any version read. */
#ifndef UVKIT_UUID_H
#define UVKIT_UUID_H

#include <stdint.h>

#define UUID_TEXT  37 /* 8-4-4-4-12 hex digits, dashes and the NUL */
#define UUID_BYTES 16

/* Make a UUID of version 7 (RFC 9562): milliseconds of the wall clock, then 74 random bits. */
void uuid_v7(char out[UUID_TEXT]);

/* Read exactly 8-4-4-4-12 hex digits, in either case, any version, into lower case. 0. Or -1 for
 * any other `text`, also NULL; then `out` is "". `out` may be `text`. */
__attribute__((warn_unused_result)) int uuid_parse(const char *text, char out[UUID_TEXT]);
/* The same for 36 characters; they need no NUL. */
__attribute__((warn_unused_result)) int uuid_read(const char *text, char out[UUID_TEXT]);
/* The bytes of a UUID that one of these functions wrote. */
void uuid_bytes(const char text[UUID_TEXT], uint8_t out[UUID_BYTES]);

#endif
