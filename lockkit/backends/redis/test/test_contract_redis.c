/* The contract on the redis backend. */
#include "contract.h"
#include "redis_admin.h"

int main(void) {
    return run_contract(&(struct contract){.name = "redis", .url = redis_url()});
}
