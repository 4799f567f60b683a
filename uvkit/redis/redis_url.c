/* The URL of a Redis server: redis://[:password@]host[:port][/db], IPv6 hosts in brackets. */
#include "redis_internal.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#define SCHEME "redis://"

/* `text` up to `end` as a number within the bounds, or -1. */
static int number(const char *text, const char *end, int least, int most) {
    size_t length = strspn(text, "0123456789");
    int value = length > 0 && length <= 5 && text + length == end ? atoi(text) : -1;

    return value >= least && value <= most ? value : -1;
}

/* In place; -1 for a broken escape, and for a NUL. */
static int decode_percent(char *text) {
    char *to = text;

    for (const char *at = text; *at; at++) {
        if (*at != '%') {
            *to++ = *at;
            continue;
        }
        if (!isxdigit((unsigned char)at[1]) || !isxdigit((unsigned char)at[2]))
            return -1;
        *to = (char)strtol((char[]){at[1], at[2], '\0'}, NULL, 16);
        if (*to++ == '\0')
            return -1;
        at += 2;
    }
    *to = '\0';
    return 0;
}

/* The host and port between `at` and `end`. */
static int parse_host(struct redis_address *address, const char *at, const char *end) {
    bool is_bracketed = *at == '[';
    const char *host = at + is_bracketed;
    size_t length = strcspn(host, is_bracketed ? "]/" : ":/");
    const char *rest = host + length + is_bracketed;

    if (length == 0 || (is_bracketed && host[length] != ']') || (rest != end && *rest != ':'))
        return UV_EINVAL;
    address->port = rest == end ? 6379 : number(rest + 1, end, 1, 65535);
    if (address->port < 0)
        return UV_EINVAL;
    address->host = strndup(host, length);
    return address->host ? 0 : UV_ENOMEM;
}

static int parse_password(struct redis_address *address, const char *at, const char *end) {
    if (*at != ':')
        return UV_EINVAL;
    address->password = strndup(at + 1, (size_t)(end - at - 1));
    if (!address->password)
        return UV_ENOMEM;
    return decode_percent(address->password) == 0 ? 0 : UV_EINVAL;
}

static int parse(struct redis_address *address, const char *at) {
    const char *end = at + strcspn(at, "/");
    const char *sign = memrchr(at, '@', (size_t)(end - at));
    int status = sign ? parse_password(address, at, sign) : 0;

    if (status != 0)
        return status;
    if (*end == '/' && end[1])
        address->db = number(end + 1, end + strlen(end), 0, 99999);
    if (address->db < 0)
        return UV_EINVAL;
    return parse_host(address, sign ? sign + 1 : at, end);
}

int redis_address_parse(struct redis_address *address, const char *url) {
    int status = UV_EINVAL;

    memset(address, 0, sizeof *address);
    if (url && strncmp(url, SCHEME, strlen(SCHEME)) == 0)
        status = parse(address, url + strlen(SCHEME));
    if (status != 0)
        redis_address_free(address);
    return status;
}

void redis_address_free(struct redis_address *address) {
    free(address->host);
    free(address->password);
    memset(address, 0, sizeof *address);
}
