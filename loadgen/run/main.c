/* loadgen: fires a flash sale at the order service and judges the ledger. */
#include "complain.h"
#include "core_file.h"
#include "environment.h"
#include "fiber.h"
#include "file_error.h"
#include "inherited.h"
#include "log.h"
#include "loop.h"
#include "options.h"
#include "pg_variables.h"
#include "run.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static FILE *open_output(const char *path) {
    FILE *to = path[0] != '\0' ? fopen(path, "w") : stdout;

    if (to == NULL)
        complain("loadgen", "--output %s: %s", path, strerror(errno));
    return to;
}

static int run_to(struct options *options, FILE *to) {
    uv_loop_t loop;
    int exit_code = loop_init(&loop);

    if (exit_code != 0) {
        complain("loadgen", "no event loop can be made: %s", uv_strerror(exit_code));
        return EXIT_INTERNAL;
    }
    exit_code = run(&loop, options, to);
    fiber_cleanup();
    (void)uv_loop_close(&loop);
    return exit_code;
}

int main(int argc, char **argv) {
    struct options *options = NULL;
    int exit_code = EXIT_USAGE;
    FILE *to;

    inherited_mend();
    pg_variables_forget();
    core_file_forbid(); /* it holds the passwords of two databases */
    log_init("loadgen", LOG_ERROR);
    switch (options_read(&options, environment_revision(), argc, argv)) {
    case OPTIONS_HELP:
        exit_code = 0;
        break;
    case OPTIONS_BAD:
        break;
    case OPTIONS_OK:
        to = open_output(options->output);
        if (to == NULL)
            break;
        exit_code = run_to(options, to);
        if (to != stdout && fclose(to) != 0 && exit_code != EXIT_INTERNAL) {
            complain("loadgen", "--output %s: %s", options->output, file_error(errno));
            exit_code = EXIT_INTERNAL;
        }
    }
    options_free();
    return exit_code;
}
