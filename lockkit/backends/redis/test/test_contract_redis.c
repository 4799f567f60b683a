/* The contract on the redis backend, with and without hand-over within a client. */
#include "contract.h"
#include "redis_admin.h"

int main(void) {
    char url[256];

    (void)snprintf(url, sizeof url, "%s%chandover=16", redis_url(),
                   strchr(redis_url(), '?') != NULL ? '&' : '?');
    return run_contract(
               &(struct contract){.name = "redis", .url = redis_url(), .far = redis_url()}) +
           run_contract(&(struct contract){.name = "redis with hand-over", .url = url});
}
