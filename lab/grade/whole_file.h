/* Writes a file under another name and renames it, so that a reader finds the old file or the whole
 * new one. A pipe or a device is written directly. */
#ifndef LAB_WHOLE_FILE_H
#define LAB_WHOLE_FILE_H

#include <stdio.h>

/* `write` returns 0, or -1 with errno. So does this; then the file at `path` is as before. */
__attribute__((warn_unused_result)) int whole_file_write(const char *path,
                                                         int (*write)(const void *data, FILE *to),
                                                         const void *data);

#endif
