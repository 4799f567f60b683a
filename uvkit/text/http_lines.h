/* The lines of a message's head, for what llhttp does not tell: that a field was folded over
 * several lines (RFC 9112, 5.2: others may read it otherwise), and that a request named RTSP or
 * ICE, which llhttp takes, too. */
#ifndef UVKIT_HTTP_LINES_H
#define UVKIT_HTTP_LINES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What has been seen of a head so far; zeroed before its first byte. */
struct http_lines {
    size_t count, length; /* of whole lines; of the one that has begun */
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
