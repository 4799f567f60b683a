/* Copies a text into an array and cuts it to fit, like snprintf(..., "%s", ...), for a hot path. */
#ifndef UVKIT_TEXT_COPY_H
#define UVKIT_TEXT_COPY_H

#include <assert.h>
#include <stddef.h>
#include <string.h>

/* `to` has `size` > 0 bytes, and does not overlap `from`. */
static inline void text_copy(char *to, size_t size, const char *from) {
    const size_t length = strnlen(from, size - 1);

    assert(size > 0);
    memcpy(to, from, length);
    to[length] = '\0';
}

#endif
