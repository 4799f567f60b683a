/* A word as a person types it into a shell. */
#ifndef UVKIT_SHELL_WORD_H
#define UVKIT_SHELL_WORD_H

#include <stddef.h>
#include <stdio.h>

/* The first `length` bytes of `word`, quoted if the shell would change them. */
void shell_word_print(const char *word, size_t length, FILE *to);

#endif
