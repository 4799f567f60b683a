/* Which bytes are UTF-8, and what stands for those that are not. */
#include "utf8.h"

#include <stddef.h>
#include <string.h>

#define REPLACEMENT "\xef\xbf\xbd"

/* The length of the sequence that begins here, by table 3-7 of the Unicode standard; 0 when there
 * is none. */
static size_t sequence(const unsigned char *at) {
    static const struct {
        unsigned char first, last, low, high; /* of the first byte, of the second one */
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
            if (at[n] < 0x80 || at[n] > 0xbf) /* a NUL among them: nothing is read behind it */
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
