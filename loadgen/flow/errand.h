/* The request of a step, filled for a customer. */
#ifndef LOADGEN_ERRAND_H
#define LOADGEN_ERRAND_H

#include "buffer.h"
#include "shop.h"
#include "values.h"
#include "why.h"

/* Each text ends with a NUL. */
struct errand {
    struct buffer url, body, lines;
    const char *headers[SHOP_ITEMS + 2]; /* into `lines`, then NULL */
};

/* `base` goes before a path. 0; or -1 with the reason. Call errand_free() either way. */
__attribute__((warn_unused_result)) int errand_fill(struct errand *errand,
                                                    const struct shop_step *step,
                                                    const struct values *values,
                                                    const struct shop_text *base, struct why *why);
void errand_free(struct errand *errand);

#endif
