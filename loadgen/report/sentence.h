/* The result of a strategy in one sentence, readable without any legend. */
#ifndef LOADGEN_SENTENCE_H
#define LOADGEN_SENTENCE_H

#include "options.h"
#include "summary.h"

#define SENTENCE_TEXT    1024
#define SENTENCE_SUBJECT 240

/* Writes the subject of a sentence to `text`: "atomic", or "Vendure 3.7.3, 2 processes". Returns
 * `text`. */
const char *sentence_subject(const struct result *result, const struct options *options,
                             char text[SENTENCE_SUBJECT]);

/* Of a VALID verdict with anomalies that were not asked: writes the names of the others to `text`,
 * "OVERSELL, UNDERSELL and LEAK". Returns `text`; or NULL, because all were asked, or the verdict
 * is another. */
const char *sentence_asked(const struct verdict *verdict, char text[SENTENCE_TEXT]);

/* Writes for example "none: sold 800 of 500 units, 300 customers hold an order for nothing, and 577
 * orders are for a unit that was sold already" to `text`, without a full stop. It begins
 * with the subject. Returns `text`. */
const char *sentence_make(const struct result *result, const struct options *options,
                          char text[SENTENCE_TEXT]);

#endif
