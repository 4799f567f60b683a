/* Owns many small texts, in blocks: none is moved or freed before all are. */
#ifndef JUDGE_TEXTS_H
#define JUDGE_TEXTS_H

#include <stddef.h>

struct texts_block;

/* Zeroed: empty. */
struct texts {
    struct texts_block *last;
    size_t used; /* bytes of the last block */
};

/* Returns a copy of the text, or NULL without memory. It lives until texts_free(). */
const char *texts_add(struct texts *texts, const char *text);
/* Frees all of them, and leaves it empty. */
void texts_free(struct texts *texts);

#endif
