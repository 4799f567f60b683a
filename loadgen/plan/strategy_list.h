/* The strategies of one run: `redis,ttl=2s,none` is redis with a TTL of 2 s, and none.
 *
 * An element with a `=` is an option of the strategy before it. Only the server knows strategies
 * and their options: here a strategy is a text, the spec, and a name. */
#ifndef LOADGEN_STRATEGY_LIST_H
#define LOADGEN_STRATEGY_LIST_H

#include "why.h"

#include <stdbool.h>
#include <stddef.h>

#define STRATEGY_SPEC_SIZE 201 /* limit of the table product, and the NUL */
#define STRATEGY_NAME_SIZE 64
#define STRATEGY_LIST_MAX  64

struct strategy_item {
    char name[STRATEGY_NAME_SIZE];
    char given[STRATEGY_SPEC_SIZE]; /* as in the list; reports print it */
    char spec[STRATEGY_SPEC_SIZE];  /* with the options for all strategies; the server gets it */
};

struct strategy_list {
    size_t count;
    struct strategy_item items[STRATEGY_LIST_MAX];
};

/* An option for all strategies that do not set it themselves. */
struct strategy_option {
    const char *name;  /* "work" */
    const char *value; /* "2ms"; "": the server's default */
    bool is_added;     /* add it even if a strategy sets one of this name */
};

/* A NULL name ends `options`. Returns 0; or -1 with the reason in `why`. */
__attribute__((warn_unused_result)) int strategy_list_parse(const char *text,
                                                            const struct strategy_option *options,
                                                            struct strategy_list *list,
                                                            struct why *why);

#endif
