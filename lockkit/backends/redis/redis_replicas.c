/* Reads the parameters of a URL. */
#include "redis_replicas.h"

#include "parameter.h"

#include <stdlib.h>
#include <string.h>

#define REPLICAS_MOST 99999
#define MS_MOST       99999
#define MS_DEFAULT    100

enum lk_status redis_replicas_parse(struct redis_server *server, const char *url, char **rest) {
    server->replicas_ms = MS_DEFAULT;
    *rest = strdup(url);
    if (!*rest)
        return LK_NOMEM;
    if (parameter_take_number(*rest, "wait", REPLICAS_MOST, &server->replicas) &&
        parameter_take_number(*rest, "wait_ms", MS_MOST, &server->replicas_ms) &&
        !parameter_has_others(*rest, "db"))
        return LK_OK;
    free(*rest);
    return LK_INVALID;
}
