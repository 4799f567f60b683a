/* See memory.h. */
#include "memory.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#define BLOCK_BYTES (size_t)(8 * 1024)

struct block {
    SLIST_ENTRY(block) next;
    size_t used, size;
    _Alignas(max_align_t) char bytes[];
};

struct shop_memory {
    SLIST_HEAD(, block) blocks;
};

struct shop_memory *memory_new(void) {
    return calloc(1, sizeof(struct shop_memory));
}

void memory_free(struct shop_memory *memory) {
    while (memory != NULL && !SLIST_EMPTY(&memory->blocks)) {
        struct block *block = SLIST_FIRST(&memory->blocks);

        SLIST_REMOVE_HEAD(&memory->blocks, next);
        free(block);
    }
    free(memory);
}

void *memory_take(struct shop_memory *memory, size_t bytes) {
    const size_t rounded = (bytes + sizeof(max_align_t) - 1) & ~(sizeof(max_align_t) - 1);
    struct block *block = SLIST_FIRST(&memory->blocks);

    if (block == NULL || block->size - block->used < rounded) {
        const size_t size = rounded > BLOCK_BYTES ? rounded : BLOCK_BYTES;

        block = calloc(1, sizeof *block + size);
        if (block == NULL)
            return NULL;
        block->size = size;
        SLIST_INSERT_HEAD(&memory->blocks, block, next);
    }
    block->used += rounded;
    return block->bytes + block->used - rounded;
}

char *memory_copy(struct shop_memory *memory, const char *text, size_t length) {
    char *copy = memory_take(memory, length + 1);

    if (copy != NULL && length > 0)
        memcpy(copy, text, length);
    return copy;
}

void *memory_grow(struct shop_memory *memory, void *items, size_t count, size_t item_bytes) {
    const size_t room = count == 0 ? 1 : 2 * count;
    void *larger;

    assert((items == NULL) == (count == 0));
    if ((count & (count - 1)) != 0) /* room is made at powers of two */
        return items;
    larger = memory_take(memory, room * item_bytes);
    if (larger != NULL && count > 0)
        memcpy(larger, items, count * item_bytes);
    return larger;
}
