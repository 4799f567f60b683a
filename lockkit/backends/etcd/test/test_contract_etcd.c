/* The contract on the etcd backend. */
#include "contract.h"
#include "own_etcd.h"

int main(void) {
    struct own_etcd own;
    int failed;

    own_etcd_start(&own, 1);
    failed = run_contract(
        &(struct contract){.name = "etcd", .url = own.url, .far = own.url, .crowd = 60});
    own_etcd_stop(&own);
    return failed;
}
