/* The names that {{name}} may use at a place of a shop file. */
#ifndef LOADGEN_SHOP_NAMES_H
#define LOADGEN_SHOP_NAMES_H

#include "memory.h"

#include <stdbool.h>
#include <stddef.h>

/* For how long a value stays; a place sees the names of its scope and of those above it. */
enum name_scope {
    NAME_OF_FILE,     /* `set` and `env` */
    NAME_OF_ROUND,    /* `stock`, `run`, captures of `setup`, and `run` of the file's head */
    NAME_OF_CUSTOMER, /* `n`, `key`, captures of `prepare` and `order` */
};

struct name {
    const char *text;
    enum name_scope scope;
    bool is_captured; /* so a later capture may replace its value */
};

struct names {
    struct name *items;
    size_t count;
};

/* The length of the name that `text` begins with: a letter, then letters, digits, _ and -. Or 0. */
size_t name_length(const char *text);
const struct name *names_find(const struct names *names, const char *text, size_t length);
/* `text` is not copied. -1 without memory. */
int names_add(struct names *names, struct shop_memory *memory, struct name name);
/* The names of a scope, as "stock, run, product", cut to fit. Returns `to`. */
const char *names_list(const struct names *names, enum name_scope scope, char *to, size_t size);

#endif
