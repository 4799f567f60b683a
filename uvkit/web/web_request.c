/* Reads the head of a reply. */
#include "web_request.h"

#include <string.h>
#include <strings.h>

/* The next line that begins at `at` and ends before `end`. */
static size_t line_length(const char *at, const char *end) {
    const char *line_feed = memchr(at, '\n', (size_t)(end - at));

    return (size_t)((line_feed != NULL ? line_feed : end) - at);
}

static size_t without_end(const char *at, size_t length) {
    while (length > 0 && strchr(" \t\r", at[length - 1]) != NULL)
        length--;
    return length;
}

const char *web_reply_header(const struct web_request *request, const char *name, const char *after,
                             size_t *length) {
    const size_t name_length = strlen(name);
    const char *at = request->head.bytes, *end = at + request->head.length;

    if (request->head.length == 0)
        return NULL;
    if (after != NULL)
        at = after + line_length(after, end);
    for (size_t line; at < end; at += line + 1) {
        line = line_length(at, end);
        if (line <= name_length || at[name_length] != ':' ||
            strncasecmp(at, name, name_length) != 0)
            continue;
        at += name_length + 1;
        line -= name_length + 1;
        for (; line > 0 && (*at == ' ' || *at == '\t'); line--)
            at++;
        *length = without_end(at, line);
        return at;
    }
    return NULL;
}

void web_request_free(struct web_request *request) {
    buffer_free(&request->head);
    buffer_free(&request->reply);
}
