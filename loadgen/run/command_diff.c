/* loadgen diff: compares two runs by their results folders. */
#include "commands.h"

#include "diff.h"
#include "report.h"
#include "run.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#define PATH_TEXT 1100

struct side {
    const char *folder;
    json_t *summary, *environment;
};

/* NULL, and `why` says what is wrong; `why` stays empty when there is no such file. */
static json_t *load(const char *folder, const char *name, char *why, size_t why_size) {
    char path[PATH_TEXT];
    struct stat file;
    json_error_t error;
    json_t *json;

    why[0] = '\0';
    snprintf(path, sizeof path, "%s/%s", folder, name);
    if (stat(path, &file) != 0 && (errno == ENOENT || errno == ENOTDIR))
        return NULL;
    json = json_load_file(path, JSON_REJECT_DUPLICATES, &error);
    if (json == NULL)
        snprintf(why, why_size, "%s is not JSON that can be read: line %d: %s", path, error.line,
                 error.text);
    return json;
}

static int fail(const char *why) {
    fprintf(stderr, "loadgen: diff: %s\n", why);
    return EXIT_USAGE;
}

static int check(const struct side *side) {
    const json_t *version = json_object_get(side->summary, "schema_version");
    char why[PATH_TEXT + 200];

    if (!json_is_integer(version) || !json_is_array(json_object_get(side->summary, "strategies"))) {
        snprintf(why, sizeof why, "%s/summary.json is not the summary of a run", side->folder);
        return fail(why);
    }
    if (json_integer_value(version) != REPORT_SCHEMA) {
        snprintf(why, sizeof why,
                 "%s/summary.json has schema_version %lld, and this loadgen reads %d: run it "
                 "again",
                 side->folder, (long long)json_integer_value(version), REPORT_SCHEMA);
        return fail(why);
    }
    return 0;
}

/* An env.json that is missing or damaged is no reason not to compare the rest. */
static int open_side(struct side *side, const char *folder) {
    char why[PATH_TEXT + 300];

    side->folder = folder;
    side->summary = load(folder, "summary.json", why, sizeof why);
    if (side->summary == NULL) {
        if (why[0] == '\0')
            snprintf(why, sizeof why,
                     "%.1000s has no summary.json: name the folder of a run that has ended, such "
                     "as results/latest",
                     folder);
        return fail(why);
    }
    side->environment = load(folder, "env.json", why, sizeof why);
    if (why[0] != '\0')
        fprintf(stderr, "loadgen: diff: the machines are not compared: %s\n", why);
    return check(side);
}

static int print(const struct options *options, const json_t *diff, const struct side *a,
                 const struct side *b, FILE *to) {
    if (strcmp(options->output_format, "json") != 0) {
        diff_print(diff, a->folder, b->folder, to);
    } else {
        if (json_dumpf(diff, to, JSON_INDENT(2) | JSON_REAL_PRECISION(9)) != 0)
            return -1;
        fputc('\n', to);
    }
    return fflush(to) == 0 && !ferror(to) ? 0 : -1;
}

static int compare(const struct options *options, const struct side *a, const struct side *b,
                   FILE *to) {
    json_t *diff = diff_make(a->summary, b->summary, a->environment, b->environment);
    int exit_code = EXIT_AS_EXPECTED;

    if (diff == NULL) {
        fprintf(stderr, "loadgen: diff: out of memory\n");
        return EXIT_INTERNAL;
    }
    if (json_array_size(json_object_get(diff, "strategies")) == 0) {
        exit_code = fail("the runs have no strategy in common");
    } else if (print(options, diff, a, b, to) != 0) {
        fprintf(stderr, "loadgen: diff: the output could not be written: %s\n", strerror(errno));
        exit_code = EXIT_INTERNAL;
    } else if (json_is_true(json_object_get(diff, "is_worse"))) {
        exit_code = EXIT_UNEXPECTED;
    }
    json_decref(diff);
    return exit_code;
}

int command_diff(const struct options *options, FILE *to) {
    struct side a = {NULL, NULL, NULL}, b = {NULL, NULL, NULL};
    int exit_code = open_side(&a, options->arguments[0]);

    if (exit_code == 0)
        exit_code = open_side(&b, options->arguments[1]);
    if (exit_code == 0)
        exit_code = compare(options, &a, &b, to);
    json_decref(a.summary);
    json_decref(a.environment);
    json_decref(b.summary);
    json_decref(b.environment);
    return exit_code;
}
