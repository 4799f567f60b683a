/* UTF-8 made of text that may come from anywhere: a peer, a file, or a cut in the middle. */
#ifndef UVKIT_UTF8_H
#define UVKIT_UTF8_H

#include <stdbool.h>
#include <stddef.h>

/* The most bytes that utf8_clean() writes for `length` bytes, its NUL among them. */
#define UTF8_ROOM(length) (3 * (length) + 1)

/* Copy `text` to `to`, where each byte that is no UTF-8 becomes U+FFFD, the replacement character;
 * returns where the copy's NUL is. */
char *utf8_clean(char *to, const char *text);

/* The length of the printable character that begins here. 0: there is none, but the end; a byte
 * that is no UTF-8; or what moves or hides other text on a terminal or ends its line: a control
 * character (C0, DEL, C1), a line separator, a mark that turns the direction of writing. */
size_t utf8_printable(const char *text);

/* Whether all of it is printable. */
bool utf8_is_printable(const char *text);

/* Make text that may come from anywhere one printable line, where it stands: a line break or a tab
 * in it becomes a space, and each other byte that is not of a printable character `?`. */
void utf8_make_printable(char *text);

#endif
