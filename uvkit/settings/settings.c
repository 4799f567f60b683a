/* Settings: defaults, then the environment, then the flags go into the table's values. */
#include "complain.h"
#include "settings_internal.h"

#include "utf8.h"

#include <assert.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NAME_MAX_BYTES 64

struct reader {
    const struct setting *table;
    const char *program, *prefix, *rest;
    struct settings_given given;
    int argc;
    char **argv;
    int at;        /* the argument that is read */
    int kept;      /* arguments moved to the front, argv[0] among them */
    char why[256]; /* of the last error */
};

/* Tell on stderr, in a line, what is wrong. */
__attribute__((format(printf, 2, 3))) static enum settings_result settings_refuse(
    const struct reader *reader, const char *format, ...) {
    va_list args;

    va_start(args, format);
    complain_list(reader->program, format, args);
    va_end(args);
    return SETTINGS_ERROR;
}

/* The number of letters to add, drop or change between two words; `b` is at most NAME_MAX_BYTES. */
static size_t edit_distance(const char *a, const char *b) {
    size_t row[NAME_MAX_BYTES + 1];
    size_t length = strnlen(b, NAME_MAX_BYTES);

    for (size_t j = 0; j <= length; j++)
        row[j] = j;
    for (size_t i = 0; a[i] != '\0'; i++) {
        size_t diagonal = row[0];

        row[0] = i + 1;
        for (size_t j = 0; j < length; j++) {
            size_t change = diagonal + (a[i] != b[j]);
            size_t shorter = row[j] < row[j + 1] ? row[j] : row[j + 1];

            diagonal = row[j + 1];
            row[j + 1] = change < shorter + 1 ? change : shorter + 1;
        }
    }
    return row[length];
}

static const char *nearest_name(const struct reader *reader, const char *name) {
    size_t best = strlen(name) / 3 + 1;
    const char *nearest = NULL;

    if (strlen(name) > NAME_MAX_BYTES)
        return NULL;
    for (const struct setting *setting = reader->table; setting->name != NULL; setting++) {
        size_t distance = edit_distance(name, setting->name);

        if (distance <= best && (nearest == NULL || distance < best)) {
            best = distance;
            nearest = setting->name;
        }
    }
    return nearest;
}

static enum settings_result refuse_unknown(const struct reader *reader, const char *name) {
    const char *nearest = nearest_name(reader, name);

    if (nearest != NULL)
        return settings_refuse(reader, "unknown flag --%.64s; did you mean --%s?", name, nearest);
    return settings_refuse(reader, "unknown flag --%.64s; --help lists what there is", name);
}

static enum settings_result refuse_secret(const struct reader *reader,
                                          const struct setting *setting) {
    char variable[SETTINGS_VARIABLE_BYTES];

    settings_variable(setting, reader->prefix, variable);
    return settings_refuse(reader,
                           "--%s is a secret, and flags show in the process list; set %s instead",
                           setting->name, variable);
}

static const struct setting *find_by_name(const struct setting *table, const char *name,
                                          size_t length) {
    for (; table->name != NULL; table++)
        if (strlen(table->name) == length && memcmp(table->name, name, length) == 0)
            return table;
    return NULL;
}

static const struct setting *find_by_letter(const struct setting *table, char letter) {
    for (; table->name != NULL; table++)
        if (table->letter != 0 && table->letter == letter)
            return table;
    return NULL;
}

static uint64_t settings_bit_of(const struct reader *reader, const struct setting *setting) {
    ptrdiff_t place = setting - reader->table;

    assert(place < 64);
    return UINT64_C(1) << place;
}

/* The first flag of a list replaces what the environment says, and the others add to it. */
static int set_or_add(struct reader *reader, const struct setting *setting, const char *text) {
    uint64_t bit = settings_bit_of(reader, setting);
    bool is_further = setting->type == SETTING_LIST && (reader->given.by_flag & bit) != 0;

    reader->given.by_flag |= bit;
    return (is_further ? settings_append : settings_set)(setting, text, reader->why,
                                                         sizeof reader->why);
}

/* Give a setting the value that a flag has: `text`, or the next argument when it is NULL. */
static enum settings_result set_by_flag(struct reader *reader, const struct setting *setting,
                                        const char *text) {
    const char *next = reader->at + 1 < reader->argc ? reader->argv[reader->at + 1] : NULL;

    if (setting->type == SETTING_SECRET)
        return refuse_secret(reader, setting);
    if (text == NULL && setting->type == SETTING_FLAG) {
        text = "true";
    } else if (text == NULL) {
        if (next == NULL || strncmp(next, "--", 2) == 0)
            return settings_refuse(reader, "--%s needs a value", setting->name);
        text = next;
        reader->at++;
    }
    if (set_or_add(reader, setting, text) != 0)
        return settings_refuse(reader, "--%s: %s", setting->name, reader->why);
    return SETTINGS_OK;
}

static enum settings_result read_long(struct reader *reader, const char *name) {
    size_t length = strcspn(name, "=");
    const struct setting *setting = find_by_name(reader->table, name, length);
    char unknown[NAME_MAX_BYTES + 1];

    if (setting != NULL)
        return set_by_flag(reader, setting, name[length] == '=' ? name + length + 1 : NULL);
    (void)snprintf(unknown, sizeof unknown, "%.*s", (int)(length < 64 ? length : 64), name);
    return refuse_unknown(reader, unknown);
}

static enum settings_result read_short(struct reader *reader, const char *text) {
    const struct setting *setting = find_by_letter(reader->table, text[0]);

    if (setting == NULL || (setting->type == SETTING_FLAG && text[1] != '\0'))
        return settings_refuse(reader, "unknown flag -%.64s; --help lists what there is", text);
    return set_by_flag(reader, setting, text[1] != '\0' ? text + 1 : NULL);
}

static enum settings_result keep_rest(struct reader *reader, char *argument) {
    if (reader->rest == NULL)
        return settings_refuse(reader, "unexpected argument \"%.80s\"; --help shows the usage",
                               argument);
    assert(reader->kept <= reader->at);
    reader->argv[reader->kept++] = argument;
    return SETTINGS_OK;
}

static enum settings_result read_flags(struct reader *reader) {
    enum settings_result result = SETTINGS_OK;
    bool are_over = false;

    for (reader->at = 1; reader->at < reader->argc && result == SETTINGS_OK; reader->at++) {
        char *argument = reader->argv[reader->at];

        if (are_over || argument[0] != '-' || argument[1] == '\0')
            result = keep_rest(reader, argument);
        else if (argument[1] != '-')
            result = read_short(reader, argument + 1);
        else if (argument[2] != '\0')
            result = read_long(reader, argument + 2);
        else
            are_over = true;
    }
    return result;
}

static enum settings_result read_default(struct reader *reader, const struct setting *setting) {
    const char *text = setting->default_text;

    if (text == NULL)
        text = settings_is_text(setting) ? "" : "0";
    if (settings_set(setting, text, reader->why, sizeof reader->why) != 0)
        return settings_refuse(reader, "the default of --%s: %s", setting->name, reader->why);
    return SETTINGS_OK;
}

static enum settings_result read_environment(struct reader *reader, const struct setting *setting) {
    char variable[SETTINGS_VARIABLE_BYTES];
    const char *text;

    settings_variable(setting, reader->prefix, variable);
    text = getenv(variable);
    if (text == NULL)
        return SETTINGS_OK;
    if (setting->type == SETTING_SECRET && text[0] == '\0')
        return settings_refuse(reader, "%s is set but empty", variable);
    reader->given.by_environment |= settings_bit_of(reader, setting);
    if (settings_set(setting, text, reader->why, sizeof reader->why) != 0)
        return settings_refuse(reader, "%s: %s", variable, reader->why);
    return SETTINGS_OK;
}

static bool is_wanted(const struct reader *reader, const char *flag) {
    for (int i = 1; i < reader->argc && strcmp(reader->argv[i], "--") != 0; i++)
        if (strcmp(reader->argv[i], flag) == 0)
            return true;
    return false;
}

static bool is_help_wanted(const struct reader *reader) {
    return is_wanted(reader, "--help") ||
           (find_by_letter(reader->table, 'h') == NULL && is_wanted(reader, "-h"));
}

static void clear_texts(const struct setting *table) {
    for (; table->name != NULL; table++)
        if (settings_is_text(table))
            *(char **)table->value = NULL;
}

static enum settings_result settings_read_all(struct reader *reader) {
    for (const struct setting *setting = reader->table; setting->name != NULL; setting++)
        if (read_default(reader, setting) != SETTINGS_OK ||
            read_environment(reader, setting) != SETTINGS_OK)
            return SETTINGS_ERROR;
    return read_flags(reader);
}

enum settings_result settings_read(const struct setting *table,
                                   const struct settings_program *program, int *argc, char **argv,
                                   struct settings_given *given) {
    const char *path = *argc > 0 ? argv[0] : "";
    const char *slash = strrchr(path, '/');
    struct reader reader = {.table = table,
                            .program = slash != NULL ? slash + 1 : path,
                            .prefix = program->prefix,
                            .rest = program->rest,
                            .argc = *argc,
                            .argv = argv,
                            .kept = 1};

    clear_texts(table);
    if (is_help_wanted(&reader)) {
        settings_help(table, reader.program, program);
        return SETTINGS_HELP;
    }
    if (is_wanted(&reader, "--version")) {
        (void)printf("%s %s\n", reader.program, program->version);
        return SETTINGS_HELP;
    }
    if (settings_read_all(&reader) != SETTINGS_OK) {
        settings_free(table);
        return SETTINGS_ERROR;
    }
    *argc = reader.kept;
    argv[reader.kept] = NULL;
    if (given != NULL)
        *given = reader.given;
    return SETTINGS_OK;
}

void settings_free(const struct setting *table) {
    for (; table->name != NULL; table++) {
        if (settings_is_text(table)) {
            char **value = table->value;

            free(*value);
            *value = NULL;
        }
    }
}
