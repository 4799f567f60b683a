/* A folder for the files of a test's own server, in $TMPDIR (default: /tmp). */
#ifndef TEST_OWN_FOLDER_H
#define TEST_OWN_FOLDER_H

#include <stddef.h>

/* Make $TMPDIR/`name`-XXXXXX, and write its path to `folder`. If that is too small, the test
 * fails. */
void own_folder_make(char *folder, size_t size, const char *name);
/* Remove it with all its files. */
void own_folder_remove(const char *folder);

#endif
