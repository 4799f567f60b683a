/* What the target says of its strategies, printed for people. */
#ifndef LOADGEN_STRATEGIES_TEXT_H
#define LOADGEN_STRATEGIES_TEXT_H

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

/* `strategies` is the array of GET /strategies. */
bool strategies_have(const json_t *strategies, const char *name);

/* All of them, by family, each with the options that not all of them take. */
void strategies_print(const json_t *strategies, FILE *to);
/* That `name` is none of them, and which there are. */
void strategies_print_unknown(const json_t *strategies, const char *name, FILE *to);

#endif
