/* The Makefile passes VERSION, from lockkit.h, and REVISION, from git. */
#include "version.h"

const char *version_text(void) {
    return VERSION " (" REVISION ")";
}

const char *version_revision(void) {
    return REVISION;
}
