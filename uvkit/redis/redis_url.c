/* Parses the URL of a Redis server, in the forms of redis.h. IPv6 hosts stand in brackets. */
#include "redis_internal.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#define DB_MOST 99999

/* The text from `at` up to `end`. */
struct span {
    const char *at, *end;
};

/* A span as a number within the bounds, or -1. */
static int redis_url_number(struct span text, int least, int most) {
    size_t length = strspn(text.at, "0123456789");
    int value = length > 0 && length <= 5 && text.at + length == text.end ? atoi(text.at) : -1;

    return value >= least && value <= most ? value : -1;
}

/* Decode in place; -1 for a broken escape, and for a NUL. */
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

static int copy_decoded(char **to, struct span text) {
    *to = strndup(text.at, (size_t)(text.end - text.at));
    if (*to == NULL)
        return UV_ENOMEM;
    return decode_percent(*to) == 0 ? 0 : UV_EINVAL;
}

/* [user][:password]. A user alone has the empty password, which suits a user with nopass. */
static int redis_url_parse_user(struct redis_address *address, struct span text) {
    const char *colon = memchr(text.at, ':', (size_t)(text.end - text.at));
    struct span user = {text.at, colon != NULL ? colon : text.end};
    struct span password = {colon != NULL ? colon + 1 : text.end, text.end};
    int status = 0;

    if (text.at == text.end)
        return UV_EINVAL;
    if (user.at != user.end)
        status = copy_decoded(&address->user, user);
    return status != 0 ? status : copy_decoded(&address->password, password);
}

/* The host and port. */
static int parse_host(struct redis_address *address, struct span text) {
    bool is_bracketed = *text.at == '[';
    const char *host = text.at + is_bracketed;
    size_t length = strcspn(host, is_bracketed ? "]/?" : ":/?");
    const char *rest = host + length + is_bracketed;

    if (length == 0 || (is_bracketed && host[length] != ']') || (rest != text.end && *rest != ':'))
        return UV_EINVAL;
    address->port =
        rest == text.end ? 6379 : redis_url_number((struct span){rest + 1, text.end}, 1, 65535);
    if (address->port < 0)
        return UV_EINVAL;
    address->host = strndup(host, length);
    return address->host != NULL ? 0 : UV_ENOMEM;
}

/* [/db], or the path of a socket. */
static int parse_path(struct redis_address *address, struct span text, bool is_socket) {
    if (is_socket)
        return text.end - text.at > 1 ? copy_decoded(&address->path, text) : UV_EINVAL;
    if (text.end - text.at > 1)
        address->db = redis_url_number((struct span){text.at + 1, text.end}, 0, DB_MOST);
    return address->db < 0 ? UV_EINVAL : 0;
}

/* [?key=value&...]. A db in here overrides the path's. */
static int redis_url_parse_query(struct redis_address *address, const char *query) {
    while (*query) {
        const char *at = query + 1;

        query = at + strcspn(at, "&");
        if (strncmp(at, "db=", 3) == 0)
            address->db = redis_url_number((struct span){at + 3, query}, 0, DB_MOST);
        if (address->db < 0)
            return UV_EINVAL;
    }
    return 0;
}

static int redis_url_parse(struct redis_address *address, const char *at, bool is_socket) {
    struct span authority = {at, at + strcspn(at, "/?")};
    struct span path = {authority.end, authority.end + strcspn(authority.end, "?")};
    const char *sign = memrchr(at, '@', (size_t)(authority.end - at));
    struct span host = {sign != NULL ? sign + 1 : at, authority.end};
    int status = sign != NULL ? redis_url_parse_user(address, (struct span){at, sign}) : 0;

    if (status == 0 && is_socket && host.at != host.end)
        status = UV_EINVAL;
    if (status == 0 && !is_socket)
        status = parse_host(address, host);
    if (status == 0)
        status = parse_path(address, path, is_socket);
    return status != 0 ? status : redis_url_parse_query(address, path.end);
}

int redis_address_parse(struct redis_address *address, const char *url) {
    static const struct {
        const char *text;
        bool is_socket, is_tls;
    } schemes[] = {{"redis://", false, false},
                   {"rediss://", false, true},
                   {"unix://", true, false},
                   {"redis+unix://", true, false}};
    int status = UV_EINVAL;

    memset(address, 0, sizeof *address);
    for (size_t i = 0; url != NULL && i < sizeof schemes / sizeof *schemes; i++) {
        if (strncmp(url, schemes[i].text, strlen(schemes[i].text)) != 0)
            continue;
        address->is_tls = schemes[i].is_tls;
        status = redis_url_parse(address, url + strlen(schemes[i].text), schemes[i].is_socket);
    }
    if (status != 0)
        redis_address_free(address);
    return status;
}

void redis_address_free(struct redis_address *address) {
    free(address->host);
    free(address->path);
    free(address->user);
    free(address->password);
    memset(address, 0, sizeof *address);
}
