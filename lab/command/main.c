/* lab: explores strategies, and checks and grades a student's. */
#include "command.h"

#include "complain.h"
#include "inherited.h"
#include "user_command.h"
#include "version.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const struct {
    const char *name, *help;
    int (*run)(int argc, char **argv);
} commands[] = {
    {"explore", "run every schedule of a few orders; show the shortest that fails",
     command_explore},
    {"check", "run a chapter's checks on a student's file", command_check},
    {"grade", "grade a folder of such files; write results.json", command_grade},
    {"strategies", "list which faults each strategy survives", command_strategies},
    {"build", "build such a file as a shared object, for live runs", command_build},
};

static int main_list(FILE *to) {
    fprintf(to,
            "lab: run the strategies under every schedule\n\nUsage: lab COMMAND [OPTION...]\n\n");
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++)
        fprintf(to, "  %-12s %s\n", commands[i].name, commands[i].help);
    fprintf(to, "\n`lab COMMAND --help` lists the options.\n");
    return to == stdout ? 0 : EXIT_USAGE;
}

/* Returns -1 or an exit code, like reference_asked(). */
static int main_reference(int argc, char **argv) {
    static const struct settings_program program = {
        .about = "lab: run the strategies under every schedule", .prefix = "LAB"};
    const struct reference_command rows[] = {{"", &program, NULL}, reference_explore,
                                             reference_check,      reference_grade,
                                             reference_strategies, reference_build};
    const struct reference reference = {"lab", 1, ".Xr loadgen 1\n", rows,
                                        sizeof rows / sizeof *rows};

    return reference_asked(&reference, argc, argv);
}

int main(int argc, char **argv) {
    const int told = main_reference(argc, argv);

    if (told >= 0)
        return told;
    inherited_mend();
    user_command_called(argv[0] != NULL ? argv[0] : "lab");
    if (argc < 2)
        return main_list(stderr);
    if (strcmp(argv[1], "--version") == 0)
        return printf("lab %s\n", version_text()) > 0 && fflush(stdout) == 0 ? 0 : EXIT_INTERNAL;
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "help") == 0)
        return main_list(stdout);
    if (access("/proc/self/exe", F_OK) != 0) {
        complain("lab", "/proc: %s: the sandbox needs it: mount -t proc proc /proc",
                 strerror(errno));
        return EXIT_INTERNAL;
    }
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++)
        if (strcmp(argv[1], commands[i].name) == 0)
            return commands[i].run(argc - 1, argv + 1);
    complain("lab", "unknown command \"%.60s\"", argv[1]);
    return main_list(stderr);
}
