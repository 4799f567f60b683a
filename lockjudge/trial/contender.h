/* The life of a contender: it acquires, checks and writes, and releases, again and again. */
#ifndef LOCKJUDGE_CONTENDER_H
#define LOCKJUDGE_CONTENDER_H

#include "stage.h"

/* A fiber of its own, by stage_start(). */
void contender_live(void *contender);

#endif
