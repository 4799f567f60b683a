/* Finds files that are alike: a hint to look, no more.
 *
 * A file is a sequence of tokens without comments and blanks. Each name that a student can choose
 * is the same token. Fingerprints are hashes of runs of tokens, chosen by winnowing (Schleimer,
 * Wilkerson and Aiken 2003, "Winnowing: local algorithms for document fingerprinting"), so two files
 * share one if they share a run that is long enough, wherever it stands. Runs of the exercise, the
 * hints and the answer do not count, nor do runs of many students. */
#ifndef LAB_ALIKE_H
#define LAB_ALIKE_H

#include "class.h"

#define ALIKE_LEAST 60 /* percent */

struct alike {
    size_t chapter, a, b; /* indexes */
    int percent;          /* of the shorter file's fingerprints */
};

struct alikes {
    struct alike *pairs; /* the most alike first */
    size_t count;
    bool has_failed; /* without memory: some may be missing */
};

void alikes_find(const struct class *class, struct alikes *alikes);
void alikes_free(struct alikes *alikes);
/* Print them for people, with a sentence about their meaning; nothing if there are none. */
void alikes_print(const struct class *class, const struct alikes *alikes, FILE *to);

#endif
