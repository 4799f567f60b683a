#include "command.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char hole[] = "{url}";

bool command_has_url(char *const *command) {
    for (; *command != NULL; command++)
        if (strstr(*command, hole) != NULL)
            return true;
    return false;
}

static char *argument_with_url(const char *argument, const char *url) {
    const char *at = strstr(argument, hole);
    const size_t size = strlen(argument) + strlen(url) + 1;
    char *text = malloc(size);

    if (text != NULL && at != NULL)
        (void)snprintf(text, size, "%.*s%s%s", (int)(at - argument), argument, url,
                       at + strlen(hole));
    else if (text != NULL)
        (void)snprintf(text, size, "%s", argument);
    return text;
}

void command_free(char **arguments) {
    for (size_t i = 0; arguments != NULL && arguments[i] != NULL; i++)
        free(arguments[i]);
    free(arguments);
}

char **command_make(char *const *command, const char *url) {
    size_t count = 0;
    char **arguments;

    while (command[count] != NULL)
        count++;
    arguments = calloc(count + 1, sizeof *arguments);
    for (size_t i = 0; arguments != NULL && i < count; i++) {
        arguments[i] = argument_with_url(command[i], url);
        if (arguments[i] == NULL) {
            command_free(arguments);
            return NULL;
        }
    }
    return arguments;
}

static bool is_among(char *const *variables, const char *entry) {
    const size_t length = strcspn(entry, "=") + 1;

    for (; *variables != NULL; variables++)
        if (strncmp(*variables, entry, length) == 0)
            return true;
    return false;
}

char **command_environment(char *const *variables) {
    size_t room = 1, count = 0;
    char **all;

    for (size_t i = 0; environ[i] != NULL; i++)
        room++;
    for (size_t i = 0; variables[i] != NULL; i++)
        room++;
    all = calloc(room, sizeof *all);
    if (all == NULL)
        return NULL;
    for (size_t i = 0; environ[i] != NULL; i++)
        if (!is_among(variables, environ[i]))
            all[count++] = environ[i];
    for (size_t i = 0; variables[i] != NULL; i++)
        all[count++] = variables[i];
    return all;
}
