/* Opens what is to be explored. */
#include "source.h"

#include "command.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

static bool is_file(const char *name) {
    const size_t length = strlen(name);

    return length > 2 && strcmp(name + length - 2, ".c") == 0;
}

static int source_fail(const char *message, int code) {
    fprintf(stderr, "lab explore: %s\n", message);
    return code;
}

static int source_open_file(struct source *source, const char *path, const char *options) {
    char text[256], message[STUDENT_MESSAGE];
    const struct strategy *strategy;

    if (student_build(path, &source->file) != STUDENT_OK)
        return source_fail(source->file.message, EXIT_USAGE);
    strategy = student_load(source->file.object, message);
    student_remove(&source->file); /* it is loaded; and may end us where nobody removes anything */
    if (strategy == NULL)
        return source_fail(message, EXIT_USAGE);
    (void)snprintf(text, sizeof text, "exercise%s%s", options[0] != '\0' ? "," : "", options);
    if (spec_parse_of(strategy, text, &source->spec, message) != 0)
        return source_fail(message, EXIT_USAGE);
    assert(source->spec.strategy == strategy);
    return 0;
}

int source_open(struct source *source, const char *name, const char *options) {
    char text[512], message[MESSAGE_BYTES];

    *source = (struct source){.file = {.message = ""}};
    if (is_file(name))
        return source_open_file(source, name, options);
    (void)snprintf(text, sizeof text, "%s%s%s", name, options[0] != '\0' ? "," : "", options);
    return spec_parse(text, &source->spec, message) == 0 ? 0 : source_fail(message, EXIT_USAGE);
}

void source_close(struct source *source) {
    student_remove(&source->file);
}
