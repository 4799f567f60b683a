/* Reads the parameters of a URL. */
#include "redis_replicas.h"

#include "parameter.h"

#include <stdlib.h>
#include <string.h>

#define MS_DEFAULT 100
#define MOST       99999 /* of either number */

enum lk_status redis_replicas_parse(struct redis_server *server, const char *url, char **rest) {
    server->replicas_ms = MS_DEFAULT;
    *rest = strdup(url);
    if (!*rest)
        return LK_NOMEM;
    if (parameter_take_number(*rest, "wait", MOST, &server->replicas) &&
        parameter_take_number(*rest, "wait_ms", MOST, &server->replicas_ms) &&
        !parameter_has_others(*rest, "db"))
        return LK_OK;
    free(*rest);
    return LK_INVALID;
}
