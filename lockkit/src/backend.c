/* The table of backends. */
#include "backend.h"

#include <string.h>

static const struct lk_backend_ops *const backends[] = {&backend_local, &backend_redis};

const struct lk_backend_ops *backend_find(const char *url) {
    for (size_t i = 0; i < sizeof backends / sizeof *backends; i++)
        if (strncmp(url, backends[i]->scheme, strlen(backends[i]->scheme)) == 0)
            return backends[i];
    return NULL;
}
