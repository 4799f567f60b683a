/* The log-linear histogram: the bucket of a value, and the percentiles from the counts. */
#include "histogram.h"

#include <assert.h>
#include <math.h>

static int64_t clamp(int64_t value) {
    return value < 0 ? 0 : value > HISTOGRAM_MAX ? HISTOGRAM_MAX : value;
}

size_t histogram_bucket(int64_t value) {
    unsigned shift;

    value = clamp(value);
    if (value < 2 * HISTOGRAM_HALF)
        return (size_t)value;
    shift = 53U - (unsigned)__builtin_clzll((uint64_t)value); /* leaves the 11 highest bits */
    return (size_t)shift * HISTOGRAM_HALF + (size_t)(value >> shift);
}

int64_t histogram_bucket_low(size_t bucket) {
    size_t shift;

    assert(bucket <= HISTOGRAM_BUCKETS);
    if (bucket < 2 * HISTOGRAM_HALF)
        return (int64_t)bucket;
    shift = bucket / HISTOGRAM_HALF - 1;
    return (int64_t)(bucket - shift * HISTOGRAM_HALF) << shift;
}

static void histogram_widen(struct histogram *histogram, int64_t min, int64_t max) {
    if (histogram->count == 0 || min < histogram->min)
        histogram->min = min;
    if (histogram->count == 0 || max > histogram->max)
        histogram->max = max;
}

void histogram_record(struct histogram *histogram, int64_t value) {
    histogram_record_many(histogram, value, 1);
}

void histogram_record_many(struct histogram *histogram, int64_t value, uint64_t count) {
    value = clamp(value);
    if (count == 0)
        return;
    histogram_widen(histogram, value, value);
    histogram->count += count;
    histogram->sum += (double)value * (double)count;
    histogram->buckets[histogram_bucket(value)] += count;
}

void histogram_add(struct histogram *into, const struct histogram *from) {
    if (from->count == 0)
        return;
    histogram_widen(into, from->min, from->max);
    into->count += from->count;
    into->sum += from->sum;
    for (size_t i = 0; i < HISTOGRAM_BUCKETS; i++)
        into->buckets[i] += from->buckets[i];
}

/* The number of values at or below the percentile. nextafter() undoes the rounding up of a
 * percentage such as 99.9, which would otherwise need one value more. */
static uint64_t histogram_rank_of(double percent, uint64_t count) {
    double rank = ceil(nextafter(percent, 0) * (double)count / 100);

    if (!(rank >= 1))
        return 1;
    return rank < (double)count ? (uint64_t)rank : count;
}

int64_t histogram_percentile(const struct histogram *histogram, double percent) {
    uint64_t rank = histogram_rank_of(percent, histogram->count), seen = 0;

    if (histogram->count == 0)
        return 0;
    for (size_t i = 0; i < HISTOGRAM_BUCKETS; i++) {
        seen += histogram->buckets[i];
        if (seen >= rank) {
            int64_t high = histogram_bucket_low(i + 1) - 1;

            return high < histogram->max ? high : histogram->max;
        }
    }
    return histogram->max;
}

double histogram_mean(const struct histogram *histogram) {
    return histogram->count == 0 ? 0 : histogram->sum / (double)histogram->count;
}
