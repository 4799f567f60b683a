/* Reads a query of a reply, and the predicate that its result must meet. */
#ifndef LOADGEN_SHOP_QUERY_H
#define LOADGEN_SHOP_QUERY_H

#include "reader.h"
#include "shop.h"

/* Each reads from the reader's place, and goes behind it. 0; or -1 with the reason. */
int query_read(struct reader *reader, struct shop_query *query);
int predicate_read(struct reader *reader, struct shop_predicate *predicate);

#endif
