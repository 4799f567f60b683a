/* The memory of a struct shop: pieces that are freed together. */
#ifndef LOADGEN_SHOP_MEMORY_H
#define LOADGEN_SHOP_MEMORY_H

#include <stddef.h>

struct shop_memory;

/* NULL without memory. */
struct shop_memory *memory_new(void);
void memory_free(struct shop_memory *memory);

/* A zeroed piece, aligned for any type; NULL without memory. */
void *memory_take(struct shop_memory *memory, size_t bytes);
/* A copy of a text, with a NUL; NULL without memory. */
char *memory_copy(struct shop_memory *memory, const char *text, size_t length);
/* An array that has the `count` items of `items`, and room for one more, zeroed. It is `items`
 * itself if that has room. NULL without memory. Start with NULL and 0. */
void *memory_grow(struct shop_memory *memory, void *items, size_t count, size_t item_bytes);

#endif
