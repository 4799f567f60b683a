/* lab build: builds a student's file as a shared object, for `inventory-svc --exercise`. */
#include "command.h"

#include "complain.h"
#include "explore.h"
#include "fiber.h"
#include "settings.h"
#include "spec.h"
#include "stranger.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

static struct { char *output; } set;

static const struct setting table[] = {
    {"output", 'o', SETTING_TEXT, &set.output, "", "the file to write; default: FILE.so", NULL},
    {.name = NULL}};

static const struct settings_program program = {
    .about = "lab build: build a student's file as a shared object\n"
             "\nIt sells one unit in the sandbox first, so that a crash or an endless loop is\n"
             "told with its line. Run it with inventory-svc --lab --exercise.",
    .prefix = "LAB",
    .name = "lab build",
    .rest = "FILE.c"};
const struct reference_command reference_build = {"build", &program, table};

/* Copy to a new file and rename it over the old one, which a running service may have open. */
static int command_build_copy(const char *from, const char *to) {
    char fresh[PATH_MAX], bytes[65536];
    FILE *in = fopen(from, "r"), *out = NULL;
    size_t got;
    int err = -1;

    if (in != NULL && snprintf(fresh, sizeof fresh, "%s.new", to) < (int)sizeof fresh)
        out = fopen(fresh, "w");
    if (out != NULL) {
        while ((got = fread(bytes, 1, sizeof bytes, in)) > 0 && fwrite(bytes, 1, got, out) == got)
            ;
        err = ferror(in) || ferror(out) ? -1 : 0;
        if (fclose(out) != 0 || err != 0 || rename(fresh, to) != 0)
            err = -1;
    }
    if (in != NULL)
        (void)fclose(in);
    return err;
}

static volatile bool is_interrupted;

static void command_build_on_interrupt(int number) {
    (void)number;
    is_interrupted = true;
}

/* Sell one unit in the sandbox, so that a mistake which each sale meets is told before a server
 * starts. */
static int try(const char *path, const struct strategy *strategy) {
    struct model_setup setup = {.strategy = strategy, .orders = 1, .instances = 1};
    struct strategy_spec spec;
    struct why why;

    if (spec_parse_of(strategy, "exercise", &spec, &why) != 0 || spec.options.shards > MODEL_SHARDS)
        return 0; /* the model is too small for it */
    setup.options = spec.options;
    setup.stock = spec.options.shards;
    if (explore_steps_alone(&setup) < EXPLORE_MOVES || !stranger_is_well())
        return stranger_end(path);
    complain("lab build", "%s: an order does not end: it calls the store again and again", path);
    return EXIT_VIOLATED;
}

static int command_build_build(const char *path) {
    const struct strategy *strategy;
    char to[PATH_MAX];
    int code;

    if (set.output[0] != '\0')
        (void)snprintf(to, sizeof to, "%s", set.output);
    else
        (void)snprintf(to, sizeof to, "%.*s.so", (int)(strlen(path) < 2 ? 0 : strlen(path) - 2),
                       path);
    code = stranger_load("lab build", path, &is_interrupted, &strategy);
    if (code == 0)
        code = try(path, strategy);
    if (code == 0 && command_build_copy(stranger_object(), to) != 0) {
        complain("lab build", "%s: %s", to, strerror(errno));
        code = EXIT_INTERNAL;
    }
    stranger_forget();
    return code;
}

int command_build(int argc, char **argv) {
    enum settings_result result = settings_read(table, &program, &argc, argv, NULL);
    int code = result == SETTINGS_HELP ? 0 : EXIT_USAGE;

    (void)signal(SIGINT, command_build_on_interrupt);
    (void)signal(SIGTERM, command_build_on_interrupt);
    if (result == SETTINGS_OK && argc == 2)
        code = command_build_build(argv[1]);
    else if (result == SETTINGS_OK)
        fprintf(stderr, "lab build: name one FILE.c\n");
    fiber_cleanup();
    settings_free(table);
    return code;
}
