/* Shared by the formats of the report. */
#ifndef LOCKJUDGE_REPORT_INTERNAL_H
#define LOCKJUDGE_REPORT_INTERNAL_H

#include "prose.h"
#include "report.h"

/* "TWIN-UNAWARE 97 ms, STALE-WRITE", without markup. */
void report_put_words(const struct report_row *row, FILE *to);
/* The shortest history of a finding, a line each (prose.h). 0, or -1 without memory. */
__attribute__((warn_unused_result)) int report_tell(const struct report *report,
                                                    const struct report_row *row,
                                                    enum oracle_word word, prose_cb each,
                                                    void *data);
/* The sentence of a finding and its shortest history, escaped, a line each. 0, or -1 without memory.
 */
__attribute__((warn_unused_result)) int report_put_finding(const struct report *report,
                                                           const struct report_row *row,
                                                           enum oracle_word word, FILE *to);

#endif
