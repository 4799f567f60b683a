/* The numbers that a check meets a student's file with: the stock, the row's first version, and its
 * first fence.
 *
 * A seed chooses them within the check's ranges. The seed comes from the file's text, so the same
 * file meets the same numbers each time, but no file can name its own. Beside them there are round
 * numbers and the numbers in the file's source: a file that does something special at a number
 * names it, or it does so at a round one. */
#ifndef LAB_VALUES_H
#define LAB_VALUES_H

#include <stddef.h>
#include <stdint.h>

#define VALUES 40

struct values {
    uint64_t seed;
    size_t count;
    int32_t asked[VALUES];
};

/* Read the source at `path`. `seed` 0: the file's. 0, or -1 with errno. */
__attribute__((warn_unused_result)) int values_read(struct values *values, const char *path,
                                                    uint64_t seed);
/* A number from `least` to `most`. Each `salt` has its own choice. */
int values_choose(const struct values *values, uint64_t salt, int least, int most);

#endif
