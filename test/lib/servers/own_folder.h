/* A folder for the files of a test's own server, in $TMPDIR (default: /tmp). */
#ifndef TEST_OWN_FOLDER_H
#define TEST_OWN_FOLDER_H

#include <stddef.h>

/* Makes $TMPDIR/`name`-XXXXXX and tells its path in `folder`; fails the test if that is too long.
 */
void own_folder_make(char *folder, size_t size, const char *name);
/* With all that is in it. */
void own_folder_remove(const char *folder);

#endif
