/* A growing array of bytes. Zeroed, it is empty. Pointers into it hold until the next append. */
#ifndef UVKIT_BUFFER_H
#define UVKIT_BUFFER_H

#include <stdbool.h>
#include <stddef.h>

struct buffer {
    char *bytes;
    size_t length, capacity;
};

/* False without memory; then nothing was appended. */
__attribute__((warn_unused_result)) bool buffer_append(struct buffer *buffer, const char *bytes,
                                                       size_t length);
/* The same with a string, without its NUL. */
__attribute__((warn_unused_result)) bool buffer_append_text(struct buffer *buffer,
                                                            const char *text);
/* Empty it. A large buffer gives its memory back, so an idle one is small. */
void buffer_reset(struct buffer *buffer);
void buffer_drop_front(struct buffer *buffer, size_t length);
void buffer_free(struct buffer *buffer);

#endif
