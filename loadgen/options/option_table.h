/* The settings of loadgen, a row each: from this table flags and --help are read (settings.h), what
 * a history and a summary tell of a run's settings is written, and what a history tells is read. A
 * setting of its own is a row there, a member of struct options, and what uses it. */
#ifndef LOADGEN_OPTION_TABLE_H
#define LOADGEN_OPTION_TABLE_H

#include "options.h"
#include "settings.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

/* The flags, whose values go into `options`. */
const struct setting *option_flags(struct options *options);

/* The settings as a history keeps them, under the names of their flags with _ for -, durations as
 * in "timeout_ns"; and the full command. A new reference, or NULL without memory. */
__attribute__((warn_unused_result)) json_t *option_history(const struct options *options);

#define OPTION_WRONG 256
/* Read what option_history() wrote into `options`, which is zero: NULL, or what is wrong, in
 * `wrong`. option_free() what it read either way. */
__attribute__((warn_unused_result)) const char *option_read_history(const json_t *json,
                                                                    struct options *options,
                                                                    char wrong[OPTION_WRONG]);
void option_free(struct options *options);

/* The settings as summary.json has them: alike, but durations as in "timeout_ms", and some as what
 * follows from them (summary.schema.json). A new reference, or NULL without memory. */
__attribute__((warn_unused_result)) json_t *option_summary(const struct options *options);

/* Whether the same strategy gives other figures in a run whose summary has another value under this
 * key. Where the target listens does not matter, nor where results go. */
bool option_is_compared(const char *key);

#endif
