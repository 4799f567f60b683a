/* --help: what the program is, how it is called, and what each setting does. */
#include "settings_internal.h"

#include <assert.h>
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#define COLUMNS 80

void settings_variable(const struct setting *setting, const char *prefix,
                       char name[SETTINGS_VARIABLE_BYTES]) {
    const int length = snprintf(name, SETTINGS_VARIABLE_BYTES, "%s_%s", prefix, setting->name);

    assert(length > 0 && length < SETTINGS_VARIABLE_BYTES);
    (void)length;
    for (char *at = name; *at != '\0'; at++)
        *at = (char)(*at == '-' ? '_' : toupper((unsigned char)*at));
}

/* The first column: how the setting is given. A secret has no flag. */
static int format_usage(const struct setting *setting, const char *prefix, char *text,
                        size_t size) {
    static const char *const placeholders[] = {[SETTING_TEXT] = " TEXT",
                                               [SETTING_LIST] = " TEXT",
                                               [SETTING_INT] = " N",
                                               [SETTING_DURATION] = " DURATION",
                                               [SETTING_FLAG] = ""};
    char variable[SETTINGS_VARIABLE_BYTES];
    char letter[8] = "    ";

    if (setting->type == SETTING_SECRET) {
        settings_variable(setting, prefix, variable);
        return snprintf(text, size, "    %s=SECRET", variable);
    }
    if (setting->letter != 0)
        (void)snprintf(letter, sizeof letter, "-%c, ", setting->letter);
    return snprintf(text, size, "%s--%s%s", letter, setting->name, placeholders[setting->type]);
}

static int widest_usage(const struct setting *table, const char *prefix) {
    static const struct setting version = {.name = "version", .type = SETTING_FLAG};
    char text[256];
    int widest = format_usage(&version, prefix, text, sizeof text);

    for (; table->name != NULL; table++) {
        int width = format_usage(table, prefix, text, sizeof text);

        if (table->help != NULL && width > widest)
            widest = width;
    }
    return widest;
}

/* The words of one line up to COLUMNS, the rest of them indented below; `column` is that of the
 * first. */
static void print_wrapped(const char *text, size_t length, size_t column, size_t indent) {
    const char *end = text + length;
    bool is_first = true;

    while (text < end) {
        size_t word = strcspn(text, " \n");

        if (!is_first && column + 1 + word > COLUMNS) {
            (void)printf("\n%*s", (int)indent, "");
            column = indent;
        } else if (!is_first) {
            (void)putchar(' ');
            column++;
        }
        (void)printf("%.*s", (int)word, text);
        column += word;
        is_first = false;
        text += word + 1;
    }
    (void)putchar('\n');
}

/* Line by line, so that a list stays one. */
static void print_about(const char *text) {
    for (;;) {
        size_t length = strcspn(text, "\n");

        print_wrapped(text, length, 0, 0);
        if (text[length] == '\0')
            return;
        text += length + 1;
    }
}

static void print_setting(const struct setting *setting, const char *prefix, int width) {
    const char *shown = setting->default_text, *range = setting->range;
    char usage[256], variable[SETTINGS_VARIABLE_BYTES], text[1024];
    const size_t indent = (size_t)width + 4;

    (void)format_usage(setting, prefix, usage, sizeof usage);
    settings_variable(setting, prefix, variable);
    if (shown == NULL || shown[0] == '\0')
        shown = setting->type == SETTING_FLAG ? "false" : settings_is_text(setting) ? "empty" : "0";
    if (setting->type == SETTING_SECRET)
        (void)snprintf(text, sizeof text, "%s [only from the environment]", setting->help);
    else
        (void)snprintf(text, sizeof text, "%s [default %s%s%s; %s]", setting->help, shown,
                       range != NULL ? "; " : "", range != NULL ? range : "", variable);
    (void)printf("  %-*s  ", width, usage);
    print_wrapped(text, strlen(text), indent, indent);
}

void settings_help(const struct setting *table, const char *name,
                   const struct settings_program *program) {
    const char *rest = program->rest;
    int width = widest_usage(table, program->prefix);

    print_about(program->about);
    (void)printf("usage: %s [settings]%s%s\n\n", name, rest != NULL ? " " : "",
                 rest != NULL ? rest : "");
    for (; table->name != NULL; table++)
        if (table->help != NULL)
            print_setting(table, program->prefix, width);
    (void)printf("  %-*s  %s\n", width, "    --help", "print this and exit");
    (void)printf("  %-*s  %s\n", width, "    --version", "print what it was built from, and exit");
}
