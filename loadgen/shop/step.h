/* Reads the steps of a section: requests in Hurl's syntax. */
#ifndef LOADGEN_SHOP_STEP_H
#define LOADGEN_SHOP_STEP_H

#include "reader.h"
#include "shop.h"

/* Reads the steps from the reader's line to the next line that begins with == or the end of the
 * file, and appends them. Captures become names of `reader->scope`. 0; or -1 with the reason. */
int steps_read(struct reader *reader, struct shop_steps *steps);

/* Makes `name` known in the reader's scope. `at` is its place. 0; or -1 with the reason: there is
 * one that it may not replace. */
int step_add_name(struct reader *reader, const char *at, const char *name, bool is_captured);

/* Whether the reader's line begins a section of the file. */
static inline bool step_at_section(const struct reader *reader) {
    return reader->at[0] == '=' && reader->at[1] == '=';
}

#endif
