/* UTF-8 made of text that may come from anywhere: a peer, a file, or a cut in the middle. */
#ifndef UVKIT_UTF8_H
#define UVKIT_UTF8_H

/* The most bytes that utf8_clean() writes for `length` bytes, its NUL among them. */
#define UTF8_ROOM(length) (3 * (length) + 1)

/* Copy `text` to `to`, where each byte that is no UTF-8 becomes U+FFFD, the replacement character;
 * returns where the copy's NUL is. */
char *utf8_clean(char *to, const char *text);

#endif
