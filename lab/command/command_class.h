/* lab grade --class: grades the folders of a class. */
#ifndef LAB_COMMAND_CLASS_H
#define LAB_COMMAND_CLASS_H

#include <stdbool.h>
#include <stdint.h>

struct command_class {
    const char *folder, *chapters;              /* of the students; of the chapters */
    const char *csv, *gradescope, *page, *keep; /* the files to write; "": none */
    int64_t processes, chapter, seed;           /* 0: one for each processor; all; the files' */
    bool has_names;                             /* on the page */
    const volatile bool *is_interrupted;
};

/* Returns an exit code. */
int command_class(const struct command_class *class);

#endif
