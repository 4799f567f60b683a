/* Writes and reads differences of histograms. */
#include "tally.h"

#include "buffer.h"
#include "decimal.h"

#include <stdlib.h>

/* Returns false without memory. */
static bool tell_number(struct buffer *text, uint64_t number) {
    char digits[DECIMAL_BYTES];
    const size_t length = decimal_write(digits, (int64_t)number);

    digits[length] = ' ';
    return buffer_append(text, digits, length + 1);
}

/* The values from `from` on. Looks only at buckets that are in use. */
static json_t *difference(struct histogram *told, const struct histogram *now, int64_t from) {
    struct buffer text = {.bytes = NULL};
    size_t before = 0, end = histogram_bucket(now->max) + 1;
    bool is_whole = true;
    json_t *json;

    for (size_t i = histogram_bucket(now->min > from ? now->min : from); i < end && is_whole; i++) {
        if (now->buckets[i] == told->buckets[i])
            continue;
        is_whole = tell_number(&text, i - before) &&
                   tell_number(&text, now->buckets[i] - told->buckets[i]);
        told->buckets[i] = now->buckets[i];
        before = i;
    }
    json = is_whole ? json_stringn(text.length > 0 ? text.bytes : "", text.length) : NULL;
    buffer_free(&text);
    return json;
}

json_t *tally_json(struct tally *told, const struct recorder *recorder) {
    return json_pack("{s:o, s:o, s:o}", "latency",
                     difference(&told->latency, &recorder->latency, 0), "service",
                     difference(&told->service, &recorder->service, 0), "lateness",
                     difference(&told->lateness, &recorder->lateness, TALLY_LATE_NS));
}

/* Returns whether a number and a space are next. */
static bool read_number(const char **text, uint64_t *number) {
    char *end;

    *number = strtoull(*text, &end, 10);
    if (end == *text || *end != ' ')
        return false;
    *text = end + 1;
    return true;
}

static void add_difference(const json_t *json, struct histogram *histogram) {
    const char *text = json_string_value(json);
    uint64_t bucket = 0, distance, count;

    while (text != NULL && read_number(&text, &distance) && read_number(&text, &count)) {
        if (distance >= HISTOGRAM_BUCKETS - bucket)
            return;
        bucket += distance;
        histogram_record_many(histogram, histogram_bucket_low(bucket), count);
    }
}

void tally_add(const json_t *json, struct recorder *recorder) {
    add_difference(json_object_get(json, "latency"), &recorder->latency);
    add_difference(json_object_get(json, "service"), &recorder->service);
    add_difference(json_object_get(json, "lateness"), &recorder->lateness);
}
