/* The commands that a user types for our scripts. Programs print them. They differ between a
 * checkout and an installed copy: the script that started this program names them in the
 * environment. */
#ifndef UVKIT_USER_COMMAND_H
#define UVKIT_USER_COMMAND_H

#include <stdbool.h>
#include <stdio.h>

/* Name, variable, and the command in a checkout. */
#define USER_COMMANDS(X)                                                                           \
    X(UP, "SALE_UP", "make up")                                                                    \
    X(DOWN, "SALE_DOWN", "make down")                                                              \
    X(STACK, "SALE_STACK", "scripts/stack")                                                        \
    X(LOADGEN, "SALE_LOADGEN", "scripts/loadgen")                                                  \
    X(AUDIT, "SALE_AUDIT", "scripts/audit")                                                        \
    X(LAB, "SALE_LAB", "scripts/lab")                                                              \
    X(EXPLORER, "SALE_EXPLORER", "lab") /* the program; the script takes its commands, too */

enum user_command {
#define X(name, variable, text) USER_##name,
    USER_COMMANDS(X)
#undef X
};

/* True if a script named this command. */
bool user_command_is_known(enum user_command command);

/* Returns the command, quoted for a shell. It lives until the environment changes. */
const char *user_command(enum user_command command);

/* Print the command after this process's RUN_DIR, so that it speaks to the same stack. */
void user_command_print(enum user_command command, FILE *to);

/* This program is the lab: USER_EXPLORER is the script that started it, or `argv0`, which the user
 * typed. It stays so when the program begins itself again. */
void user_command_called(const char *argv0);

/* Print `text` with each "scripts/lab" as the user types it. */
void user_command_print_text(const char *text, FILE *to);

#endif
