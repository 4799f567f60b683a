/* The lines of a message's head, for two facts that llhttp does not tell. A field was folded over
 * several lines (RFC 9112, 5.2: other readers may read it otherwise). And a request named RTSP or
 * ICE, which llhttp takes, too. */
#ifndef UVKIT_HTTP_LINES_H
#define UVKIT_HTTP_LINES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The part of a head that has been seen so far. Zero it before the first byte. */
struct http_lines {
    size_t count, length; /* whole lines; bytes of the line that has begun */
    uint64_t tail;        /* the last eight bytes of the first line */
    char first;           /* of the line that has begun */
    bool is_http;         /* the first line ends with HTTP's name and a version */
    bool is_bare;         /* the first line ends with LF alone */
    bool is_folded;       /* a line goes on with the one before it */
    bool is_over;         /* the blank line has come */
};

/* Look at the next bytes, before llhttp does. Returns how many belong to the head: all of them,
 * unless it is over. */
size_t http_lines_look(struct http_lines *lines, const char *bytes, size_t length);

#endif
