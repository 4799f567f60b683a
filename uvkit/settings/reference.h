/* What a program tells of itself besides --help, from the same tables: its part of
 * docs/reference.md, its man page, and the words that shells complete.
 *
 *     PROGRAM --help-format markdown
 *     PROGRAM --help-format man
 *     PROGRAM --help-format words ARGUMENT... WORD    what WORD, which is being typed, may become:
 *                                                     a line each, with a tab and its help */
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

/* Print what `argv` asks for. -1 when it does not ask for any of that; or the exit code: 0, or 64
 * after a line on stderr. */
int reference_asked(const struct reference *reference, int argc, char **argv);

#endif
