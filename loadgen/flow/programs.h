/* The programs of a shop file, compiled once: its jq, and its regular expressions. */
#ifndef LOADGEN_PROGRAMS_H
#define LOADGEN_PROGRAMS_H

#include "jq_program.h"
#include "shop.h"
#include "why.h"

struct program {
    const void *owner; /* the struct shop_query or struct shop_predicate that has its source */
    struct jq_program *jq;
};

struct programs {
    struct program *items;
    size_t count;
};

/* 0; or -1 with a reason such as `a.shop:12: ...` in `why`, and then there is nothing to undo. */
__attribute__((warn_unused_result)) int programs_open(struct programs *programs,
                                                      const struct shop *shop, struct why *why);
/* NULL: it needs none. */
struct jq_program *programs_find(const struct programs *programs, const void *owner);
void programs_close(struct programs *programs);

#endif
