/* A product of this run. */
#ifndef LOADGEN_PRODUCT_H
#define LOADGEN_PRODUCT_H

#include "uuid.h"

struct product {
    char id[UUID_TEXT];
    char since[64]; /* when it was created, in the form of ISO 8601 */
};

#endif
