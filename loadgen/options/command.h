/* The commands: their arguments, their settings, and their --help. */
#ifndef LOADGEN_COMMAND_H
#define LOADGEN_COMMAND_H

#include <stdbool.h>

/* The command is the first argument that is no flag; FIRE without one. */
enum command {
    COMMAND_FIRE,
    COMMAND_CREATE,
    COMMAND_PLAN,
    COMMAND_SEND,
    COMMAND_MERGE,
    COMMAND_CHECK,
    COMMAND_DIFF,
    COMMAND_REPORT,
    COMMAND_EXPORT,
    COMMAND_SERVE,
    COMMAND_CLAIMS,
    COMMAND_SHOP,
};
#define COMMAND_COUNT (COMMAND_SHOP + 1)

struct command_words {
    const char *word;     /* "" for FIRE */
    int least, most;      /* arguments after it */
    const char *rest;     /* the end of its usage line */
    const char *about;    /* the text of --help above the settings */
    const char *settings; /* names of the settings it has; for FIRE, of those it lacks */
};
extern const struct command_words command_table[COMMAND_COUNT];

/* Returns 0, or -1 if no command has this word. */
__attribute__((warn_unused_result)) int command_find(const char *word, enum command *command);
/* Whether the command uses the setting. */
bool command_has(enum command command, const char *setting);

#endif
