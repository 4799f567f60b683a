/* --help: what the program is, how it is called, and a line for each setting. */
#include "settings_internal.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

void settings_variable(const struct setting *setting, const char *prefix,
                       char name[SETTINGS_VARIABLE_BYTES]) {
    (void)snprintf(name, SETTINGS_VARIABLE_BYTES, "%s_%s", prefix, setting->name);
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

static void print_setting(const struct setting *setting, const char *prefix, int width) {
    char variable[SETTINGS_VARIABLE_BYTES];
    const char *shown = setting->default_text;
    char usage[256];

    (void)format_usage(setting, prefix, usage, sizeof usage);
    (void)printf("  %-*s  %s", width, usage, setting->help);
    if (setting->type == SETTING_SECRET) {
        (void)printf(" [only from the environment]\n");
        return;
    }
    if (shown == NULL || shown[0] == '\0')
        shown = setting->type == SETTING_FLAG ? "false" : settings_is_text(setting) ? "empty" : "0";
    (void)printf(" [default %s", shown);
    if (setting->range != NULL)
        (void)printf("; %s", setting->range);
    settings_variable(setting, prefix, variable);
    (void)printf("; %s]\n", variable);
}

void settings_help(const struct setting *table, const char *name,
                   const struct settings_program *program) {
    const char *rest = program->rest;
    int width = widest_usage(table, program->prefix);

    (void)printf("%s\nusage: %s [settings]%s%s\n\n", program->about, name, rest != NULL ? " " : "",
                 rest != NULL ? rest : "");
    for (; table->name != NULL; table++)
        if (table->help != NULL)
            print_setting(table, program->prefix, width);
    (void)printf("  %-*s  %s\n", width, "    --help", "print this and exit");
    (void)printf("  %-*s  %s\n", width, "    --version", "print what it was built from, and exit");
}
