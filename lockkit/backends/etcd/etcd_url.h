/* etcd://[user:password@]host[:port][,host[:port]...][/prefix] */
#ifndef LOCKKIT_ETCD_URL_H
#define LOCKKIT_ETCD_URL_H

#include "lockkit.h"

#include <stdbool.h>

#define ETCD_ENDPOINTS_MOST 9
#define ETCD_HOST_SIZE      256
#define ETCD_PREFIX_SIZE    256

struct etcd_url {
    struct etcd_endpoint_url {
        char host[ETCD_HOST_SIZE];
        int port;
    } endpoints[ETCD_ENDPOINTS_MOST];
    unsigned count;
    char prefix[ETCD_PREFIX_SIZE]; /* of all keys, with its last slash */
    char user[ETCD_HOST_SIZE], password[ETCD_HOST_SIZE];
};

/* False when it is none. User, password and prefix may be percent-encoded. */
bool etcd_url_parse(struct etcd_url *url, const char *text);

#endif
