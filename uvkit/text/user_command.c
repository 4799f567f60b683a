/* A command comes from the environment. Without one it is that of a checkout. */
#include "user_command.h"

#include "shell_word.h"

#include <stdlib.h>
#include <string.h>

static const struct {
    const char *variable, *text;
} commands[] = {
#define X(name, variable, text) {variable, text},
    USER_COMMANDS(X)
#undef X
};

bool user_command_is_known(enum user_command command) {
    return getenv(commands[command].variable) != NULL;
}

const char *user_command(enum user_command command) {
    const char *text = getenv(commands[command].variable);

    return text != NULL && text[0] != '\0' ? text : commands[command].text;
}

void user_command_print(enum user_command command, FILE *to) {
    const char *run_dir = getenv("RUN_DIR");

    if (run_dir != NULL && run_dir[0] != '\0') {
        fputs("RUN_DIR=", to);
        shell_word_print(run_dir, strlen(run_dir), to);
        fputc(' ', to);
    }
    fputs(user_command(command), to);
}

void user_command_called(const char *argv0) {
    char *text = NULL;
    size_t size;
    FILE *to = open_memstream(&text, &size);

    if (to == NULL)
        return;
    if (user_command_is_known(USER_LAB))
        fputs(user_command(USER_LAB), to);
    else
        shell_word_print(argv0, strlen(argv0), to);
    if (fclose(to) == 0)
        (void)setenv(commands[USER_EXPLORER].variable, text, user_command_is_known(USER_LAB));
    free(text);
}

void user_command_print_text(const char *text, FILE *to) {
    static const char script[] = "scripts/lab";
    const char *at;

    while ((at = strstr(text, script)) != NULL) {
        fprintf(to, "%.*s%s", (int)(at - text), text, user_command(USER_LAB));
        text = at + strlen(script);
    }
    fputs(text, to);
}
