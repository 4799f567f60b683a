/* The contract on locks in the layouts of other libraries. */
#include "contract.h"
#include "redis_admin.h"

static int run_on(const char *name) {
    char url[256];

    (void)snprintf(url, sizeof url, "redis+%s:%s", name, redis_url());
    return run_contract(&(struct contract){.name = name, .url = url, .far = url});
}

int main(void) {
    return run_on("string") + run_on("redisson");
}
