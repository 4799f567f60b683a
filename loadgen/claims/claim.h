/* The claims that the articles make about locks, each as runs of loadgen that show the failure and
 * its cure. */
#ifndef LOADGEN_CLAIM_H
#define LOADGEN_CLAIM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#define CLAIM_STEPS     6
#define CLAIM_VARIABLES 4

/* What `scripts/stack up` is told. */
struct claim_stack {
    const char *variables[CLAIM_VARIABLES]; /* "NAME=value", until NULL */
    const char *arguments;                  /* of `up`, a space between two; "" for none */
};

/* One run. It shows what it is to show when loadgen ends with 0, and each fault of it has fired
 * before the last unit was sold. */
struct claim_step {
    const char *label; /* "failure", "cure" */
    const struct claim_stack *stack;
    const char *run; /* the arguments of loadgen, a space between two */
    bool has_chain;  /* and a counterexample must tell who freed whose lock */
};

struct claim {
    const char *id;
    const char *source; /* article and section */
    const char *sentence;
    const char *how; /* why the failure is certain, and the cure certain to hold */
    struct claim_step steps[CLAIM_STEPS]; /* until one without a label */
};

extern const struct claim claims[];
extern const size_t claim_count;

/* By its id, or NULL. */
const struct claim *claim_find(const char *id);

/* All of them: "json" prints all that the table says, "markdown" docs/claims.md, "text" id, source
 * and sentence. 0, or -1 when it could not be written. */
__attribute__((warn_unused_result)) int claim_list(const char *format, FILE *to);
/* The commands of a step, as one types them in a checkout: that of the stack, unless `has_stack`,
 * and that of the run. Lines longer than `width` are broken by backslashes. */
void claim_print_commands(const struct claim_step *step, bool has_stack, size_t indent,
                          size_t width, FILE *to);

#endif
