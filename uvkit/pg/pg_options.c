/* Checks what a Postgres pool is told to connect to, and keeps copies of it. */
#include "pg_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Of what a conninfo says. */
static const char *find_option(const PQconninfoOption *option, const char *keyword) {
    for (; option != NULL && option->keyword != NULL; option++)
        if (strcmp(option->keyword, keyword) == 0)
            return option->val;
    return NULL;
}

/* A URL whose password has an unescaped '/' parses, with the password's beginning for a port, and
 * libpq would quote that in its errors. */
static bool has_odd_port(const PQconninfoOption *options) {
    const char *port = find_option(options, "port");

    return port != NULL && port[strspn(port, "0123456789,")] != '\0';
}

int pg_options_check(const char *conninfo) {
    char *error = NULL;
    PQconninfoOption *options = PQconninfoParse(conninfo, &error);
    int rv = options != NULL ? 0 : (error != NULL ? UV_EINVAL : UV_ENOMEM);

    if (has_odd_port(options))
        rv = UV_EINVAL;
    PQconninfoFree(options);
    PQfreemem(error);
    return rv;
}

/* What the user set, and then ours: the last one of a name wins. NULL without memory. */
static char *join_settings(const char *conninfo, const char *settings) {
    PQconninfoOption *options = PQconninfoParse(conninfo, NULL);
    const char *theirs = find_option(options, "options");
    char *joined = NULL;
    size_t size;

    if (theirs == NULL)
        theirs = getenv("PGOPTIONS");
    if (theirs == NULL)
        theirs = "";
    size = strlen(theirs) + strlen(settings) + sizeof " ";
    if (options != NULL)
        joined = malloc(size);
    if (joined != NULL)
        (void)snprintf(joined, size, "%s %s", theirs, settings);
    PQconninfoFree(options);
    return joined;
}

int pg_options_copy(struct pg_pool *pool, const struct pg_pool_options *options) {
    pool->conninfo = strdup(options->conninfo);
    pool->name = strdup(options->name != NULL ? options->name : "postgres");
    if (options->settings != NULL)
        pool->options = join_settings(options->conninfo, options->settings);
    return pool->conninfo == NULL || pool->name == NULL ||
                   (options->settings != NULL && pool->options == NULL)
               ? UV_ENOMEM
               : 0;
}
