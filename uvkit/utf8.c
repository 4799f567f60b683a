/* Finds UTF-8 in bytes, and replaces the other bytes. */
#include "utf8.h"

#include <stdbool.h>
#include <string.h>

#define REPLACEMENT "\xef\xbf\xbd"

/* The length of the sequence that begins here, by table 3-7 of the Unicode standard; 0: none does.
 */
static size_t sequence(const unsigned char *at) {
    static const struct {
        unsigned char first, last, low, high; /* range of the first byte, and of the second */
        size_t length;
    } forms[] = {{0xc2, 0xdf, 0x80, 0xbf, 2}, {0xe0, 0xe0, 0xa0, 0xbf, 3},
                 {0xe1, 0xec, 0x80, 0xbf, 3}, {0xed, 0xed, 0x80, 0x9f, 3},
                 {0xee, 0xef, 0x80, 0xbf, 3}, {0xf0, 0xf0, 0x90, 0xbf, 4},
                 {0xf1, 0xf3, 0x80, 0xbf, 4}, {0xf4, 0xf4, 0x80, 0x8f, 4}};

    if (at[0] < 0x80)
        return 1;
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        if (at[0] < forms[i].first || at[0] > forms[i].last)
            continue;
        if (at[1] < forms[i].low || at[1] > forms[i].high)
            return 0;
        for (size_t n = 2; n < forms[i].length; n++)
            if (at[n] < 0x80 || at[n] > 0xbf) /* also a NUL: nothing after it is read */
                return 0;
        return forms[i].length;
    }
    return 0;
}

char *utf8_clean(char *to, const char *text) {
    while (*text != '\0') {
        size_t length = sequence((const unsigned char *)text);

        if (length == 0) {
            to = stpcpy(to, REPLACEMENT);
            text++;
        } else {
            to = mempcpy(to, text, length);
            text += length;
        }
    }
    *to = '\0';
    return to;
}

/* Sequences of two and three bytes: C1, the Arabic letter mark, separators, direction marks. */
static bool is_unprintable(const unsigned char *at, size_t length) {
    if (length == 1)
        return at[0] < 0x20 || at[0] == 0x7f;
    if (length == 2)
        return (at[0] == 0xc2 && at[1] < 0xa0) || (at[0] == 0xd8 && at[1] == 0x9c);
    if (length != 3 || at[0] != 0xe2)
        return false;
    return (at[1] == 0x80 &&
            (at[2] == 0x8e || at[2] == 0x8f || (at[2] >= 0xa8 && at[2] <= 0xae))) ||
           (at[1] == 0x81 && at[2] >= 0xa6 && at[2] <= 0xa9);
}

size_t utf8_printable(const char *text) {
    const unsigned char *at = (const unsigned char *)text;
    size_t length = sequence(at);

    return is_unprintable(at, length) ? 0 : length;
}

bool utf8_is_printable(const char *text) {
    size_t length = 1;

    for (; *text != '\0' && length > 0; text += length)
        length = utf8_printable(text);
    return length > 0;
}

void utf8_make_printable(char *text) {
    while (*text != '\0') {
        size_t length = utf8_printable(text);

        if (length == 0)
            *text = strchr("\n\r\t", *text) != NULL ? ' ' : '?';
        text += length == 0 ? 1 : length;
    }
}
