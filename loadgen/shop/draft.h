/* A shop file to start from. */
#ifndef LOADGEN_SHOP_DRAFT_H
#define LOADGEN_SHOP_DRAFT_H

#include "why.h"

#include <stdio.h>

/* Writes the file NAME.shop in the current folder: a shop file with a comment to each part. Never
 * replaces a file. 0; or -1 with the reason in `why`, and then there is no new file. */
__attribute__((warn_unused_result)) int draft_write(const char *name, struct why *why);

#endif
