/* The strategies of one run: `redis,ttl=2s,none` is redis with a TTL of 2 s, and none.
 *
 * An element with a `=` is an option of the strategy before it. What they mean is the server's to
 * say: here a strategy is a text, the spec, and its name. */
#ifndef LOADGEN_STRATEGY_LIST_H
#define LOADGEN_STRATEGY_LIST_H

#include "why.h"

#include <stdbool.h>
#include <stddef.h>

#define STRATEGY_SPEC_SIZE 201 /* what the product table takes, and the NUL */
#define STRATEGY_NAME_SIZE 64
#define STRATEGY_LIST_MAX  64

struct strategy_item {
    char name[STRATEGY_NAME_SIZE];
    char given[STRATEGY_SPEC_SIZE]; /* as in the list: what reports print */
    char spec[STRATEGY_SPEC_SIZE];  /* with the options that hold for all: what the server gets */
};

struct strategy_list {
    size_t count;
    struct strategy_item items[STRATEGY_LIST_MAX];
};

/* An option that holds for all strategies that do not set it themselves. */
struct strategy_option {
    const char *name;  /* "work" */
    const char *value; /* "2ms"; "" leaves it to the server */
    bool is_added;     /* to those that a strategy has of this name */
};

/* 0; or -1, and `why` says what is wrong. `options` ends with a NULL name. */
__attribute__((warn_unused_result)) int strategy_list_parse(const char *text,
                                                            const struct strategy_option *options,
                                                            struct strategy_list *list,
                                                            struct why *why);

#endif
