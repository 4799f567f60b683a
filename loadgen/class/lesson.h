/* Makes the arguments of a program from a request of the page. Only names of a table and numbers
 * within bounds get through; nothing else from the network does. */
#ifndef LOADGEN_LESSON_H
#define LOADGEN_LESSON_H

#include "why.h"

#include <jansson.h>
#include <stddef.h>

#define LESSON_WORDS 48

enum lesson_kind { LESSON_RUN, LESSON_EXPLORE };

/* The arguments of a program, NULL-terminated. */
struct lesson {
    enum lesson_kind kind;
    char title[400]; /* "none, atomic" */
    char *words[LESSON_WORDS];
    size_t count, used;
    char text[4096]; /* holds the words */
};

/* Where a run sends its requests and puts its results. */
struct lesson_place {
    const char *target, *results;
};

/* Everything that may be requested: {"run":{"rate":[least,most,usual],...},"explore":{...},
 * "run_faults":[{"name","title","about"}],"explore_faults":["pause",...]}; a new reference, or NULL
 * without memory. */
__attribute__((warn_unused_result)) json_t *lesson_setup(void);

/* `asked` is {"strategies":["none",...],"rate","requests","stock","work_ms","fault"}, or for an
 * exploration {"strategy","orders","instances","stock","preemptions","faults":[...]}. Names must be
 * in `strategies`, the target's own table. Returns 0; or -1 with the reason in `why`. */
__attribute__((warn_unused_result)) int lesson_read(enum lesson_kind kind, const json_t *asked,
                                                    const json_t *strategies,
                                                    const struct lesson_place *place,
                                                    struct lesson *lesson, struct why *why);

#endif
