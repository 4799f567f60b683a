/* Five Redis servers of this test's own, independent of each other. */
#ifndef TEST_OWN_ENSEMBLE_H
#define TEST_OWN_ENSEMBLE_H

#include "own_redis.h"

#define ENSEMBLE_NODES 5

struct own_ensemble {
    struct own_redis nodes[ENSEMBLE_NODES];
};

void own_ensemble_start(struct own_ensemble *ensemble);
void own_ensemble_stop(struct own_ensemble *ensemble);

/* Start killed servers again, resume paused ones, and delete all keys. */
void own_ensemble_renew(struct own_ensemble *ensemble);

/* redlock:URL,URL,...OPTIONS */
const char *own_ensemble_url(const struct own_ensemble *ensemble, char *url, size_t size,
                             const char *options);

#endif
