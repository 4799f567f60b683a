/* From the text of a setting to its value: the parsers, the ranges, and what an error says. */
#include "settings_internal.h"

#include "number.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int settings_value_parse_number(enum setting_type type, const char *text, int64_t *value) {
    return type == SETTING_INT ? number_read_int(text, value) : number_read_duration(text, value);
}

static bool settings_value_is_in_range(const struct setting *setting, int64_t value) {
    const char *dots = setting->range != NULL ? strstr(setting->range, "..") : NULL;
    int64_t least, most;
    char first[32];

    if (dots == NULL)
        return true;
    (void)snprintf(first, sizeof first, "%.*s", (int)(dots - setting->range), setting->range);
    return settings_value_parse_number(setting->type, first, &least) == 0 &&
           settings_value_parse_number(setting->type, dots + 2, &most) == 0 && value >= least &&
           value <= most;
}

/* Say what is accepted instead. */
__attribute__((format(printf, 3, 4))) static int settings_value_refuse(char *why, size_t size,
                                                                       const char *format, ...) {
    va_list args;

    va_start(args, format);
    (void)vsnprintf(why, size, format, args);
    va_end(args);
    return -1;
}

static int set_text(const struct setting *setting, const char *text, char *why, size_t size) {
    bool may_be_empty = setting->default_text == NULL || setting->default_text[0] == '\0';
    char **value = setting->value;
    char *copy;

    if (text[0] == '\0' && !may_be_empty)
        return settings_value_refuse(why, size, "must not be empty");
    copy = strdup(text);
    if (copy == NULL)
        return settings_value_refuse(why, size, "out of memory");
    free(*value);
    *value = copy;
    return 0;
}

int settings_append(const struct setting *setting, const char *text, char *why, size_t size) {
    const char *old = *(char **)setting->value;
    const char *newline = old[0] != '\0' && text[0] != '\0' ? "\n" : "";
    char *both = NULL;
    int rc;

    assert(setting->type == SETTING_LIST);
    if (asprintf(&both, "%s%s%s", old, newline, text) < 0)
        return settings_value_refuse(why, size, "out of memory");
    rc = set_text(setting, both, why, size);
    free(both);
    return rc;
}

static int settings_value_set_number(const struct setting *setting, const char *text, char *why,
                                     size_t size) {
    const char *accepted = setting->type == SETTING_INT ? "a whole number, such as 8 or 20k"
                                                        : "a duration, such as 250ms, 1.5s or 2m";
    const char *range = setting->range != NULL ? setting->range : "";
    int64_t number;

    if (settings_value_parse_number(setting->type, text, &number) != 0)
        return settings_value_refuse(why, size, "\"%.80s\" is not %s%s%s", text, accepted,
                                     range[0] != '\0' ? ", in " : "", range);
    if (!settings_value_is_in_range(setting, number))
        return settings_value_refuse(why, size, "\"%.80s\" is out of range: %s is accepted", text,
                                     range);
    *(int64_t *)setting->value = number;
    return 0;
}

static int set_flag(const struct setting *setting, const char *text, char *why, size_t size) {
    bool is_true = strcmp(text, "true") == 0 || strcmp(text, "1") == 0;

    if (!is_true && strcmp(text, "false") != 0 && strcmp(text, "0") != 0)
        return settings_value_refuse(why, size, "\"%.80s\" is neither true nor false", text);
    *(bool *)setting->value = is_true;
    return 0;
}

int settings_set(const struct setting *setting, const char *text, char *why, size_t size) {
    static int (*const setters[])(const struct setting *, const char *, char *,
                                  size_t) = {[SETTING_TEXT] = set_text,
                                             [SETTING_LIST] = set_text,
                                             [SETTING_SECRET] = set_text,
                                             [SETTING_INT] = settings_value_set_number,
                                             [SETTING_DURATION] = settings_value_set_number,
                                             [SETTING_FLAG] = set_flag};

    return setters[setting->type](setting, text, why, size);
}
