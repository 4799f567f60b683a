/* The contract on a lock that is kept as a bare string. */
#include "contract.h"
#include "redis_admin.h"

int main(void) {
    char url[256];

    (void)snprintf(url, sizeof url, "redis+string:%s", redis_url());
    return run_contract(&(struct contract){.name = "redis-string", .url = url});
}
