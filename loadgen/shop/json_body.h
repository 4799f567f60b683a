/* The grammar of a JSON body, in which {{name}} may be a value or stand inside a string. */
#ifndef LOADGEN_SHOP_JSON_BODY_H
#define LOADGEN_SHOP_JSON_BODY_H

#include "reader.h"

/* Where the JSON value that begins at the reader ends. It may have several lines, and at most
 * SHOP_NESTING levels. NULL with the reason; then the reader stands anywhere. */
const char *json_body_end(struct reader *reader);

#endif
