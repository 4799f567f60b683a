/* The commands of `lab`, a file each. argv[0] is the command's own name. Each returns an exit code.
 */
#ifndef LAB_COMMAND_H
#define LAB_COMMAND_H

#include "reference.h"

enum {
    EXIT_HOLDS = 0,
    EXIT_VIOLATED = 1,
    EXIT_INCOMPLETE = 2,
    EXIT_USAGE = 64,
    EXIT_INTERNAL = 70,
    EXIT_INTERRUPTED = 130
};

/* Each command's name, and the settings that its --help lists. */
extern const struct reference_command reference_explore, reference_check, reference_grade,
    reference_build, reference_strategies;

int command_explore(int argc, char **argv);
int command_check(int argc, char **argv);
int command_grade(int argc, char **argv);
int command_build(int argc, char **argv);
int command_strategies(int argc, char **argv);

#endif
