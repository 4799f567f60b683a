/* The command line of a worker: each {url} in its arguments stands for the URL of its server. */
#ifndef LOCKJUDGE_COMMAND_H
#define LOCKJUDGE_COMMAND_H

#include <stdbool.h>

bool command_has_url(char *const *command);
/* A copy with `url` in place of the first {url} of each argument; free it with command_free(). NULL
 * without memory. */
char **command_make(char *const *command, const char *url);
void command_free(char **arguments);

/* Our environment with `variables` (NAME=VALUE, NULL at the end) in place of those with the same
 * names. The entries are not copied; free() the array alone. NULL without memory. */
char **command_environment(char *const *variables);

#endif
