/* Bytes that grow; zeroed is empty. Pointers into it hold until the next append. */
#ifndef UVKIT_BUFFER_H
#define UVKIT_BUFFER_H

#include <stdbool.h>
#include <stddef.h>

struct buffer {
    char *bytes;
    size_t length, capacity;
};

/* False without memory, and then nothing was appended. */
__attribute__((warn_unused_result)) bool buffer_append(struct buffer *buffer, const char *bytes,
                                                       size_t length);
/* The same with all of a string but its NUL. */
__attribute__((warn_unused_result)) bool buffer_append_text(struct buffer *buffer,
                                                            const char *text);
/* Empty it; a large one gives its memory back, so that what rests is small. */
void buffer_reset(struct buffer *buffer);
void buffer_drop_front(struct buffer *buffer, size_t length);
void buffer_free(struct buffer *buffer);

#endif
