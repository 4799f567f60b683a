/* Writes HdrHistogram's log format. Our histogram has the layout of an HdrHistogram with three
 * significant digits and a lowest value of 1: our bucket of a value is its index there. */
#include "folder_files.h"

#include "iso_time.h"

#include <assert.h>
#include <stdlib.h>
#include <zlib.h>

#define COOKIE            0x1c849313U /* V2 */
#define COMPRESSED_COOKIE 0x1c849314U /* V2, deflated */
#define DIGITS            3
#define RATIO             0x3ff0000000000000U /* a double's bits: 1.0 */
#define HEAD              40                  /* bytes before the counts */
#define COMPRESSED_HEAD   8
#define COUNT_MAX         9 /* bytes of a count */

/* ---- the encoding */

static unsigned char *hlog_put_number(unsigned char *to, uint64_t value, size_t bytes) {
    for (size_t i = 0; i < bytes; i++)
        to[i] = (unsigned char)(value >> 8 * (bytes - 1 - i));
    return to + bytes;
}

/* ZigZag LEB128. HdrHistogram's variant differs only from 2^56 on, far above our counts. */
static unsigned char *put_count(unsigned char *to, int64_t count) {
    uint64_t rest = (uint64_t)count << 1;

    assert(count != 0 && count < INT64_C(1) << 56);
    rest = count < 0 ? ~rest : rest;
    for (; rest >= 0x80; rest >>= 7)
        *to++ = (unsigned char)(0x80 | (rest & 0x7f));
    *to++ = (unsigned char)rest;
    return to;
}

/* Consecutive empty buckets are one negative number. */
static unsigned char *put_counts(unsigned char *to, const struct histogram *histogram) {
    const size_t end = histogram->count > 0 ? histogram_bucket(histogram->max) + 1 : 0;

    assert(end <= HISTOGRAM_BUCKETS);
    for (size_t i = 0; i < end;) {
        size_t empty = 0;

        while (i + empty < end && histogram->buckets[i + empty] == 0)
            empty++;
        to = put_count(to, empty > 0 ? -(int64_t)empty : (int64_t)histogram->buckets[i]);
        i += empty > 0 ? empty : 1;
    }
    return to;
}

/* Returns its end. */
static unsigned char *put_histogram(unsigned char *to, const struct histogram *histogram) {
    unsigned char *end = put_counts(to + HEAD, histogram), *at = to;

    at = hlog_put_number(at, COOKIE, 4);
    at = hlog_put_number(at, (uint64_t)(end - to) - HEAD, 4);
    at = hlog_put_number(at, 0, 4); /* normalizing index offset */
    at = hlog_put_number(at, DIGITS, 4);
    at = hlog_put_number(at, 1, 8); /* lowest value */
    at = hlog_put_number(at, HISTOGRAM_MAX, 8);
    (void)hlog_put_number(at, RATIO, 8); /* of integers to values */
    return end;
}

static char *base64(const unsigned char *from, size_t length) {
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    char *text = malloc((length + 2) / 3 * 4 + 1), *to = text;

    for (size_t i = 0; text != NULL && i < length; i += 3) {
        const size_t left = length - i;
        const uint32_t three = (uint32_t)from[i] << 16 |
                               (left > 1 ? (uint32_t)from[i + 1] << 8 : 0) |
                               (left > 2 ? (uint32_t)from[i + 2] : 0);

        *to++ = digits[three >> 18];
        *to++ = digits[three >> 12 & 63];
        *to++ = left > 1 ? digits[three >> 6 & 63] : '=';
        *to++ = left > 2 ? digits[three & 63] : '=';
    }
    if (text != NULL)
        *to = '\0';
    return text;
}

/* Returns it compressed and in base64; the caller frees it. NULL without memory. */
static char *hlog_encode(const struct histogram *histogram) {
    const size_t size = HEAD + (size_t)HISTOGRAM_BUCKETS * COUNT_MAX;
    uLongf length = compressBound(size);
    unsigned char *plain = malloc(size), *packed = malloc(COMPRESSED_HEAD + length);
    char *text = NULL;

    if (plain != NULL && packed != NULL &&
        compress(packed + COMPRESSED_HEAD, &length, plain,
                 (uLong)(put_histogram(plain, histogram) - plain)) == Z_OK) {
        (void)hlog_put_number(hlog_put_number(packed, COMPRESSED_COOKIE, 4), length, 4);
        text = base64(packed, length + COMPRESSED_HEAD);
    }
    free(plain);
    free(packed);
    return text;
}

/* ---- the file */

static int put_line(const struct summary *summary, const struct round *round,
                    const struct histogram *histogram, const char *suffix, FILE *to) {
    char *encoded = hlog_encode(histogram);

    if (encoded == NULL)
        return -1;
    fputs("Tag=", to);
    for (const char *at = round->item->given; *at != '\0'; at++)
        putc(*at == ',' ? ';' : *at, to);
    fprintf(to, "%s,%.3f,%.3f,%.3f,%s\n", suffix,
            (double)(round->started_us - summary->started_us) / 1e6,
            (double)round->recorder->last_ns / 1e9, (double)histogram->max / 1e6, encoded);
    free(encoded);
    return 0;
}

int hlog_write(const struct summary *summary, FILE *to) {
    char started[ISO_TIME];

    fprintf(to,
            "#[Histogram log format version 1.3]\n"
            "#[StartTime: %.3f (seconds since epoch), %s]\n"
            "#[Values are nanoseconds; Interval_Max is in milliseconds. Tag=STRATEGY: from the "
            "planned time of a request to its answer; Tag=STRATEGY.service: from its sent time. "
            "In a tag, commas are semicolons.]\n"
            "\"StartTimestamp\",\"Interval_Length\",\"Interval_Max\","
            "\"Interval_Compressed_Histogram\"\n",
            (double)summary->started_us / 1e6, iso_time(started, summary->started_us));
    for (size_t i = 0; i < summary->round_count; i++) {
        const struct round *round = &summary->rounds[i];

        if (put_line(summary, round, &round->recorder->latency, "", to) != 0 ||
            put_line(summary, round, &round->recorder->service, ".service", to) != 0)
            return -1;
    }
    return fflush(to) == 0 && !ferror(to) ? 0 : -1;
}
