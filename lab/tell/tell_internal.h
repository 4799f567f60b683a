/* What the parts of the telling share. */
#ifndef LAB_TELL_INTERNAL_H
#define LAB_TELL_INTERNAL_H

#include "tell.h"

#include <jansson.h>

/* json.c; NULL without memory. */
json_t *tell_object(const struct tell *tell);

#endif
