/* Bytes that grow, and shrink again when they rest. */
#include "http_server_internal.h"

#include <stdlib.h>
#include <string.h>

#define LEAST 512
#define KEPT  1024 /* an idle connection holds four of these at most */

bool http_buffer_append(struct http_buffer *buffer, const char *bytes, size_t length) {
    size_t capacity = buffer->capacity == 0 ? LEAST : buffer->capacity;
    char *larger;

    while (capacity - buffer->length < length)
        capacity *= 2;
    if (capacity != buffer->capacity) {
        larger = realloc(buffer->bytes, capacity);
        if (larger == NULL)
            return false;
        buffer->bytes = larger;
        buffer->capacity = capacity;
    }
    if (length > 0)
        memcpy(buffer->bytes + buffer->length, bytes, length);
    buffer->length += length;
    return true;
}

void http_buffer_free(struct http_buffer *buffer) {
    free(buffer->bytes);
    *buffer = (struct http_buffer){0};
}

void http_buffer_reset(struct http_buffer *buffer) {
    buffer->length = 0;
    if (buffer->capacity > KEPT)
        http_buffer_free(buffer);
}

void http_buffer_drop_front(struct http_buffer *buffer, size_t length) {
    if (length == buffer->length) {
        http_buffer_free(buffer);
    } else if (length > 0) {
        buffer->length -= length;
        memmove(buffer->bytes, buffer->bytes + length, buffer->length);
    }
}
