/* A cluster for a group of tests, empty before each test. */
#include "etcd_env.h"

struct own_etcd etcd;

int etcd_one_start(void **state) {
    own_etcd_start(&etcd, 1);
    return 0;
}

int etcd_three_start(void **state) {
    own_etcd_start(&etcd, 3);
    return 0;
}

int etcd_stop(void **state) {
    own_etcd_stop(&etcd);
    return 0;
}

int etcd_env_set_up(void **state) {
    char first[64];

    own_etcd_clear(&etcd);
    (void)snprintf(first, sizeof first, "etcd://127.0.0.1:%d", etcd.members[0].port);
    return env_open(state, etcd.url, first);
}

int etcd_leases(void) {
    char reply[16384];
    int count = 0;

    assert_true(own_etcd_ask(&etcd, 0, "/v3/lease/leases", "{}", reply, sizeof reply));
    for (const char *at = reply; (at = strstr(at, "\"ID\"")); at++)
        count++;
    return count;
}
