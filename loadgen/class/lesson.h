/* What the page may ask to run, as arguments: names that a table has, numbers within bounds, and
 * nothing else that came over the network. */
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
    char text[4096]; /* of the words */
};

/* Where a run goes. */
struct lesson_place {
    const char *target, *results;
};

/* What can be asked for: {"run":{"rate":[least,most,usual],...},"explore":{...},
 * "run_faults":[{"name","title","about"}],"explore_faults":["pause",...]}; a new reference, or NULL
 * without memory. */
__attribute__((warn_unused_result)) json_t *lesson_setup(void);

/* `asked` is {"strategies":["none",...],"rate","requests","stock","work_ms","fault"}, or of an
 * exploration {"strategy","orders","instances","stock","preemptions","faults":[...]}, whose names
 * are to be in `strategies`, the target's own table. 0; or -1, and `why` says what is wrong. */
__attribute__((warn_unused_result)) int lesson_read(enum lesson_kind kind, const json_t *asked,
                                                    const json_t *strategies,
                                                    const struct lesson_place *place,
                                                    struct lesson *lesson, struct why *why);

#endif
