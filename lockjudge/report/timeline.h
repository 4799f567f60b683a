/* The two holders of a row in a drawing: a lane for each worker. */
#ifndef LOCKJUDGE_TIMELINE_H
#define LOCKJUDGE_TIMELINE_H

#include "report.h"

/* Draw the part of the row's history around this finding as SVG. 0, or -1 without memory. */
__attribute__((warn_unused_result)) int timeline_draw(const struct report_row *row,
                                                      enum oracle_word word, FILE *to);

#endif
