/* How to tell a setting: shared by --help and the reference. */
#ifndef UVKIT_SETTINGS_INTERNAL_H
#define UVKIT_SETTINGS_INTERNAL_H

#include "settings.h"

#define SETTINGS_VARIABLE_BYTES 128

/* The environment variable of a setting: PREFIX_NAME. */
void settings_variable(const struct setting *setting, const char *prefix,
                       char name[SETTINGS_VARIABLE_BYTES]);
/* The placeholder of its value: "N"; "" for a flag. */
const char *settings_placeholder(const struct setting *setting);
/* Its default for a reader: "empty", "0" or "false" if the table has none. */
const char *settings_default(const struct setting *setting);

#endif
