/* Puts texts one behind the other into blocks of memory. */
#include "texts.h"

#include <stdlib.h>
#include <string.h>

#define BLOCK 65536 /* bytes of texts; a longer text gets a block of its own */

struct texts_block {
    struct texts_block *before;
    char bytes[]; /* aligned like a pointer */
};

static struct texts_block *add_block(struct texts *texts, size_t length) {
    struct texts_block *block = malloc(sizeof *block + (length > BLOCK ? length : BLOCK));

    if (block == NULL)
        return NULL;
    block->before = texts->last;
    texts->last = block;
    texts->used = 0;
    return block;
}

static void *add_copy(struct texts *texts, const void *bytes, size_t size) {
    const size_t room = texts->last != NULL && texts->used < BLOCK ? BLOCK - texts->used : 0;
    void *copy;

    if (room < size && add_block(texts, size) == NULL)
        return NULL;
    copy = memcpy(texts->last->bytes + texts->used, bytes, size);
    texts->used += size;
    return copy;
}

const char *texts_add(struct texts *texts, const char *text) {
    return add_copy(texts, text, strlen(text) + 1);
}

const void *texts_add_bytes(struct texts *texts, const void *bytes, size_t size) {
    texts->used = (texts->used + sizeof(void *) - 1) / sizeof(void *) * sizeof(void *);
    return add_copy(texts, bytes, size);
}

const char *texts_shared(const struct texts *texts, const char *text) {
    for (size_t i = 0; i < TEXTS_SHARED && texts->shared[i] != NULL; i++)
        if (strcmp(texts->shared[i], text) == 0)
            return texts->shared[i];
    return NULL;
}

const char *texts_share(struct texts *texts, const char *text) {
    const char *shared = texts_shared(texts, text);

    if (shared != NULL)
        return shared;
    shared = texts_add(texts, text);
    for (size_t i = 0; i < TEXTS_SHARED; i++)
        if (texts->shared[i] == NULL) {
            texts->shared[i] = shared;
            break;
        }
    return shared;
}

void texts_free(struct texts *texts) {
    while (texts->last != NULL) {
        struct texts_block *before = texts->last->before;

        free(texts->last);
        texts->last = before;
    }
    *texts = (struct texts){.last = NULL};
}
