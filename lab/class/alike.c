/* Reads tokens, chooses fingerprints, and compares their sets. */
#include "alike.h"

#include <assert.h>
#include <ctype.h>
#include <dirent.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define RUN          10 /* tokens of a fingerprint: a shorter match is not found */
#define WINDOW       4 /* of each so many runs one is chosen: a match of RUN + WINDOW - 1 is found */
#define SHARED_LEAST 8 /* fingerprints: fewer are chance */
#define MANY         3 /* students; and a quarter of the class */
#define SHOWN        30

/* Fingerprints, each once, sorted. */
struct prints {
    uint64_t *all;
    size_t count;
};

/* ---- tokens */

static bool is_name(char c) {
    return isalnum((unsigned char)c) != 0 || c == '_';
}

/* A name that a student cannot choose: C's words, and the seam's functions and constants. */
static bool is_given(const char *name, size_t length) {
    static const char *const words[] = {"if",     "else",   "for",   "while",    "do",   "return",
                                        "switch", "case",   "break", "continue", "goto", "struct",
                                        "static", "sizeof", "const", "enum",     "bool", "char"};
    bool is_constant = length > 2;

    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strlen(words[i]) == length && memcmp(words[i], name, length) == 0)
            return true;
    for (size_t i = 0; i < length; i++)
        is_constant = is_constant && (isupper((unsigned char)name[i]) != 0 || name[i] == '_');
    return is_constant || (length > 6 && memcmp(name, "store_", 6) == 0);
}

static uint64_t mix(uint64_t hash, uint64_t more) {
    return (hash ^ more) * UINT64_C(0x100000001b3);
}

static uint64_t hash_of(const char *bytes, size_t length) {
    uint64_t hash = UINT64_C(0xcbf29ce484222325);

    for (size_t i = 0; i < length; i++)
        hash = mix(hash, (unsigned char)bytes[i]);
    return hash;
}

/* The end of a comment, or of a text or character in quotes, that begins at `at`. */
static const char *alike_skip(const char *at, const char *end) {
    const char first = *at;
    const bool is_block = first == '/' && at[1] == '*';

    for (at += first == '/' ? 2 : 1; at < end; at++) {
        if (is_block && at + 1 < end && at[0] == '*' && at[1] == '/')
            return at + 2;
        if (!is_block && (*at == '\n' || (first != '/' && *at == first)))
            return at + 1;
        at += first != '/' && *at == '\\';
    }
    return end;
}

/* The hash of the next token, and the place behind it in `*at`. 0: there is none. */
static uint64_t token_next(const char **at, const char *end) {
    const char *from;

    for (;;) {
        while (*at < end && isspace((unsigned char)**at) != 0)
            (*at)++;
        if (end - *at < 2 || **at != '/' || ((*at)[1] != '/' && (*at)[1] != '*'))
            break;
        *at = alike_skip(*at, end);
    }
    from = *at;
    if (from >= end)
        return 0;
    if (*from == '"' || *from == '\'') {
        *at = alike_skip(from, end);
        return '"';
    }
    while (*at < end && is_name(**at))
        (*at)++;
    if (*at == from)
        return (unsigned char)*(*at)++;
    if (isdigit((unsigned char)*from) != 0)
        return '0';
    return is_given(from, (size_t)(*at - from)) ? hash_of(from, (size_t)(*at - from)) : 'a';
}

/* ---- fingerprints */

static int by_value(const void *a, const void *b) {
    const uint64_t one = *(const uint64_t *)a, other = *(const uint64_t *)b;

    return one < other ? -1 : one > other;
}

static void sort_once(struct prints *prints) {
    size_t count = 0;

    qsort(prints->all, prints->count, sizeof *prints->all, by_value);
    for (size_t i = 0; i < prints->count; i++)
        if (count == 0 || prints->all[i] != prints->all[count - 1])
            prints->all[count++] = prints->all[i];
    prints->count = count;
}

/* The rightmost least hash of each window. */
static size_t winnow(const uint64_t *runs, size_t count, uint64_t *to) {
    size_t chosen = 0, last = SIZE_MAX;

    for (size_t i = 0; i + WINDOW <= count; i++) {
        size_t least = i;

        for (size_t j = i; j < i + WINDOW; j++)
            least = runs[j] <= runs[least] ? j : least;
        if (least != last)
            to[chosen++] = runs[least];
        last = least;
    }
    return chosen;
}

/* Add the fingerprints of a source; all its runs if `is_whole`. False without memory. */
static bool prints_add(struct prints *prints, const char *bytes, size_t size, bool is_whole) {
    uint64_t *tokens = malloc((size + 1) * sizeof *tokens), *more;
    const char *at = bytes, *end = bytes + size;
    size_t count = 0, runs;

    more = realloc(prints->all, (prints->count + size + 1) * sizeof *more);
    if (more != NULL)
        prints->all = more;
    if (more == NULL || tokens == NULL) {
        free(tokens);
        return false;
    }
    while ((tokens[count] = token_next(&at, end)) != 0)
        count++;
    runs = count >= RUN ? count - RUN + 1 : 0;
    for (size_t i = 0; i < runs; i++) {
        uint64_t hash = UINT64_C(0xcbf29ce484222325);

        for (size_t j = i; j < i + RUN; j++)
            hash = mix(hash, tokens[j]);
        tokens[i] = hash ^ hash >> 29;
    }
    if (is_whole) {
        memcpy(prints->all + prints->count, tokens, runs * sizeof *tokens);
        prints->count += runs;
    } else {
        prints->count += winnow(tokens, runs, prints->all + prints->count);
    }
    free(tokens);
    sort_once(prints);
    return true;
}

static bool prints_have(const struct prints *prints, uint64_t value) {
    return prints->count > 0 &&
           bsearch(&value, prints->all, prints->count, sizeof value, by_value) != NULL;
}

static void prints_drop(struct prints *prints, const struct prints *other) {
    size_t count = 0;

    for (size_t i = 0; i < prints->count; i++)
        if (!prints_have(other, prints->all[i]))
            prints->all[count++] = prints->all[i];
    prints->count = count;
}

static size_t prints_shared(const struct prints *a, const struct prints *b) {
    size_t count = 0;

    for (size_t i = 0; i < a->count; i++)
        count += prints_have(b, a->all[i]);
    return count;
}

/* ---- a chapter */

/* All runs of the chapter's own sources. */
static bool prints_of_chapter(const struct chapter *chapter, struct prints *prints) {
    struct dirent **names;
    const int count = scandir(chapter->folder, &names, NULL, alphasort);
    bool has_memory = true;

    for (int i = 0; i < count; i++) {
        const char *dot = strrchr(names[i]->d_name, '.');
        char path[CHAPTER_PATH + 260];
        char *bytes = malloc(STUDENT_SOURCE);
        FILE *from;

        (void)snprintf(path, sizeof path, "%s/%s", chapter->folder, names[i]->d_name);
        from = dot != NULL && strcmp(dot, ".c") == 0 ? fopen(path, "r") : NULL;
        if (from != NULL && bytes != NULL)
            has_memory &= prints_add(prints, bytes, fread(bytes, 1, STUDENT_SOURCE, from), true);
        if (from != NULL)
            (void)fclose(from);
        free(bytes);
        free(names[i]);
    }
    if (count >= 0)
        free(names);
    return has_memory;
}

/* Drop each fingerprint that many students have: it is an idiom. */
static bool drop_idioms(struct prints *prints, size_t students) {
    const size_t most = students / 4 > MANY ? students / 4 : MANY;
    struct prints idioms = {0};
    uint64_t *each;
    size_t count = 0, kept = 0;

    for (size_t i = 0; i < students; i++)
        count += prints[i].count;
    each = malloc((count + 1) * sizeof *each);
    if (each == NULL)
        return false;
    count = 0;
    for (size_t i = 0; i < students; i++) {
        if (prints[i].count > 0)
            memcpy(each + count, prints[i].all, prints[i].count * sizeof *each);
        count += prints[i].count;
    }
    qsort(each, count, sizeof *each, by_value);
    for (size_t i = 0; i + most < count; i++)
        if (each[i] == each[i + most] && (kept == 0 || each[kept - 1] != each[i]))
            each[kept++] = each[i];
    idioms = (struct prints){each, kept};
    for (size_t i = 0; i < students; i++)
        prints_drop(&prints[i], &idioms);
    free(each);
    return true;
}

static bool alikes_add(struct alikes *alikes, struct alike pair) {
    struct alike *more = realloc(alikes->pairs, (alikes->count + 1) * sizeof *more);

    if (more == NULL)
        return false;
    alikes->pairs = more;
    alikes->pairs[alikes->count++] = pair;
    return true;
}

static bool compare_all(const struct prints *prints, size_t students, size_t chapter,
                        struct alikes *alikes) {
    bool has_memory = true;

    for (size_t a = 0; a < students; a++)
        for (size_t b = a + 1; b < students; b++) {
            const size_t shared = prints_shared(&prints[a], &prints[b]);
            const size_t less =
                prints[a].count < prints[b].count ? prints[a].count : prints[b].count;
            const int percent = less > 0 ? (int)(100 * shared / less) : 0;

            if (shared >= SHARED_LEAST && percent >= ALIKE_LEAST)
                has_memory &= alikes_add(alikes, (struct alike){chapter, a, b, percent});
        }
    return has_memory;
}

static bool alikes_find_in(const struct class *class, size_t chapter, struct alikes *alikes) {
    const size_t students = class->roster.count;
    struct prints *prints = calloc(students, sizeof *prints), known = {0};
    bool has_memory = prints != NULL && prints_of_chapter(&class->chapters[chapter], &known);

    for (size_t i = 0; i < students && has_memory; i++) {
        const struct roster_file *file =
            &class->roster.students[i].files[class->chapters[chapter].number - 1];

        if (file->bytes == NULL)
            continue;
        has_memory = prints_add(&prints[i], file->bytes, file->size, false);
        if (has_memory)
            prints_drop(&prints[i], &known);
    }
    has_memory = has_memory && drop_idioms(prints, students) &&
                 compare_all(prints, students, chapter, alikes);
    for (size_t i = 0; prints != NULL && i < students; i++)
        free(prints[i].all);
    free(prints);
    free(known.all);
    return has_memory;
}

/* ---- all */

static int by_percent(const void *a, const void *b) {
    const struct alike *one = a, *other = b;

    if (one->percent != other->percent)
        return other->percent - one->percent;
    if (one->chapter != other->chapter)
        return one->chapter < other->chapter ? -1 : 1;
    if (one->a != other->a)
        return one->a < other->a ? -1 : 1;
    return one->b < other->b ? -1 : one->b > other->b;
}

void alikes_find(const struct class *class, struct alikes *alikes) {
    *alikes = (struct alikes){0};
    for (size_t i = 0; i < class->chapter_count; i++)
        alikes->has_failed |= !alikes_find_in(class, i, alikes);
    if (alikes->count > 0)
        qsort(alikes->pairs, alikes->count, sizeof *alikes->pairs, by_percent);
}

void alikes_free(struct alikes *alikes) {
    free(alikes->pairs);
    *alikes = (struct alikes){0};
}

void alikes_print(const struct class *class, const struct alikes *alikes, FILE *to) {
    const size_t shown = alikes->count < SHOWN ? alikes->count : SHOWN;

    if (alikes->has_failed)
        fputs("Files that are alike: too little memory to compare all.\n", to);
    if (alikes->count == 0)
        return;
    fputs("\nFiles that are alike, without the parts of the exercise, the hints and the answer. "
          "This is a\nhint to look at both, no more: short right files are often alike.\n",
          to);
    for (size_t i = 0; i < shown; i++) {
        const struct alike *pair = &alikes->pairs[i];

        fprintf(to, "  chapter %2d, %3d %%: %s and %s\n", class->chapters[pair->chapter].number,
                pair->percent, class->roster.students[pair->a].shown,
                class->roster.students[pair->b].shown);
    }
    if (shown < alikes->count)
        fprintf(to, "  and %zu more pairs\n", alikes->count - shown);
}
