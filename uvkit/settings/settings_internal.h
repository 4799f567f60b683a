/* What settings.c, settings_value.c and settings_help.c share: one setting's text and names. */
#ifndef UVKIT_SETTINGS_INTERNAL_H
#define UVKIT_SETTINGS_INTERNAL_H

#include "settings.h"

#include <stdbool.h>
#include <stddef.h>

#define SETTINGS_VARIABLE_BYTES 128

/* The environment variable of a setting: PREFIX_NAME. */
void settings_variable(const struct setting *setting, const char *prefix,
                       char name[SETTINGS_VARIABLE_BYTES]);

/* Put `text` into the setting's value. 0, or -1 and `why` says what is accepted instead. */
int settings_set(const struct setting *setting, const char *text, char *why, size_t size);

/* Add a line to the value of a SETTING_LIST. The same. */
int settings_append(const struct setting *setting, const char *text, char *why, size_t size);

/* True when the value is an owned char *. */
static inline bool settings_is_text(const struct setting *setting) {
    return setting->type == SETTING_TEXT || setting->type == SETTING_LIST ||
           setting->type == SETTING_SECRET;
}

void settings_help(const struct setting *table, const char *name,
                   const struct settings_program *program);

#endif
