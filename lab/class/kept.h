/* A file of results, so that a second run grades only the files without one. Each line is a JSON
 * object: the grader's version, the chapter's checks, the student's source, and its result. A line
 * counts only if all of these are the same. */
#ifndef LAB_KEPT_H
#define LAB_KEPT_H

#include "chapter.h"
#include "why.h"

#include <jansson.h>
#include <stdint.h>
#include <stdio.h>

struct kept {
    const char *version; /* of the grader */
    json_t *lines;
    FILE *to;
};

/* Read the file at `path`, which need not exist; add results to its end later. A broken line, such as
 * one that was cut, is left out. 0, or -1 with the reason. */
__attribute__((warn_unused_result)) int kept_open(struct kept *kept, const char *path,
                                                  const char *version, struct why *why);
void kept_close(struct kept *kept);
/* The result of a source, which has no NUL, or NULL. It lives as long as `kept`. */
json_t *kept_find(const struct kept *kept, const struct chapter *chapter, uint64_t seed,
                  const char *source, size_t size);
/* Add a result. One that cannot be written will be made again. */
void kept_add(const struct kept *kept, const struct chapter *chapter, uint64_t seed,
              const char *source, size_t size, json_t *result);

#endif
