/* The URL of an etcd cluster, taken apart. */
#include "etcd_url.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#define SCHEME         "etcd://"
#define DEFAULT_PORT   2379
#define DEFAULT_PREFIX "lk/"

/* The part from `at` to `end`, decoded. False for a broken escape, a NUL, and what does not fit. */
static bool decode(char *to, size_t size, const char *at, const char *end) {
    for (; at < end; at++, to++, size--) {
        if (size < 2)
            return false;
        *to = *at;
        if (*at != '%')
            continue;
        if (end - at < 3 || !isxdigit((unsigned char)at[1]) || !isxdigit((unsigned char)at[2]))
            return false;
        *to = (char)strtol((char[]){at[1], at[2], '\0'}, NULL, 16);
        if (*to == '\0')
            return false;
        at += 2;
    }
    *to = '\0';
    return true;
}

static bool etcd_url_parse_user(struct etcd_url *url, const char *at, const char *end) {
    const char *colon = memchr(at, ':', (size_t)(end - at));

    return colon != NULL && colon > at && decode(url->user, sizeof url->user, at, colon) &&
           decode(url->password, sizeof url->password, colon + 1, end);
}

bool etcd_url_parse(struct etcd_url *url, const char *text) {
    const char *at = text + strlen(SCHEME), *end, *sign, *path;

    memset(url, 0, sizeof *url);
    if (strncmp(text, SCHEME, strlen(SCHEME)) != 0 || strchr(text, '?') != NULL ||
        strchr(text, '#') != NULL)
        return false;
    end = at + strcspn(at, "/");
    sign = memrchr(at, '@', (size_t)(end - at));
    if (sign != NULL && !etcd_url_parse_user(url, at, sign))
        return false;
    url->count = (unsigned)server_names_parse(url->endpoints, ETCD_ENDPOINTS_MOST,
                                              sign != NULL ? sign + 1 : at, end, DEFAULT_PORT);
    if (url->count == 0)
        return false;
    path = *end == '/' && end[1] != '\0' ? end + 1 : DEFAULT_PREFIX;
    if (!decode(url->prefix, sizeof url->prefix - 1, path, path + strlen(path)))
        return false;
    if (url->prefix[strlen(url->prefix) - 1] != '/')
        (void)strcat(url->prefix, "/");
    return true;
}
