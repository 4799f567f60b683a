/* ZooKeeper servers for a group of tests, and two clients for each. */
#include "zookeeper_env.h"

struct own_zookeeper zookeeper;

int zookeeper_up(void **state) {
    own_zookeeper_start(&zookeeper, 1);
    return 0;
}

int zookeeper_up_three(void **state) {
    own_zookeeper_start(&zookeeper, 3);
    return 0;
}

int zookeeper_down(void **state) {
    own_zookeeper_stop(&zookeeper);
    return 0;
}

lk_client *open_zookeeper(struct env *env, const char *servers, const char *query) {
    char url[300];

    (void)snprintf(url, sizeof url, "%s/test%s", servers, query);
    return env_open_client(env, url);
}

int zookeeper_env_set_up(void **state) {
    char near[300], far[300];

    (void)snprintf(near, sizeof near, "%s/test?session=10000", zookeeper.url);
    (void)snprintf(far, sizeof far, "%s/test?session=2000", zookeeper.url);
    return env_open(state, near, far);
}
