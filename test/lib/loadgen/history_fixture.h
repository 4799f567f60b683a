/* A history of hand-made rounds, written to a folder and read back. */
#ifndef LOADGEN_TEST_HISTORY_FIXTURE_H
#define LOADGEN_TEST_HISTORY_FIXTURE_H

#include "history.h"
#include "verdict_fixture.h"

extern struct written {
    char folder[200], path[232];
    struct options options; /* a written run, and its rounds, each */
    struct round one;       /* with two sales, a refusal and an unsent request */
    struct product product;
    struct ledger_row row;
    char *text;             /* the written text */
    struct history history; /* the history that was read */
    struct why why;
} written;

int history_set_up(void **state);
int history_tear_down(void **state);
#define WRITTEN(test) cmocka_unit_test_setup_teardown(test, history_set_up, history_tear_down)

/* Write the rounds of a history, or one or two times `written.one`. */
void write_rounds(const struct history *history);
void write_written(size_t rounds);
/* Reads it into `written.history`; the reason of a refusal is in `written.why`. */
int load_written(void);
/* Writes this many rounds, reads them back, and returns the last one. */
const struct round *written_again(size_t rounds);
/* The whole text. The caller frees it. */
char *read_written(void);
/* Makes a history of one or two rounds; valid until the next call. */
char *written_text(size_t rounds);

void assert_same_record(const struct record *a, const struct record *b);
void assert_same_sale(const struct ledger_sale *a, const struct ledger_sale *b);
void assert_same_order(const struct ledger_order *a, const struct ledger_order *b);

#endif
