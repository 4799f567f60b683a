#include "xml_text.h"

#include "utf8.h"

#include <string.h>

#define PART       1024 /* bytes of a text that are escaped at a time */
#define UTF8_BYTES 4    /* of a character */

static const char replacement[] = "\xef\xbf\xbd"; /* U+FFFD */

/* The end of a text that is UTF-8: U+FFFE and U+FFFF, which XML forbids, have three bytes. */
static bool is_noncharacter(const char *at) {
    return strncmp(at, "\xef\xbf\xbe", 3) == 0 || strncmp(at, "\xef\xbf\xbf", 3) == 0;
}

/* Line breaks and tabs in an attribute would be read as spaces. */
static const char *entity_of(char byte, bool is_attribute) {
    switch (byte) {
    case '&':
        return "&amp;";
    case '<':
        return "&lt;";
    case '>':
        return "&gt;";
    case '\r':
        return "&#13;";
    case '"':
        return is_attribute ? "&quot;" : NULL;
    case '\n':
        return is_attribute ? "&#10;" : NULL;
    case '\t':
        return is_attribute ? "&#9;" : NULL;
    default:
        return (unsigned char)byte < ' ' ? replacement : NULL;
    }
}

static void put_clean(const char *clean, bool is_attribute, FILE *to) {
    for (const char *at = clean; *at != '\0'; at++) {
        const char *entity = entity_of(*at, is_attribute);

        if (is_noncharacter(at)) {
            fputs(replacement, to);
            at += 2;
        } else if (entity != NULL) {
            fputs(entity, to);
        } else {
            putc(*at, to);
        }
    }
}

/* In parts that end between two characters. */
void xml_text_put(const char *text, bool is_attribute, FILE *to) {
    char part[PART + 1], clean[UTF8_ROOM(PART)];

    while (*text != '\0') {
        size_t length = strnlen(text, PART);

        while (length > PART - UTF8_BYTES && (text[length] & 0xc0) == 0x80)
            length--;
        memcpy(part, text, length);
        part[length] = '\0';
        (void)utf8_clean(clean, part);
        put_clean(clean, is_attribute, to);
        text += length;
    }
}
