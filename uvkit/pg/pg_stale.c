#include "pg_stale.h"

#include <string.h>

#define PAUSE_FIRST_MS          20
#define PAUSE_MOST_MS           60000
#define PAUSE_READ_ONLY_MOST_MS 1280

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

static int64_t next_length_ms(int64_t length_ms, enum pg_stale kind) {
    int64_t most_ms = kind == PG_STALE_READ_ONLY ? PAUSE_READ_ONLY_MOST_MS : PAUSE_MOST_MS;

    if (length_ms == 0)
        return PAUSE_FIRST_MS;
    return length_ms * 2 < most_ms ? length_ms * 2 : most_ms;
}

bool pg_stale_is_due(struct pg_pause *pause, enum pg_stale kind, int64_t now_ms) {
    if (now_ms < pause->until_ms)
        return false;
    pause->length_ms = next_length_ms(pause->length_ms, kind);
    pause->until_ms = now_ms + pause->length_ms;
    return true;
}
