/* lockctl: locks of a cluster for shells, as flock(1) has them on one machine. */
#include "lockctl.h"

#include "inherited.h"
#include "pg_variables.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

static const char help[] =
    "lockctl: hold a distributed lock while a command runs, as flock(1) does on one\n"
    "machine, and look at who holds it.\n"
    "\n"
    "  lockctl run URL NAME -- COMMAND...  run it while the lock is held\n"
    "  lockctl holders URL NAME            who holds it, and who waits\n"
    "  lockctl break URL NAME [OWNER]      take it from its holder\n"
    "  lockctl watch URL NAME              print each change of holder\n"
    "  lockctl bench URL                   how fast locks are acquired and released\n"
    "  lockctl COMMAND --help              settings and exit codes of a command\n"
    "  lockctl --version                   of lockctl and of lockkit\n"
    "\n"
    "URL names a backend, such as redis://127.0.0.1:6379. Arguments show in the list\n"
    "of processes: with a password in it, set LOCKCTL_URL, and - stands for that.\n";

static const struct {
    const char *name;
    int (*main)(int argc, char **argv);
} commands[] = {{"lockctl run", run_main},
                {"lockctl holders", holders_main},
                {"lockctl break", break_main},
                {"lockctl watch", watch_main},
                {"lockctl bench", bench_main}};

static int run_command(int argc, char **argv) {
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++)
        if (strcmp(argv[1], commands[i].name + strlen("lockctl ")) == 0) {
            char name[32];

            (void)snprintf(name, sizeof name, "%s", commands[i].name);
            argv[1] = name;
            return commands[i].main(argc - 1, argv + 1);
        }
    return fail(EX_USAGE, "there is no command \"%.80s\"; lockctl --help lists what there is",
                argv[1]);
}

int main(int argc, char **argv) {
    int code = EX_OK;

    inherited_mend();
    pg_variables_forget();
    if (argc < 2)
        return fail(EX_USAGE, "which command? lockctl --help lists what there is");
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0)
        (void)fputs(help, stdout);
    else if (strcmp(argv[1], "--version") == 0)
        (void)printf("lockctl %s\n", lk_version());
    else
        code = run_command(argc, argv);
    if (fflush(stdout) != 0 || ferror(stdout))
        return code == EX_OK ? fail(EX_IOERR, "the output cannot be written") : code;
    return code;
}
