/* latency.hlog: every histogram of a run in HdrHistogram's log format, version 1.3, which its
 * plotters and libraries read (hdrhistogram.org; HistogramLogWriter and the V2 encoding of
 * AbstractHistogram in github.com/HdrHistogram/HdrHistogram).
 *
 * Two lines a round, in the order of the rounds: Tag=<strategy> from planned to answered, and
 * Tag=<strategy>.service from sent to answered. Values are nanoseconds. In a tag commas are
 * semicolons. */
#ifndef LOADGEN_HLOG_H
#define LOADGEN_HLOG_H

#include "summary.h"

#include <stdio.h>

/* 0, or -1 when it could not be written, with errno. */
__attribute__((warn_unused_result)) int hlog_write(const struct summary *summary, FILE *to);

#endif
