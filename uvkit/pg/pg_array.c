/* Writes array_recv()'s format: five numbers, then each element with its length before it. */
#include "pg_array.h"

#include "uuid.h"

#include <arpa/inet.h>
#include <endian.h>
#include <string.h>

bool pg_array_begin(struct buffer *array, enum pg_element type, unsigned count) {
    const uint32_t head[] = {htonl(count > 0 ? 1 : 0),             /* dimensions */
                             0,                                    /* no NULL */
                             htonl(type), htonl(count), htonl(1)}; /* the first index */

    return buffer_append(array, (const char *)head, count > 0 ? sizeof head : 3 * sizeof(uint32_t));
}

static bool pg_array_element(struct buffer *array, const void *bytes, size_t length) {
    const uint32_t size = htonl((uint32_t)length);

    return buffer_append(array, (const char *)&size, sizeof size) &&
           buffer_append(array, bytes, length);
}

bool pg_array_int8(struct buffer *array, int64_t value) {
    const uint64_t bytes = htobe64((uint64_t)value);

    return pg_array_element(array, &bytes, sizeof bytes);
}

bool pg_array_text(struct buffer *array, const char *text) {
    return pg_array_element(array, text, strlen(text));
}

bool pg_array_uuid(struct buffer *array, const char *uuid) {
    uint8_t bytes[UUID_BYTES];

    uuid_bytes(uuid, bytes);
    return pg_array_element(array, bytes, sizeof bytes);
}
