/* The growing buffer: it keeps every byte, gives memory back at a reset, and reports a lack of
 * memory. */
#include "buffer.h"
#include "fault.h"
#include "test.h"

static void test_growing_keeps_the_bytes(void **state) {
    struct buffer buffer = {0};

    for (unsigned i = 0; i < 5000; i++) {
        char piece[] = {(char)i, (char)(i >> 8)};

        assert_true(buffer_append(&buffer, piece, sizeof piece));
    }
    assert_int_equal(buffer.length, 10000);
    for (unsigned i = 0; i < 5000; i++) {
        assert_int_equal(buffer.bytes[2 * i], (char)i);
        assert_int_equal(buffer.bytes[2 * i + 1], (char)(i >> 8));
    }
    buffer_free(&buffer);
    assert_null(buffer.bytes);
}

static void test_without_memory_nothing_is_appended(void **state) {
    struct buffer buffer = {0};
    char large[4096];

    memset(large, 'x', sizeof large);
    assert_true(buffer_append_text(&buffer, "kept"));
    fault_memory(0, 1);
    assert_false(buffer_append(&buffer, large, sizeof large));
    assert_true(fault_memory_end());
    assert_int_equal(buffer.length, 4);
    assert_memory_equal(buffer.bytes, "kept", 4);
    buffer_free(&buffer);
}

static void test_a_reset_keeps_little_memory(void **state) {
    struct buffer buffer = {0};
    char large[4096] = "";

    assert_true(buffer_append_text(&buffer, "small"));
    buffer_reset(&buffer);
    assert_int_equal(buffer.length, 0);
    assert_true(buffer.capacity > 0);
    assert_true(buffer_append(&buffer, large, sizeof large));
    buffer_reset(&buffer);
    assert_int_equal(buffer.length + buffer.capacity, 0);
    assert_null(buffer.bytes);
}

static void test_the_rest_moves_to_the_front(void **state) {
    struct buffer buffer = {0};

    assert_true(buffer_append_text(&buffer, "usedrest"));
    buffer_drop_front(&buffer, 4);
    assert_int_equal(buffer.length, 4);
    assert_memory_equal(buffer.bytes, "rest", 4);
    buffer_drop_front(&buffer, 0);
    assert_int_equal(buffer.length, 4);
    buffer_drop_front(&buffer, 4);
    assert_null(buffer.bytes);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_growing_keeps_the_bytes),
        cmocka_unit_test(test_without_memory_nothing_is_appended),
        cmocka_unit_test(test_a_reset_keeps_little_memory),
        cmocka_unit_test(test_the_rest_moves_to_the_front),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
