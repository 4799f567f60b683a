/* A student's file in a sale on real servers: shown beside the points, and never one of them. */
#ifndef LAB_LIVE_H
#define LAB_LIVE_H

#include <stdbool.h>

/* `scripts/lab run` with the file of chapter `number` in `folder`, to our own output. The student's
 * code runs in an inventory-svc of this user, not in the sandbox. False: it could not be run, or
 * was interrupted. */
bool live_run(const char *folder, int number);

#endif
