/* A growing array of bytes, which shrinks again when it is reset. */
#include "buffer.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define LEAST 512
#define KEPT  1024 /* an idle connection of the HTTP server holds four of these at most */

bool buffer_append(struct buffer *buffer, const char *bytes, size_t length) {
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

bool buffer_append_text(struct buffer *buffer, const char *text) {
    return buffer_append(buffer, text, strlen(text));
}

void buffer_free(struct buffer *buffer) {
    free(buffer->bytes);
    *buffer = (struct buffer){0};
}

void buffer_reset(struct buffer *buffer) {
    buffer->length = 0;
    if (buffer->capacity > KEPT)
        buffer_free(buffer);
}

void buffer_drop_front(struct buffer *buffer, size_t length) {
    assert(length <= buffer->length);
    if (length == buffer->length) {
        buffer_free(buffer);
    } else if (length > 0) {
        buffer->length -= length;
        memmove(buffer->bytes, buffer->bytes + length, buffer->length);
    }
}
