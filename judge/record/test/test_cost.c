/* Server-Timing headers: good ones, cut ones and random ones. */
#include "cost.h"
#include "record.h"
#include "test.h"

#define NONE                                                                                       \
    { -1, -1, -1, -1, -1, -1, -1, -1, -1 }
#define FULL                                                                                       \
    "wait;dur=1.234, hold;dur=3.001, commit;dur=1.020, pg;desc=\"4\", redis;desc=\"2\", "          \
    "retry;desc=\"0\", lock;desc=\"redis\", shard;desc=\"3\", kept;dur=1.2, order;dur=0.8"

static const struct {
    const char *text;
    struct record_cost cost;
} headers[] = {
    {FULL, {1234, 3001, 1020, 4, 2, 0, 3, RECORD_LOCK_REDIS, 1200}},
    {"", NONE},
    {"pg;desc=\"1\"", {-1, -1, -1, 1, -1, -1, -1, -1, -1}},
    {"pg;desc=1,lock;desc=local", {-1, -1, -1, 1, -1, -1, -1, RECORD_LOCK_LOCAL, -1}},
    {" pg ; desc = \"2\"\t,\twait ;dur= 7", {7000, -1, -1, 2, -1, -1, -1, -1, -1}},
    {"wait;desc=\"of the lock; a, b\";dur=0.5,pg;desc=\"2\"", {500, -1, -1, 2, -1, -1, -1, -1, -1}},
    {"x;desc=\"a\\\",pg;desc=9\",pg;desc=\"2\"", {-1, -1, -1, 2, -1, -1, -1, -1, -1}},
    {"wait;dur=0.0009999, hold;dur=1., commit;dur=0",
     {0, 1000, 0, -1, -1, -1, -1, -1, -1}}, /* digits below a microsecond are dropped */
    {"wait;dur=2147483.647,hold;dur=2147483.648,pg;desc=32767,redis;desc=32768",
     {INT32_MAX, -1, -1, 32767, -1, -1, -1, -1, -1}},
    {"retry;desc=2147483647,lock;desc=spin",
     {-1, -1, -1, -1, -1, INT32_MAX, -1, RECORD_LOCK_SPIN, -1}},
    {"retry;desc=2147483648", NONE},
    {"wait;dur=99999999999999999999999999, pg;desc=\"99999999999999999999\"", NONE},
    {"wait;dur=-1,hold;dur=1e3,commit;dur=1.2.3,pg;desc=\"2.5\",redis;desc=\"\",retry;desc=+1,"
     "shard;desc=\"0x1\",lock;desc=\"consul\"",
     NONE},
    {"wait;dur=.5,hold;dur=.,commit;dur=\"", NONE},
    {"wait=1;pg;;,,;=;dur;desc=,pg;desc,\"", NONE},
    {"miss, db;dur=53, app;dur=47.2", NONE},
    {"WAIT;dur=1", NONE},
};

static void test_headers_are_read_as_the_standard_says(void **state) {
    struct record_cost cost;

    for (size_t i = 0; i < sizeof headers / sizeof *headers; i++) {
        cost_parse(headers[i].text, &cost);
        assert_memory_equal(&cost, &headers[i].cost, sizeof cost);
    }
}

/* Parse a copy that ends with the text, so that the sanitizer sees a read behind it. */
static void parse_exactly(const char *text, struct record_cost *cost) {
    char *copy = strdup(text);

    assert_non_null(copy);
    cost_parse(copy, cost);
    free(copy);
}

static void assert_bounded(const struct record_cost *cost) {
    assert_true(cost->wait_us >= -1 && cost->hold_us >= -1 && cost->commit_us >= -1);
    assert_true(cost->postgres >= -1 && cost->redis >= -1 && cost->retries >= -1);
    assert_true(cost->shard >= -1);
    assert_in_range(cost->lock + 1, 0, RECORD_LOCK_COUNT);
}

static void test_a_header_cut_anywhere_tells_what_is_left(void **state) {
    struct record_cost whole, cost;
    char text[] = FULL;

    cost_parse(text, &whole);
    for (size_t length = sizeof text - 1; length > 0; length--) {
        text[length] = '\0';
        parse_exactly(text, &cost);
        assert_bounded(&cost);
        if (length >= strlen("wait;dur=1.234"))
            assert_int_equal(cost.wait_us, whole.wait_us);
    }
}

/* A hundred thousand headers with random changes. */
static void test_any_text_is_survived(void **state) {
    static const char letters[] = ";,=\"\\. \t0123456789-+edurscwaitpgholk\x01\x7f\x80\xff";
    unsigned seed = 1;

    for (int round = 0; round < 100000; round++) {
        char text[200] = FULL;
        size_t length = (size_t)rand_r(&seed) % (sizeof text - 1);
        struct record_cost cost;

        for (int change = rand_r(&seed) % 40; change >= 0; change--)
            text[(size_t)rand_r(&seed) % (sizeof text - 1)] =
                letters[(size_t)rand_r(&seed) % (sizeof letters - 1)];
        text[length] = '\0';
        parse_exactly(text, &cost);
        assert_bounded(&cost);
    }
}

static void end_with(struct recorder *recorder, const char *header) {
    struct record *record = recorder_begin(recorder, recorder->count, 1, NULL);

    record->outcome = RECORD_SOLD_OUT;
    record->status = 409;
    record->sent_ns = 1;
    record->received_ns = 2;
    cost_parse(header, &record->cost);
    recorder_end(recorder, record);
}

static void test_recorder_adds_costs_up(void **state) {
    struct recorder *recorder = recorder_make(3);

    assert_non_null(recorder);
    end_with(recorder, FULL);
    end_with(recorder, "");
    end_with(recorder, "wait;dur=10, pg;desc=\"1\", redis;desc=\"3\", retry;desc=\"2\", "
                       "lock;desc=\"redis\"");
    assert_int_equal(recorder->costed, 2);
    assert_int_equal(recorder->postgres, 5);
    assert_int_equal(recorder->redis, 5);
    assert_int_equal(recorder->retries, 2);
    assert_int_equal(recorder->wait.count, 2);
    assert_int_equal(recorder->wait.max, 10000000);
    assert_int_equal(recorder->hold.count, 0); /* no request bought */
    assert_int_equal(recorder->unsold_holds, 1);
    assert_int_equal(recorder->unsold_hold_ns, 3001000);
    assert_int_equal(recorder->commit.max, 1020000);
    assert_int_equal(recorder->locks[RECORD_LOCK_REDIS], 2);
    assert_int_equal(recorder->locks[RECORD_LOCK_LOCAL], 0);
    assert_int_equal(recorder->shards, 4);
    assert_memory_equal(&recorder->records[0].cost, &headers[0].cost, sizeof headers[0].cost);
    assert_memory_equal(&recorder->records[1].cost, &headers[1].cost, sizeof headers[0].cost);
    recorder_free(recorder);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_headers_are_read_as_the_standard_says),
        cmocka_unit_test(test_a_header_cut_anywhere_tells_what_is_left),
        cmocka_unit_test(test_any_text_is_survived),
        cmocka_unit_test(test_recorder_adds_costs_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
