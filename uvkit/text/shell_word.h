/* A word as one types it into a shell. */
#ifndef UVKIT_SHELL_WORD_H
#define UVKIT_SHELL_WORD_H

#include <stddef.h>
#include <stdio.h>

/* The first `length` bytes of `word`, quoted where the shell would see more in them. */
void shell_word_print(const char *word, size_t length, FILE *to);

#endif
