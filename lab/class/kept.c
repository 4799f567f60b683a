/* Reads and writes lines of results. */
#include "kept.h"

#include "json_read.h"
#include "json_text.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* What a result depends on; NULL without memory, or if the source is no UTF-8. */
static json_t *kept_key(const struct kept *kept, const struct chapter *chapter, uint64_t seed,
                        const char *source, size_t size) {
    char path[CHAPTER_PATH + 16];

    (void)snprintf(path, sizeof path, "%s/chapter.json", chapter->folder);
    return JSON_TEXT_OBJECT(
        {"version", json_text(kept->version)}, {"number", json_integer(chapter->number)},
        {"chapter", json_read_file(path, NULL)}, {"seed", json_integer((json_int_t)seed)},
        {"source", json_stringn(source, size)});
}

int kept_open(struct kept *kept, const char *path, const char *version, struct why *why) {
    char *line = NULL;
    size_t room = 0;
    ssize_t length;

    kept->version = version;
    kept->lines = json_array();
    kept->to = fopen(path, "a+e");
    if (kept->lines == NULL || kept->to == NULL) {
        (void)why_set(why, "%s: %s", path, strerror(errno));
        kept_close(kept);
        return -1;
    }
    rewind(kept->to);
    while ((length = getline(&line, &room, kept->to)) > 0) {
        json_t *one = json_read_as_is(line, (size_t)length, NULL);

        if (one != NULL)
            (void)json_array_append_new(kept->lines, one);
        else if (line[length - 1] != '\n')
            putc('\n', kept->to); /* the next line begins anew */
    }
    free(line);
    return 0;
}

void kept_close(struct kept *kept) {
    json_decref(kept->lines);
    if (kept->to != NULL)
        (void)fclose(kept->to);
    *kept = (struct kept){0};
}

json_t *kept_find(const struct kept *kept, const struct chapter *chapter, uint64_t seed,
                  const char *source, size_t size) {
    json_t *key = kept->lines != NULL ? kept_key(kept, chapter, seed, source, size) : NULL;
    json_t *result = NULL, *line;
    size_t i;

    json_array_foreach (kept->lines, i, line)
        if (key != NULL && json_equal(json_object_get(line, "key"), key))
            result = json_object_get(line, "result");
    json_decref(key);
    return result;
}

void kept_add(const struct kept *kept, const struct chapter *chapter, uint64_t seed,
              const char *source, size_t size, json_t *result) {
    json_t *key = kept->to != NULL ? kept_key(kept, chapter, seed, source, size) : NULL;
    json_t *line =
        key != NULL ? JSON_TEXT_OBJECT({"key", key}, {"result", json_incref(result)}) : NULL;

    if (line != NULL && json_dumpf(line, kept->to, JSON_COMPACT) == 0)
        putc('\n', kept->to);
    if (kept->to != NULL)
        (void)fflush(kept->to);
    json_decref(line);
}
