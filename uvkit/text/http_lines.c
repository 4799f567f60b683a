/* The lines of a message's head, found by their line feeds. */
#include "http_lines.h"

#include <string.h>

/* Has the tail of the first line HTTP's name? Of "HTTP/1.1\r" the H has left the tail. llhttp has
 * checked that no other name ends so. */
static bool ends_in_http(uint64_t tail) {
    return tail >> 32 == ((uint64_t)'T' << 24 | 'T' << 16 | 'P' << 8 | '/');
}

static void end_line(struct http_lines *lines) {
    bool is_blank = lines->length == 0 || (lines->length == 1 && lines->first == '\r');

    lines->is_over = is_blank && lines->count > 0; /* blank lines before the first are ignored */
    if (!is_blank && lines->count++ == 0) {
        lines->is_bare = (lines->tail & 0xff) != '\r';
        lines->is_http = ends_in_http(lines->tail);
    }
    lines->length = 0;
}

size_t http_lines_look(struct http_lines *lines, const char *bytes, size_t length) {
    const char *at = bytes, *end = bytes + length;

    while (at < end && !lines->is_over) {
        const char *feed = memchr(at, '\n', (size_t)(end - at));
        const char *stop = feed != NULL ? feed : end;

        if (lines->length == 0)
            lines->first = *at;
        lines->is_folded |= lines->first == ' ' || lines->first == '\t';
        if (lines->count == 0)
            for (const char *byte = stop - at > 8 ? stop - 8 : at; byte < stop; byte++)
                lines->tail = lines->tail << 8 | (unsigned char)*byte;
        lines->length += (size_t)(stop - at);
        at = stop;
        if (feed != NULL) {
            end_line(lines);
            at++;
        }
    }
    return (size_t)(at - bytes);
}
