/* lab build: builds a student's file as a shared object, for `inventory-svc --exercise`. */
#include "command.h"

#include "complain.h"
#include "settings.h"
#include "student.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static struct { char *output; } set;

static const struct setting table[] = {
    {"output", 'o', SETTING_TEXT, &set.output, "", "the file to write; default: FILE.so", NULL},
    {.name = NULL}};

static const struct settings_program program = {
    .about = "lab build: build a student's file as a shared object\n"
             "\nRun it with inventory-svc --lab --exercise.",
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

static int command_build_build(const char *path) {
    char to[PATH_MAX];
    struct student_file file;
    enum student_end end;
    int code = EXIT_USAGE;

    if (set.output[0] != '\0')
        (void)snprintf(to, sizeof to, "%s", set.output);
    else
        (void)snprintf(to, sizeof to, "%.*s.so", (int)(strlen(path) < 2 ? 0 : strlen(path) - 2),
                       path);
    end = student_build(path, path, &file);
    if (end != STUDENT_OK) {
        fprintf(stderr, "%s%s\n", end == STUDENT_BROKEN ? "lab build: " : "", file.message);
        code = end == STUDENT_BROKEN ? EXIT_INTERNAL : EXIT_USAGE;
    } else if (command_build_copy(file.object, to) != 0) {
        complain("lab build", "%s: %s", to, strerror(errno));
        code = EXIT_INTERNAL;
    } else {
        code = 0;
    }
    student_remove(&file);
    return code;
}

int command_build(int argc, char **argv) {
    enum settings_result result = settings_read(table, &program, &argc, argv, NULL);
    int code = result == SETTINGS_HELP ? 0 : EXIT_USAGE;

    if (result == SETTINGS_OK && argc == 2)
        code = command_build_build(argv[1]);
    else if (result == SETTINGS_OK)
        fprintf(stderr, "lab build: name one FILE.c\n");
    settings_free(table);
    return code;
}
