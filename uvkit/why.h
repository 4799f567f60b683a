/* The reason why something was not done, in words for people. The caller owns the text, the callee
 * writes it. */
#ifndef UVKIT_WHY_H
#define UVKIT_WHY_H

struct why {
    char text[1536]; /* with its NUL; room for a path and a sentence about it */
};

/* Write a text into `why`, cut to fit. No argument may point into `why`. Returns -1, so that a
 * refusal is one line: `return why_set(why, ...)`. */
int why_set(struct why *why, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
