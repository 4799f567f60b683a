/* A list of hosts and ports. */
#include "server_name.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static bool server_name_parse_port(const char *at, const char *end, int *port) {
    size_t length = strspn(at, "0123456789");

    if (length == 0 || length > 5 || at + length != end)
        return false;
    *port = atoi(at);
    return *port >= 1 && *port <= 65535;
}

static bool parse_server(struct server_name *name, const char *at, const char *end) {
    bool is_bracketed = at < end && *at == '[';
    const char *host = at + is_bracketed;
    size_t length = strcspn(host, is_bracketed ? "],/?@" : ":,/?@[]");
    const char *rest = host + length + is_bracketed;

    if (length == 0 || length >= sizeof name->host || (is_bracketed && host[length] != ']') ||
        rest > end || (rest != end && *rest != ':'))
        return false;
    memcpy(name->host, host, length);
    name->host[length] = '\0';
    return rest == end || server_name_parse_port(rest + 1, end, &name->port);
}

size_t server_names_parse(struct server_name *names, size_t most, const char *at, const char *end,
                          int port) {
    for (size_t count = 0; count < most; count++) {
        const char *comma = memchr(at, ',', (size_t)(end - at));

        names[count].port = port;
        if (!parse_server(&names[count], at, comma != NULL ? comma : end))
            return 0;
        if (comma == NULL)
            return count + 1;
        at = comma + 1;
    }
    return 0;
}
