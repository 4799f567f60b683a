/* Small texts that have one owner. */
#include "fault.h"
#include "test.h"
#include "texts.h"

#include <stdlib.h>

#define COUNT 20000 /* several blocks */

static void test_a_text_stays_where_it_is(void **state) {
    static const char *kept[COUNT];
    struct texts texts = {.last = NULL};
    char text[20];

    for (int i = 0; i < COUNT; i++) {
        snprintf(text, sizeof text, "order %d", i);
        kept[i] = texts_add(&texts, text);
        assert_non_null(kept[i]);
    }
    for (int i = 0; i < COUNT; i++) {
        snprintf(text, sizeof text, "order %d", i);
        assert_string_equal(kept[i], text);
    }
    texts_free(&texts);
    assert_null(texts.last);
}

static void test_a_text_may_be_longer_than_a_block(void **state) {
    struct texts texts = {.last = NULL};
    char *text = calloc(1, 200001);
    const char *kept, *next;

    assert_non_null(text);
    memset(text, 'x', 200000);
    kept = texts_add(&texts, text);
    next = texts_add(&texts, "y");
    assert_string_equal(kept, text);
    assert_string_equal(next, "y");
    assert_string_equal(texts_add(&texts, ""), "");
    texts_free(&texts);
    free(text);
}

static void test_bytes_are_aligned_like_a_pointer(void **state) {
    struct texts texts = {.last = NULL};

    for (int64_t i = 0; i < COUNT; i++) {
        const int64_t *kept = texts_add_bytes(&texts, &i, sizeof i);

        assert_int_equal((uintptr_t)kept % sizeof(void *), 0);
        assert_int_equal(*kept, i);
        assert_string_equal(texts_add(&texts, "a"), "a");
    }
    texts_free(&texts);
}

static void add_three(void *arg) {
    struct texts texts = {.last = NULL};

    for (int i = 0; i < 3; i++) {
        const char *kept = texts_add(&texts, arg);

        assert_true(kept == NULL || strcmp(kept, arg) == 0);
    }
    texts_free(&texts);
}

static void test_no_memory_for_a_text_is_told(void **state) {
    static char text[] = "a text";

    fault_each_allocation(add_three, text);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_text_stays_where_it_is),
        cmocka_unit_test(test_a_text_may_be_longer_than_a_block),
        cmocka_unit_test(test_bytes_are_aligned_like_a_pointer),
        cmocka_unit_test(test_no_memory_for_a_text_is_told),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
