/* The contract on a cluster of three masters. */
#include "contract.h"
#include "own_cluster.h"

int main(void) {
    struct own_cluster cluster;
    char url[128];
    int failed;

    own_cluster_start(&cluster);
    (void)snprintf(url, sizeof url, "redis+cluster://127.0.0.1:%d", cluster.nodes[0].port);
    failed = run_contract(&(struct contract){.name = "redis+cluster", .url = url});
    own_cluster_stop(&cluster);
    return failed;
}
