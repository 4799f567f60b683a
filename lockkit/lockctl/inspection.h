/* Who holds a lock and who waits for it, as text and as JSON. */
#ifndef LOCKCTL_INSPECTION_H
#define LOCKCTL_INSPECTION_H

#include <lockkit.h>

#include <jansson.h>

/* The whole as an object; NULL without memory. Text of strangers that is no UTF-8 is mended. */
json_t *inspection_json(const char *name, const struct lk_inspection *inspection);
/* A table on stdout. */
void inspection_print(const struct lk_inspection *inspection);
/* Print it on one line of stdout and free it; -1 without memory, or when `json` is NULL. */
int json_print(json_t *json);

#endif
