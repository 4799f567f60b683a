/* The URL of a Redis server: redis://[:password@]host[:port][/db], IPv6 hosts in brackets. */
#include "redis_internal.h"

#include <stdlib.h>
#include <string.h>

#define SCHEME "redis://"

/* `text` up to `end` as a number within the bounds, or -1. */
static int number(const char *text, const char *end, int least, int most) {
    int value = 0;

    if (text == end || end - text > 5)
        return -1;
    for (; text < end; text++) {
        if (*text < '0' || *text > '9')
            return -1;
        value = value * 10 + (*text - '0');
    }
    return value >= least && value <= most ? value : -1;
}

static int hex(char digit) {
    static const char digits[] = "0123456789abcdef";
    const char *at = digit ? strchr(digits, digit | 0x20) : NULL;

    return at ? (int)(at - digits) : -1;
}

/* In place; -1 for a broken escape, and for a NUL. */
static int decode_percent(char *text) {
    char *to = text;

    for (const char *at = text; *at; at++) {
        if (*at == '%') {
            int high = hex(at[1]), low = high < 0 ? -1 : hex(at[2]);

            if (low < 0 || high + low == 0)
                return -1;
            *to++ = (char)(high * 16 + low);
            at += 2;
        } else {
            *to++ = *at;
        }
    }
    *to = '\0';
    return 0;
}

/* The host and port between `at` and `end`. */
static int parse_host(struct redis_address *address, const char *at, const char *end) {
    bool is_bracketed = *at == '[';
    const char *colon, *host_end;

    if (is_bracketed) {
        at++;
        host_end = memchr(at, ']', (size_t)(end - at));
        if (!host_end)
            return UV_EINVAL;
        colon = host_end + 1;
    } else {
        colon = memchr(at, ':', (size_t)(end - at));
        host_end = colon = colon ? colon : end;
    }
    if (host_end == at || (colon != end && *colon != ':'))
        return UV_EINVAL;
    address->port = colon == end ? 6379 : number(colon + 1, end, 1, 65535);
    if (address->port < 0)
        return UV_EINVAL;
    address->host = strndup(at, (size_t)(host_end - at));
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
