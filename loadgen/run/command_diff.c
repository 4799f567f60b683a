/* loadgen diff: compares two runs by their results folders. */
#include "complain.h"
#include "diff.h"
#include "file_error.h"
#include "json_text.h"
#include "run.h"
#include "summary_json.h"
#include "summary_read.h"

#include <errno.h>
#include <string.h>

struct side {
    const char *folder;
    json_t *summary, *environment;
};

static int command_diff_fail(int exit_code, const char *why) {
    complain("loadgen", "diff: %s", why);
    return exit_code;
}

static int check_version(const struct side *side) {
    const json_t *version = json_object_get(side->summary, "schema_version");
    struct why why;

    if (json_integer_value(version) == SUMMARY_SCHEMA)
        return 0;
    if (json_is_integer(version))
        why_set(&why,
                "%s/summary.json has schema_version %lld, and this "
                "loadgen reads %d: run it again",
                side->folder, (long long)json_integer_value(version), SUMMARY_SCHEMA);
    else
        why_set(&why, "%s/summary.json is not the summary of a run", side->folder);
    return command_diff_fail(EXIT_NO_INPUT, why.text);
}

/* An env.json that is missing or damaged is no reason not to compare the rest. */
static int open_side(struct side *side, const char *folder) {
    struct why why;

    side->folder = folder;
    side->summary = summary_read(folder, &why);
    if (side->summary == NULL)
        return command_diff_fail(EXIT_NO_INPUT, why.text);
    side->environment = summary_read_environment(folder, &why);
    if (why.text[0] != '\0')
        complain("loadgen", "diff: the machines are not compared: %s", why.text);
    return check_version(side);
}

static int command_diff_print(const struct options *options, json_t *diff, const struct side *a,
                              const struct side *b, FILE *to) {
    if (strcmp(options->output_format, "json") == 0)
        return json_text_print(json_incref(diff), to);
    diff_print(diff, a->folder, b->folder, to);
    return fflush(to) == 0 && !ferror(to) ? 0 : -1;
}

static int command_diff_compare(const struct options *options, const struct side *a,
                                const struct side *b, FILE *to) {
    json_t *diff = diff_make(a->summary, b->summary, a->environment, b->environment);
    int exit_code = EXIT_AS_EXPECTED;

    if (diff == NULL) {
        fprintf(stderr, "loadgen: diff: out of memory\n");
        return EXIT_INTERNAL;
    }
    if (json_array_size(json_object_get(diff, "strategies")) == 0) {
        exit_code = command_diff_fail(EXIT_USAGE, "the runs have no strategy in common");
    } else if (command_diff_print(options, diff, a, b, to) != 0) {
        complain("loadgen", "diff: the output could not be written: %s", file_error(errno));
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
        exit_code = command_diff_compare(options, &a, &b, to);
    json_decref(a.summary);
    json_decref(a.environment);
    json_decref(b.summary);
    json_decref(b.environment);
    return exit_code;
}
