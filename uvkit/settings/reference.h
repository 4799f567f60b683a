/* A program prints its reference from the tables that --help prints: its part of docs/reference.md,
 * its man page, and the words that a shell completes.
 *
 *     PROGRAM --help-format markdown
 *     PROGRAM --help-format man
 *     PROGRAM --help-format words ARGUMENT... WORD
 *
 * The last prints the words that may stand in the place of WORD, which a user is typing: a line for
 * each, with a tab and its help. It prints nothing where a file or a value may stand. */
#ifndef UVKIT_REFERENCE_H
#define UVKIT_REFERENCE_H

#include "settings.h"

#include <stddef.h>

struct reference_command {
    const char *word; /* "" for the program itself */
    const struct settings_program *program;
    const struct setting *table; /* NULL: it has no settings */
};

struct reference {
    const char *name;
    int section;                              /* of the manual */
    const char *also;                         /* macros for SEE ALSO: ".Xr lab 1\n"; or NULL */
    const struct reference_command *commands; /* the first is the program itself */
    size_t count;
};

/* If `argv` asks for a reference, print it. Returns -1 if it does not ask. Otherwise the exit code:
 * 0; or 64 or 74 after a line on stderr with the reason. */
int reference_asked(const struct reference *reference, int argc, char **argv);

#endif
