/* The version of the product, and the sources it was built from. */
#ifndef UVKIT_VERSION_H
#define UVKIT_VERSION_H

/* Of the release: the number itself is LK_VERSION in lockkit.h. */
#define VERSION_DATE "November 27, 2026"

/* "0.1.0 (REVISION)", as --version prints it. */
const char *version_text(void);
/* Git's commit, with "-dirty" when the sources differ from it. */
const char *version_revision(void);

#endif
