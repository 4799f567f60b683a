#include "pg_stale.h"

#include <string.h>

enum pg_stale pg_stale(const PGresult *result) {
    const char *sqlstate = PQresultErrorField(result, PG_DIAG_SQLSTATE);

    if (sqlstate == NULL)
        return PG_STALE_NOT;
#define X(name, state)                                                                             \
    if (strcmp(sqlstate, state) == 0)                                                              \
        return PG_STALE_##name;
    PG_STALES(X)
#undef X
    return PG_STALE_NOT;
}
