/* Makes another environment, without libpq's variables. */
#include "pg_variables.h"

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char **given, **left; /* setenv() may copy `left` */

/* Debian's tools and our scripts own PG_BIN and other variables in PG_. */
static bool is_of_libpq(const char *variable) {
    return strncmp(variable, "PG", 2) == 0 && variable[2] != '_';
}

void pg_variables_forget(void) {
    size_t count = 0, kept = 0;

    assert(given == NULL); /* once */
    while (environ[count] != NULL)
        count++;
    left = malloc((count + 1) * sizeof *left);
    if (left == NULL)
        abort(); /* the program has not begun yet */
    for (size_t i = 0; i < count; i++)
        if (!is_of_libpq(environ[i]))
            left[kept++] = environ[i];
    left[kept] = NULL;
    given = environ;
    environ = left;
}

void pg_variables_remember(void) {
    for (char **variable = given; variable != NULL && *variable != NULL; variable++)
        if (is_of_libpq(*variable))
            (void)putenv(*variable);
}
