/* The contract on both modes of the postgres backend; mode=table through a pooler, too. */
#include "contract.h"
#include "own_pgbouncer.h"
#include "postgres_env.h"

int main(void) {
    char session[500], table[500], pooled[200];
    struct own_pgbouncer pooler;
    int failed;

    (void)snprintf(session, sizeof session, "%s", postgres_url("mode=session"));
    (void)snprintf(table, sizeof table, "%s", postgres_url("mode=table"));
    own_pgbouncer_start(&pooler, postgres_ask("SELECT current_schema()"), 10);
    (void)snprintf(pooled, sizeof pooled, "%s?mode=table", pooler.url);
    failed =
        run_contract(
            &(struct contract){.name = "session", .url = session, .far = session, .crowd = 50}) +
        run_contract(&(struct contract){.name = "table", .url = table, .far = table, .crowd = 50}) +
        run_contract(&(struct contract){.name = "pooled", .url = pooled, .crowd = 50});
    (void)strcat(session, "&handover=16");
    (void)strcat(table, "&handover=16");
    failed +=
        run_contract(
            &(struct contract){.name = "session with hand-over", .url = session, .crowd = 50}) +
        run_contract(&(struct contract){.name = "table with hand-over", .url = table, .crowd = 50});
    own_pgbouncer_stop(&pooler);
    return failed;
}
