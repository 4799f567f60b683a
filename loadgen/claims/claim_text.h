/* The claims in words. */
#ifndef LOADGEN_CLAIM_TEXT_H
#define LOADGEN_CLAIM_TEXT_H

#include "claim.h"

#include <stdio.h>

/* Id, source and sentence of each. */
void claim_list(FILE *to);
/* All that the table says. 0, or -1 when it could not be written. */
__attribute__((warn_unused_result)) int claim_list_json(FILE *to);
/* docs/claims.md. */
void claim_list_markdown(FILE *to);

/* The commands of a step, as one types them in a checkout, with as many backslashes as `width`
 * wants: that of the stack, and that of the run. */
void claim_print_stack(const struct claim_stack *stack, size_t indent, size_t width, FILE *to);
void claim_print_run(const struct claim_step *step, size_t indent, size_t width, FILE *to);

#endif
