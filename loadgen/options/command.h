/* What loadgen can be asked to do: its first argument that is no flag; FIRE without one. */
#ifndef LOADGEN_COMMAND_H
#define LOADGEN_COMMAND_H

#include <stdbool.h>

enum command {
    COMMAND_FIRE,
    COMMAND_CREATE,
    COMMAND_CHECK,
    COMMAND_DIFF,
    COMMAND_REPORT,
    COMMAND_SERVE,
    COMMAND_CLAIMS,
};

struct command_words {
    const char *word;     /* "" for FIRE */
    int least, most;      /* arguments after it */
    const char *rest;     /* the end of its usage line */
    const char *about;    /* what --help says above its settings */
    const char *settings; /* the names of its own; of FIRE, those that it has not */
};

/* By its word: 0, or -1 when there is none. */
int command_find(const char *word, enum command *command);
const struct command_words *command_words(enum command command);
/* Whether a setting of this name does anything there. */
bool command_has(enum command command, const char *setting);

#endif
