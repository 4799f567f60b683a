/* The contract on the zookeeper backend: in a line, and with one node. */
#include "contract.h"
#include "own_zookeeper.h"

#include <signal.h>

int main(void) {
    struct own_zookeeper own;
    char url[240];
    int failed;

    own_zookeeper_start(&own, 1);
    (void)snprintf(url, sizeof url, "%s/line?session=5000", own.url);
    failed = run_contract(&(struct contract){.name = "zookeeper", .url = url});
    (void)snprintf(url, sizeof url, "%s/single?session=5000&fair=0", own.url);
    failed += run_contract(&(struct contract){.name = "zookeeper-unfair", .url = url});
    own_zookeeper_stop(&own);
    return failed;
}
