/* The servers that a URL names: host[:port][,host[:port]...], with an IPv6 address in brackets. */
#ifndef UVKIT_SERVER_NAME_H
#define UVKIT_SERVER_NAME_H

#include <stddef.h>

struct server_name {
    char host[256]; /* without the brackets of an IPv6 address */
    int port;
};

/* Parse the servers from `at` to `end` into `names`. Returns their number; 0 if a name is wrong, or
 * there are more than `most`. A server without a port gets `port`. */
size_t server_names_parse(struct server_name *names, size_t most, const char *at, const char *end,
                          int port);

#endif
