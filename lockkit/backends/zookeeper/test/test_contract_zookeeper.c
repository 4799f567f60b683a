/* The contract on the zookeeper backend: in a line, and with one node. */
#include "contract.h"
#include "own_zookeeper.h"

static int run_on(const struct own_zookeeper *own, bool is_fair) {
    const char *name = is_fair ? "zookeeper" : "zookeeper-unfair";
    char url[240], far[240];

    (void)snprintf(url, sizeof url, "%s/%s?session=5000&fair=%d", own->url, name, is_fair);
    (void)snprintf(far, sizeof far, "%s/%s?session=2000&fair=%d", own->url, name, is_fair);
    return run_contract(&(struct contract){.name = name, .url = url, .far = far, .peeks = is_fair});
}

int main(void) {
    struct own_zookeeper own;
    int failed;

    own_zookeeper_start(&own, 1);
    failed = run_on(&own, true) + run_on(&own, false);
    own_zookeeper_stop(&own);
    return failed;
}
