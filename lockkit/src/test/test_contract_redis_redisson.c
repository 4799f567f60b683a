/* The contract on a lock in the layout of Redisson. */
#include "contract.h"
#include "redis_admin.h"

int main(void) {
    char url[256];

    (void)snprintf(url, sizeof url, "redis+redisson:%s", redis_url());
    return run_contract(&(struct contract){.name = "redis-redisson", .url = url});
}
