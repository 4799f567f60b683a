/* The contract on the two modes of the postgres backend. */
#include "contract.h"
#include "postgres_env.h"

#include <string.h>

int main(void) {
    char session[400], table[400];

    (void)strcpy(session, postgres_url("mode=session"));
    (void)strcpy(table, postgres_url("mode=table"));
    return run_contract(&(struct contract){.name = "table", .url = table, .crowd = 50}) +
           run_contract(&(struct contract){.name = "session", .url = session, .crowd = 50});
}
