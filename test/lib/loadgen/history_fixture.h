/* A history of hand-made rounds, written to a folder and read back. */
#ifndef LOADGEN_TEST_HISTORY_FIXTURE_H
#define LOADGEN_TEST_HISTORY_FIXTURE_H

#include "history.h"
#include "verdict_fixture.h"

#include <sys/types.h>

extern struct written {
    char folder[40], path[64];
    struct options options; /* what is written of them, and of each round, */
    struct round one;       /* with two sales, a refusal, and a request never sent */
    struct product product;
    struct ledger_row row;
    struct history history; /* what was read */
    struct why why;
} written;

int history_set_up(void **state);
int history_tear_down(void **state);
#define WRITTEN(test) cmocka_unit_test_setup_teardown(test, history_set_up, history_tear_down)

void write_history(size_t rounds);
off_t size_of_history(void);
/* All of it; free() it. */
char *read_history(void);
/* history_load() of it. */
int load(void);
/* Write so many rounds and read them back: the last. */
const struct round *written_again(size_t rounds);

#endif
