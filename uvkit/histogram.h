/* A log-linear histogram: three significant digits from 1 to 2^42, in constant memory.
 *
 * Values are integers of any unit (here nanoseconds or microseconds). Values up to 2047 have a
 * bucket each. Above that, each power of two has 1,024 equal buckets, so a bucket is never wider
 * than a thousandth of its values. This is the scheme of Gil Tene's HdrHistogram
 * (hdrhistogram.org), with 2 x 1,024 sub-buckets. */
#ifndef UVKIT_HISTOGRAM_H
#define UVKIT_HISTOGRAM_H

#include <stddef.h>
#include <stdint.h>

#define HISTOGRAM_HALF 1024
#define HISTOGRAM_MAX                                                                              \
    ((INT64_C(1) << 42) - 1) /* 73 minutes in nanoseconds; larger values count as this one */
#define HISTOGRAM_BUCKETS ((42 - 11 + 2) * HISTOGRAM_HALF)

/* Zeroed is empty. */
struct histogram {
    uint64_t count;
    int64_t min, max; /* exact; 0 when empty */
    double sum;
    uint64_t buckets[HISTOGRAM_BUCKETS]; /* 264 KiB: allocate it */
};

void histogram_record(struct histogram *histogram, int64_t value);
/* The same `count` times. */
void histogram_record_many(struct histogram *histogram, int64_t value, uint64_t count);
void histogram_add(struct histogram *into, const struct histogram *from);
/* `percent` (0..100) of the values are at or below the result: the upper end of its bucket, never
 * above the exact maximum; 0 when empty. */
int64_t histogram_percentile(const struct histogram *histogram, double percent);
double histogram_mean(const struct histogram *histogram);
/* The bucket of a value, and the lowest value of a bucket. The lowest value of HISTOGRAM_BUCKETS
 * ends the last bucket. */
size_t histogram_bucket(int64_t value);
int64_t histogram_bucket_low(size_t bucket);

#endif
