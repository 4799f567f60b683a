/* UTF-8 made of text from any source: a peer, a file, or a text that was cut in the middle. */
#ifndef UVKIT_UTF8_H
#define UVKIT_UTF8_H

#include <stdbool.h>
#include <stddef.h>

/* The most bytes that utf8_clean() writes for `length` bytes, with its NUL. */
#define UTF8_ROOM(length) (3 * (length) + 1)

/* Copy `text` to `to`. Each byte that is not UTF-8 becomes U+FFFD, the replacement character.
 * Returns the place of the copy's NUL. */
char *utf8_clean(char *to, const char *text);

/* The length of the printable character that begins here, or 0. The end, and a byte that is not
 * UTF-8, are not printable. Nor is a character that moves or hides other text on a terminal or ends
 * its line: a control character (C0, DEL, C1), a line separator, a direction mark. */
size_t utf8_printable(const char *text);

/* Is all of it printable? */
bool utf8_is_printable(const char *text);

/* Make text from any source one printable line, in place. A line break or a tab becomes a space.
 * Each other byte that is not part of a printable character becomes `?`. */
void utf8_make_printable(char *text);

#endif
