/* The contract on an ensemble of five servers that are known to remember. */
#include "contract.h"
#include "own_ensemble.h"

int main(void) {
    struct own_ensemble ensemble;
    char url[512];
    int failed;

    own_ensemble_start(&ensemble);
    failed = run_contract(&(struct contract){
        .name = "redlock",
        .url = own_ensemble_url(&ensemble, url, sizeof url, "?quarantine=0&cutoff=2000")});
    own_ensemble_stop(&ensemble);
    return failed;
}
