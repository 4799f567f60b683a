/* Chooses numbers by a seed, and finds those of a source. */
#include "values.h"

#include "student_file.h"
#include "world.h"

#include <assert.h>
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>

#define MOST    (1 << 30)
#define ROUND   720720 /* a multiple of all numbers to 16 */
#define NAMED   12     /* numbers of the source */
#define TOO_FEW 3      /* a check meets the numbers below it in any case */

static void values_add(struct values *values, int64_t number) {
    if (number < 0 || number > MOST || values->count == VALUES)
        return;
    for (size_t i = 0; i < values->count; i++)
        if (values->asked[i] == number)
            return;
    values->asked[values->count++] = (int32_t)number;
}

/* The largest multiple of `number`, of all numbers to 16 as well if possible. */
static int64_t multiple_of(int64_t number) {
    return number * ROUND <= MOST ? number * ROUND : number * (MOST / number);
}

/* Each decimal, octal or hexadecimal number that is not part of a name. Returns the number of them.
 */
static size_t numbers_of(const char *text, int64_t numbers[NAMED]) {
    size_t count = 0;

    for (const char *at = text; *at != '\0' && count < NAMED;) {
        char *end = NULL;
        const bool is_start =
            isdigit((unsigned char)*at) != 0 &&
            (at == text || (isalnum((unsigned char)at[-1]) == 0 && at[-1] != '_'));
        const unsigned long long number = is_start ? strtoull(at, &end, 0) : 0;
        bool is_new = number >= TOO_FEW && number <= MOST;

        for (size_t i = 0; i < count; i++)
            is_new = is_new && numbers[i] != (int64_t)number;
        if (is_new)
            numbers[count++] = (int64_t)number;
        at = is_start ? end : at + 1;
    }
    return count;
}

/* For `value == n`, `value >= n`, `value % n == 0` and `value % n == m`. */
static void add_named(struct values *values, const int64_t numbers[NAMED], size_t count) {
    for (size_t i = 0; i < count; i++) {
        values_add(values, numbers[i]);
        values_add(values, multiple_of(numbers[i]));
    }
    for (size_t i = 0; i < count; i++)
        for (size_t j = 0; j < count; j++)
            if (numbers[j] < numbers[i])
                values_add(values, multiple_of(numbers[i]) - numbers[i] + numbers[j]);
}

int values_read(struct values *values, const char *path, uint64_t seed) {
    static char text[STUDENT_SOURCE + 1];
    FILE *from = fopen(path, "re");
    int64_t numbers[NAMED];
    size_t size;

    if (from == NULL)
        return -1;
    size = fread(text, 1, sizeof text - 1, from);
    (void)fclose(from);
    text[size] = '\0';
    values->seed = seed != 0 ? seed : model_mix(1, text, size);
    values->count = 0;
    values_add(values, (int64_t)ROUND * 1000);
    values_add(values, MOST);
    values_add(values, 1000000000);
    values_add(values, 1000);
    add_named(values, numbers, numbers_of(text, numbers));
    return 0;
}

int values_choose(const struct values *values, uint64_t salt, int least, int most) {
    assert(least <= most);
    return least + (int)((model_mix(values->seed, &salt, sizeof salt) >> 16) %
                         ((unsigned)(most - least) + 1));
}
