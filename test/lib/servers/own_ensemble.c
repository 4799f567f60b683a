/* Starts and ends five servers. */
#include "own_ensemble.h"

#include "test.h"

void own_ensemble_start(struct own_ensemble *ensemble) {
    for (int i = 0; i < ENSEMBLE_NODES; i++)
        own_redis_start(&ensemble->nodes[i]);
}

void own_ensemble_stop(struct own_ensemble *ensemble) {
    for (int i = 0; i < ENSEMBLE_NODES; i++)
        own_redis_stop(&ensemble->nodes[i]);
}

void own_ensemble_renew(struct own_ensemble *ensemble) {
    for (int i = 0; i < ENSEMBLE_NODES; i++) {
        struct own_redis *node = &ensemble->nodes[i];

        if (!node->pid)
            own_redis_start_again(node);
        own_redis_go_on(node);
        (void)own_redis_do(node, "FLUSHALL");
    }
}

const char *own_ensemble_url(const struct own_ensemble *ensemble, char *url, size_t size,
                             const char *options) {
    size_t length = (size_t)snprintf(url, size, "redlock:");

    for (int i = 0; i < ENSEMBLE_NODES; i++)
        length += (size_t)snprintf(url + length, size - length, "%s%s", i ? "," : "",
                                   ensemble->nodes[i].url);
    length += (size_t)snprintf(url + length, size - length, "%s", options);
    assert_true(length < size);
    return url;
}
