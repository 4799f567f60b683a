/* Encoded histograms, decoded again by the description of the format. */
#include "folder_files.h"
#include "test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#define ROOM 1000000

static struct histogram histogram;
static unsigned char packed[ROOM], plain[ROOM];

static int set_up(void **state) {
    memset(&histogram, 0, sizeof histogram);
    return 0;
}

static unsigned digit(char c) {
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

    return c == '=' ? 0 : (unsigned)(strchr(digits, c) - digits);
}

static size_t decode_base64(const char *text) {
    size_t length = strlen(text), used = 0;

    assert_int_equal(length % 4, 0);
    for (size_t i = 0; i < length; i += 4) {
        unsigned three = digit(text[i]) << 18 | digit(text[i + 1]) << 12 | digit(text[i + 2]) << 6 |
                         digit(text[i + 3]);

        packed[used++] = (unsigned char)(three >> 16);
        if (text[i + 2] != '=')
            packed[used++] = (unsigned char)(three >> 8);
        if (text[i + 3] != '=')
            packed[used++] = (unsigned char)three;
    }
    return used;
}

static uint64_t number(const unsigned char *at, size_t bytes) {
    uint64_t value = 0;

    for (size_t i = 0; i < bytes; i++)
        value = value << 8 | at[i];
    return value;
}

static int64_t read_count(const unsigned char **at) {
    uint64_t value = 0;
    unsigned shift = 0;

    do
        value |= (uint64_t)(**at & 0x7f) << shift, shift += 7;
    while (*(*at)++ & 0x80);
    return (int64_t)(value >> 1) ^ -(int64_t)(value & 1);
}

/* The histogram of the first "Tag=" line of a round. The caller frees it. */
static char *encoded(void) {
    struct strategy_item item = {.given = "none,work=1ms"};
    struct recorder *recorder = recorder_make(0);
    struct round round = {.item = &item, .recorder = recorder};
    const struct summary summary = {.round_count = 1, .rounds = &round};
    char *text = NULL, *line, *last;
    size_t size;
    FILE *to = open_memstream(&text, &size);

    assert_non_null(recorder);
    assert_non_null(to);
    recorder->latency = histogram;
    assert_int_equal(hlog_write(&summary, to), 0);
    assert_int_equal(fclose(to), 0);
    recorder_free(recorder);
    line = strstr(text, "\nTag=none;work=1ms,");
    assert_non_null(line);
    line[1 + strcspn(line + 1, "\n")] = '\0';
    last = strdup(strrchr(line, ',') + 1);
    free(text);
    return last;
}

/* Decodes into `plain`, checks the head before the counts, and returns the length of the counts. */
static size_t decode(void) {
    char *text = encoded();
    uLongf length = sizeof plain;
    size_t used;

    assert_non_null(text);
    used = decode_base64(text);
    free(text);
    assert_int_equal(number(packed, 4), 0x1c849314);
    assert_int_equal(number(packed + 4, 4), used - 8);
    assert_int_equal(uncompress(plain, &length, packed + 8, used - 8), Z_OK);
    assert_int_equal(number(plain, 4), 0x1c849313);
    assert_int_equal(number(plain + 4, 4), length - 40);
    assert_int_equal(number(plain + 8, 4), 0);
    assert_int_equal(number(plain + 12, 4), 3);
    assert_int_equal(number(plain + 16, 8), 1);
    assert_int_equal(number(plain + 24, 8), HISTOGRAM_MAX);
    assert_true(number(plain + 32, 8) == UINT64_C(0x3ff0000000000000)); /* 1.0 */
    return length - 40;
}

/* The decoded counts equal those of the histogram, and no byte follows them. */
static void assert_counts(void) {
    const unsigned char *at = plain + 40, *end = at + decode();
    size_t index = 0;
    uint64_t total = 0;

    while (at < end) {
        int64_t count = read_count(&at);

        for (; count < 0; count++)
            assert_int_equal(histogram.buckets[index++], 0);
        if (count > 0) {
            assert_int_equal(histogram.buckets[index++], count);
            total += (uint64_t)count;
        }
    }
    assert_ptr_equal(at, end);
    assert_int_equal(total, histogram.count);
    assert_int_equal(index, histogram.count > 0 ? histogram_bucket(histogram.max) + 1 : 0);
}

static void test_values_of_all_sizes(void **state) {
    assert_counts(); /* of none */
    for (int64_t value = 1; value < HISTOGRAM_MAX; value = value * 3 / 2 + 1)
        for (int64_t n = 0; n < 1 + value % 300; n++)
            histogram_record(&histogram, value);
    histogram_record(&histogram, 0);
    histogram_record(&histogram, INT64_MAX);
    assert_counts();
}

static void test_every_bucket_filled(void **state) {
    for (size_t i = 0; i < HISTOGRAM_BUCKETS; i++)
        histogram_record(&histogram, histogram_bucket_low(i));
    assert_counts();
}

/* The index of a value in an HdrHistogram of three digits from 1: 2,048 sub-buckets, of which the
 * upper half is used in every bucket but the first (countsArrayIndex() of AbstractHistogram). */
static size_t reference_index(int64_t value) {
    int bucket = 64 - __builtin_clzll((uint64_t)value | 2047) - 11;
    int64_t sub_bucket = value >> bucket;

    return ((size_t)(bucket + 1) << 10) + (size_t)sub_bucket - 1024;
}

static void test_buckets_are_those_of_hdrhistogram(void **state) {
    for (int64_t value = 0; value < 100000; value++)
        assert_int_equal(histogram_bucket(value), reference_index(value));
    for (int64_t value = 100000; value < HISTOGRAM_MAX - HISTOGRAM_MAX / 1000;
         value += value / 1000)
        assert_int_equal(histogram_bucket(value), reference_index(value));
    assert_int_equal(histogram_bucket(HISTOGRAM_MAX), reference_index(HISTOGRAM_MAX));
    assert_int_equal(reference_index(HISTOGRAM_MAX), HISTOGRAM_BUCKETS - 1);
}

#define EMPTY(test) cmocka_unit_test_setup(test, set_up)

int main(void) {
    const struct CMUnitTest tests[] = {
        EMPTY(test_values_of_all_sizes),
        EMPTY(test_every_bucket_filled),
        EMPTY(test_buckets_are_those_of_hdrhistogram),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
