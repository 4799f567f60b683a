/* The contract on the local backend. */
#include "contract.h"

int main(void) {
    return run_contract(&(struct contract){.name = "local", .url = "local:"}) +
           run_contract(
               &(struct contract){.name = "local with hand-over", .url = "local:?handover=16"});
}
