/* Reads the parameters of a URL. */
#include "redis_replicas.h"

#include <stdlib.h>
#include <string.h>

#define MS_DEFAULT 100

/* Read `name=number` up to `end` into `*to`: false when it is another one, or no number from 1. */
static bool take(const char *at, const char *end, const char *name, unsigned *to) {
    size_t length = strlen(name);
    unsigned value = 0;

    if (strncmp(at, name, length) != 0 || end - at > (ptrdiff_t)length + 5)
        return false;
    for (at += length; at < end && *at >= '0' && *at <= '9'; at++)
        value = 10 * value + (unsigned)(*at - '0');
    *to = value;
    return at == end && value > 0;
}

enum lk_status redis_replicas_parse(struct redis_server *server, const char *url, char **rest) {
    size_t length = strcspn(url, "?");
    const char *at = url + length;

    server->replicas_ms = MS_DEFAULT;
    *rest = strdup(url);
    if (!*rest)
        return LK_NOMEM;
    (*rest)[length] = '\0';
    while (*at) {
        const char *begin = at + 1;

        at = begin + strcspn(begin, "&");
        if (take(begin, at, "wait=", &server->replicas) ||
            take(begin, at, "wait_ms=", &server->replicas_ms))
            continue;
        if (strncmp(begin, "db=", 3) != 0) {
            free(*rest);
            return LK_INVALID;
        }
        (void)strncat(strcat(*rest, strchr(*rest, '?') ? "&" : "?"), begin, (size_t)(at - begin));
    }
    return LK_OK;
}
