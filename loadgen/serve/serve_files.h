/* The files of results folders, and nothing else of the disk: known names, in folders with plain
 * names, through no symbolic link. */
#ifndef LOADGEN_SERVE_FILES_H
#define LOADGEN_SERVE_FILES_H

#include <dirent.h>
#include <stddef.h>

struct serve_file {
    const char *name, *content_type;
};
extern const struct serve_file serve_files[]; /* ends with a NULL name; report.html is the first */

/* NULL: no file of a results folder has this name. */
const struct serve_file *serve_file_named(const char *name);

/* The folders of `root`, the newest first: names that begin with a date before others. 0, or a
 * negative errno; serve_list_free() them either way. */
__attribute__((warn_unused_result)) int serve_list(const char *root, struct dirent ***folders,
                                                   size_t *count);
void serve_list_free(struct dirent **folders, size_t count);

/* A descriptor to read it by, and its size; or a negative errno. */
__attribute__((warn_unused_result)) int serve_open(const char *root, const char *folder,
                                                   const char *file, size_t *size);
/* All of it, NUL-terminated; free() it. 0, or a negative errno: -EFBIG for more than `most` bytes.
 */
__attribute__((warn_unused_result)) int serve_read(const char *root, const char *folder,
                                                   const char *file, size_t most, char **bytes,
                                                   size_t *length);

#endif
