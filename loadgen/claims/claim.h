/* The articles' claims about locks. Each claim is a few runs of loadgen that show the failure and
 * its cure. */
#ifndef LOADGEN_CLAIM_H
#define LOADGEN_CLAIM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#define CLAIM_STEPS     6
#define CLAIM_VARIABLES 4

/* Environment and arguments of `scripts/stack up`. */
struct claim_stack {
    const char *variables[CLAIM_VARIABLES]; /* "NAME=value"; NULL ends them */
    const char *arguments;                  /* separated by spaces; "" for none */
};

/* One run. It succeeds if loadgen ends with 0 and each of its faults fired before the last unit was
 * sold. */
struct claim_step {
    const char *label; /* "failure", "cure" */
    const struct claim_stack *stack;
    const char *run; /* the arguments of loadgen, separated by spaces */
    bool has_chain;  /* a counterexample must also show which order freed another's lock */
};

struct claim {
    const char *id;
    const char *source; /* article and section */
    const char *sentence;
    const char *how; /* why the failure is certain, and why the cure certainly holds */
    struct claim_step steps[CLAIM_STEPS]; /* a step without a label ends them */
};

extern const struct claim claims[];
extern const size_t claim_count;

/* Returns the claim with this id, or NULL. */
const struct claim *claim_find(const char *id);

/* Prints all claims: "json" the whole table, "markdown" docs/claims.md, "text" id, sentence and
 * source. Returns 0, or -1 if it could not be written. */
__attribute__((warn_unused_result)) int claim_list(const char *format, FILE *to);
/* Prints the commands of a step as the user types them: the stack's, then the run's. Backslashes
 * break lines longer than `width`. */
void claim_print_commands(const struct claim_step *step, size_t indent, size_t width, FILE *to);

#endif
