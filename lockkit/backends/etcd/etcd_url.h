/* etcd://[user:password@]host[:port][,host[:port]...][/prefix] */
#ifndef LOCKKIT_ETCD_URL_H
#define LOCKKIT_ETCD_URL_H

#include "server_name.h"

#include <stdbool.h>

#define ETCD_ENDPOINTS_MOST 9
#define ETCD_USER_SIZE      256
#define ETCD_PREFIX_SIZE    256

struct etcd_url {
    struct server_name endpoints[ETCD_ENDPOINTS_MOST];
    unsigned count;
    char prefix[ETCD_PREFIX_SIZE]; /* of all keys, with its last slash */
    char user[ETCD_USER_SIZE], password[ETCD_USER_SIZE];
};

/* False when it is none. User, password and prefix may be percent-encoded. */
bool etcd_url_parse(struct etcd_url *url, const char *text);

#endif
