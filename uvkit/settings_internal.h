/* What settings.c, settings_value.c and settings_help.c share: one setting's text and names. */
#ifndef UVKIT_SETTINGS_INTERNAL_H
#define UVKIT_SETTINGS_INTERNAL_H

#include "settings.h"

#include <stddef.h>

#define SETTINGS_VARIABLE_BYTES 128

/* The environment variable of a setting: PREFIX_NAME. */
void settings_variable(const struct setting *setting, const char *prefix,
                       char name[SETTINGS_VARIABLE_BYTES]);

/* Put `text` into the setting's value. 0, or -1 and `why` says what is accepted instead. */
int settings_set(const struct setting *setting, const char *text, char *why, size_t size);

void settings_help(const struct setting *table, const char *program, const char *about,
                   const char *prefix, const char *rest);

#endif
