/* Settings: fills the table's values from the defaults, then the environment, then the flags. */
#include "settings_internal.h"

#include "complain.h"
#include "number.h"
#include "version.h"
#include "why.h"

#include <assert.h>
#include <ctype.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COLUMNS        80
#define NAME_MAX_BYTES 64

/* Is the value an owned char *? */
static bool settings_is_text(const struct setting *setting) {
    return setting->type == SETTING_TEXT || setting->type == SETTING_LIST ||
           setting->type == SETTING_SECRET;
}

void settings_variable(const struct setting *setting, const char *prefix,
                       char name[SETTINGS_VARIABLE_BYTES]) {
    const int length = snprintf(name, SETTINGS_VARIABLE_BYTES, "%s_%s", prefix, setting->name);

    assert(length > 0 && length < SETTINGS_VARIABLE_BYTES);
    (void)length;
    for (char *at = name; *at != '\0'; at++)
        *at = (char)(*at == '-' ? '_' : toupper((unsigned char)*at));
}

/* ---- From a text to a value. -1, and `why` tells which values are accepted. */

static int settings_parse_number(enum setting_type type, const char *text, int64_t *value) {
    return type == SETTING_INT ? number_read_int(text, value) : number_read_duration(text, value);
}

/* The range without the word auto. */
static const char *settings_range(const struct setting *setting, bool *may_be_auto) {
    static const char word[] = "auto, ";
    const char *range = setting->range != NULL ? setting->range : "";

    *may_be_auto = strncmp(range, word, strlen(word)) == 0;
    return *may_be_auto ? range + strlen(word) : range;
}

static bool settings_is_in_range(const char *range, enum setting_type type, int64_t value) {
    const char *dots = strstr(range, "..");
    int64_t least, most;
    char first[32];

    if (dots == NULL)
        return true;
    (void)snprintf(first, sizeof first, "%.*s", (int)(dots - range), range);
    return settings_parse_number(type, first, &least) == 0 &&
           settings_parse_number(type, dots + 2, &most) == 0 && value >= least && value <= most;
}

static int set_text(const struct setting *setting, const char *text, struct why *why) {
    bool may_be_empty = setting->default_text == NULL || setting->default_text[0] == '\0';
    char **value = setting->value;
    char *copy;

    if (text[0] == '\0' && !may_be_empty)
        return why_set(why, "must not be empty");
    copy = strdup(text);
    if (copy == NULL)
        return why_set(why, "out of memory");
    free(*value);
    *value = copy;
    return 0;
}

static int settings_append(const struct setting *setting, const char *text, struct why *why) {
    const char *old = *(char **)setting->value;
    const char *newline = old[0] != '\0' && text[0] != '\0' ? "\n" : "";
    char *both = NULL;
    int rc;

    assert(setting->type == SETTING_LIST);
    if (asprintf(&both, "%s%s%s", old, newline, text) < 0)
        return why_set(why, "out of memory");
    rc = set_text(setting, both, why);
    free(both);
    return rc;
}

static int settings_set_number(const struct setting *setting, const char *text, struct why *why) {
    const char *accepted = setting->type == SETTING_INT ? "a whole number, such as 8 or 20k"
                                                        : "a duration, such as 250ms, 1.5s or 2m";
    const char *told = setting->range != NULL ? setting->range : "";
    bool may_be_auto;
    const char *range = settings_range(setting, &may_be_auto);
    int64_t number = 0;

    if (may_be_auto && strcmp(text, "auto") == 0)
        range = "";
    else if (settings_parse_number(setting->type, text, &number) != 0)
        return why_set(why, "\"%.80s\" is not %s%s%s", text, accepted,
                       told[0] != '\0' ? ", in " : "", told);
    if (!settings_is_in_range(range, setting->type, number))
        return why_set(why, "\"%.80s\" is out of range: %s is accepted", text, told);
    *(int64_t *)setting->value = number;
    return 0;
}

static int set_flag(const struct setting *setting, const char *text, struct why *why) {
    bool is_true = strcmp(text, "true") == 0 || strcmp(text, "1") == 0;

    if (!is_true && strcmp(text, "false") != 0 && strcmp(text, "0") != 0)
        return why_set(why, "\"%.80s\" is neither true nor false", text);
    *(bool *)setting->value = is_true;
    return 0;
}

static int settings_set(const struct setting *setting, const char *text, struct why *why) {
    static int (*const setters[])(const struct setting *, const char *,
                                  struct why *) = {[SETTING_TEXT] = set_text,
                                                   [SETTING_LIST] = set_text,
                                                   [SETTING_SECRET] = set_text,
                                                   [SETTING_INT] = settings_set_number,
                                                   [SETTING_DURATION] = settings_set_number,
                                                   [SETTING_FLAG] = set_flag};

    return setters[setting->type](setting, text, why);
}

/* ---- --help: the program's purpose and usage, and the meaning of each setting */

const char *settings_placeholder(const struct setting *setting) {
    static const char *const placeholders[] = {
        [SETTING_TEXT] = " TEXT", [SETTING_LIST] = " TEXT",         [SETTING_SECRET] = "",
        [SETTING_INT] = " N",     [SETTING_DURATION] = " DURATION", [SETTING_FLAG] = ""};

    return placeholders[setting->type];
}

const char *settings_default(const struct setting *setting) {
    if (setting->default_text != NULL && setting->default_text[0] != '\0')
        return setting->default_text;
    return setting->type == SETTING_FLAG ? "false" : settings_is_text(setting) ? "empty" : "0";
}

/* The first column: how to give the setting. A secret has no flag. */
static int format_usage(const struct setting *setting, const char *prefix, char *text,
                        size_t size) {
    char variable[SETTINGS_VARIABLE_BYTES];
    char letter[8] = "    ";

    if (setting->type == SETTING_SECRET) {
        settings_variable(setting, prefix, variable);
        return snprintf(text, size, "    %s=SECRET", variable);
    }
    if (setting->letter != 0)
        (void)snprintf(letter, sizeof letter, "-%c, ", setting->letter);
    return snprintf(text, size, "%s--%s%s", letter, setting->name, settings_placeholder(setting));
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

/* Print the words of one line up to COLUMNS, and the rest indented below. The first word begins at
 * `column`. */
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

/* Print line by line, so a list stays a list. */
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
    const char *range = setting->range;
    char usage[256], variable[SETTINGS_VARIABLE_BYTES], text[1024];
    const size_t indent = (size_t)width + 4;

    (void)format_usage(setting, prefix, usage, sizeof usage);
    settings_variable(setting, prefix, variable);
    if (setting->type == SETTING_SECRET)
        (void)snprintf(text, sizeof text, "%s [only from the environment]", setting->help);
    else
        (void)snprintf(text, sizeof text, "%s [default %s%s%s; %s]", setting->help,
                       settings_default(setting), range != NULL ? "; " : "",
                       range != NULL ? range : "", variable);
    (void)printf("  %-*s  ", width, usage);
    print_wrapped(text, strlen(text), indent, indent);
}

static void settings_help(const struct setting *table, const char *name,
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
    (void)printf("  %-*s  %s\n", width, "    --version", "print the version and exit");
}

/* ---- The environment and the arguments */

struct reader {
    const struct setting *table;
    const char *name; /* of the program */
    const struct settings_program *program;
    struct settings_given given;
    int argc;
    char **argv;
    int at;         /* the argument being read */
    int kept;       /* arguments moved to the front, with argv[0] */
    struct why why; /* of the last error */
};

/* Tell the mistake on stderr, in one line. */
__attribute__((format(printf, 2, 3))) static enum settings_result settings_refuse(
    const struct reader *reader, const char *format, ...) {
    va_list args;

    va_start(args, format);
    complain_list(reader->name, format, args);
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

    for (const struct setting *setting = reader->table; setting->name != NULL; setting++) {
        size_t distance = edit_distance(name, setting->name);

        if (distance <= best && (nearest == NULL || distance < best)) {
            best = distance;
            nearest = setting->name;
        }
    }
    return nearest;
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

static settings_rows settings_bit_of(const struct reader *reader, const struct setting *setting) {
    ptrdiff_t place = setting - reader->table;

    assert(place < 128);
    return (settings_rows)1 << place;
}

/* The first flag of a list replaces the environment's value, and further ones add to it. */
static int set_or_add(struct reader *reader, const struct setting *setting, const char *text) {
    settings_rows bit = settings_bit_of(reader, setting);
    bool is_further = setting->type == SETTING_LIST && (reader->given.by_flag & bit) != 0;

    reader->given.by_flag |= bit;
    return (is_further ? settings_append : settings_set)(setting, text, &reader->why);
}

/* Set the value of a flag: `text`, or the next argument when `text` is NULL. */
static enum settings_result set_by_flag(struct reader *reader, const struct setting *setting,
                                        const char *text) {
    const char *next = reader->at + 1 < reader->argc ? reader->argv[reader->at + 1] : NULL;
    char variable[SETTINGS_VARIABLE_BYTES];

    settings_variable(setting, reader->program->prefix, variable);
    if (setting->type == SETTING_SECRET)
        return settings_refuse(
            reader, "--%s is a secret, and flags show in the process list; set %s instead",
            setting->name, variable);
    if (text == NULL && setting->type == SETTING_FLAG) {
        text = "true";
    } else if (text == NULL) {
        if (next == NULL || strncmp(next, "--", 2) == 0)
            return settings_refuse(reader, "--%s needs a value", setting->name);
        text = next;
        reader->at++;
    }
    if (set_or_add(reader, setting, text) != 0)
        return settings_refuse(reader, "--%s: %s", setting->name, reader->why.text);
    return SETTINGS_OK;
}

static enum settings_result read_long(struct reader *reader, const char *name) {
    size_t length = strcspn(name, "=");
    const struct setting *setting = find_by_name(reader->table, name, length);
    char unknown[NAME_MAX_BYTES + 1];
    const char *nearest;

    if (setting != NULL)
        return set_by_flag(reader, setting, name[length] == '=' ? name + length + 1 : NULL);
    (void)snprintf(unknown, sizeof unknown, "%.*s", (int)(length < 64 ? length : 64), name);
    nearest = nearest_name(reader, unknown);
    if (nearest != NULL)
        return settings_refuse(reader, "unknown flag --%s; did you mean --%s?", unknown, nearest);
    return settings_refuse(reader, "unknown flag --%s; --help lists all flags", unknown);
}

static enum settings_result read_short(struct reader *reader, const char *text) {
    const struct setting *setting = find_by_letter(reader->table, text[0]);

    if (setting == NULL || (setting->type == SETTING_FLAG && text[1] != '\0'))
        return settings_refuse(reader, "unknown flag -%.64s; --help lists all flags", text);
    return set_by_flag(reader, setting, text[1] != '\0' ? text + 1 : NULL);
}

static enum settings_result keep_rest(struct reader *reader, char *argument) {
    if (reader->program->rest == NULL)
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
    if (settings_set(setting, text, &reader->why) != 0)
        return settings_refuse(reader, "the default of --%s: %s", setting->name, reader->why.text);
    return SETTINGS_OK;
}

static enum settings_result read_environment(struct reader *reader, const struct setting *setting) {
    char variable[SETTINGS_VARIABLE_BYTES];
    const char *text;

    settings_variable(setting, reader->program->prefix, variable);
    text = getenv(variable);
    if (text == NULL)
        return SETTINGS_OK;
    if (setting->type == SETTING_SECRET && text[0] == '\0')
        return settings_refuse(reader, "%s is set but empty", variable);
    reader->given.by_environment |= settings_bit_of(reader, setting);
    if (settings_set(setting, text, &reader->why) != 0)
        return settings_refuse(reader, "%s: %s", variable, reader->why.text);
    return SETTINGS_OK;
}

static bool is_wanted(const struct reader *reader, const char *flag) {
    for (int i = 1; i < reader->argc && strcmp(reader->argv[i], "--") != 0; i++)
        if (strcmp(reader->argv[i], flag) == 0)
            return true;
    return false;
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
                            .name = program->name != NULL ? program->name
                                    : slash != NULL       ? slash + 1
                                                          : path,
                            .program = program,
                            .argc = *argc,
                            .argv = argv,
                            .kept = 1};

    if (is_wanted(&reader, "--help") ||
        (find_by_letter(table, 'h') == NULL && is_wanted(&reader, "-h"))) {
        settings_help(table, reader.name, program);
        return SETTINGS_HELP;
    }
    if (is_wanted(&reader, "--version")) {
        (void)printf("%.*s %s\n", (int)strcspn(reader.name, " "), reader.name, version_text());
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
