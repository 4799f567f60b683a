/* Owns many small texts, in blocks: none is moved or freed before all are. */
#ifndef JUDGE_TEXTS_H
#define JUDGE_TEXTS_H

#include <stddef.h>

struct texts_block;

#define TEXTS_SHARED 8

/* Zeroed: empty. */
struct texts {
    struct texts_block *last;
    size_t used;                      /* bytes of the last block */
    const char *shared[TEXTS_SHARED]; /* the first of texts_share(), or NULL */
};

/* Returns a copy of the text, or NULL without memory. It lives until texts_free(). */
const char *texts_add(struct texts *texts, const char *text);
/* The same for bytes: the copy is aligned for a structure of pointers and numbers. */
const void *texts_add_bytes(struct texts *texts, const void *bytes, size_t size);
/* A text that is equal and was kept by texts_share(), or NULL. */
const char *texts_shared(const struct texts *texts, const char *text);
/* The same for a text out of few: a text that equals one of the first is that one. */
const char *texts_share(struct texts *texts, const char *text);
/* Frees all of them, and leaves it empty. */
void texts_free(struct texts *texts);

#endif
