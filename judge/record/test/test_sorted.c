/* Sorts numbers, and counts them: both like a slow and simple program. */
#include "sorted.h"

#include "test.h"

#include <string.h>

struct element {
    int64_t number;
    uint32_t place; /* before it was sorted */
    char rest[5];
};

static int64_t number_of(uint64_t random, int kind) {
    static const int64_t far[] = {INT64_MIN, INT64_MAX, -1, 0, 1};

    switch (kind) {
    case 0:
        return (int64_t)(random % 7);
    case 1:
        return (int64_t)(random % 100000) - 50000;
    case 2:
        return far[random % 5];
    default:
        return (int64_t)(random * UINT64_C(0x9e3779b97f4a7c15));
    }
}

static void assert_sorted(const struct element *elements, size_t count, const int64_t *numbers) {
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(elements[i].number, numbers[elements[i].place]);
        assert_string_equal(elements[i].rest, "rest");
        if (i == 0)
            continue;
        assert_true(elements[i - 1].number <= elements[i].number);
        assert_true(elements[i - 1].number < elements[i].number ||
                    elements[i - 1].place < elements[i].place);
    }
}

static void test_equal_numbers_keep_their_order(void **state) {
    static const size_t counts[] = {0, 1, 2, 64, 65, 3000};
    static struct element elements[3000];
    static int64_t numbers[3000];
    uint64_t random = 88172645463325252;

    for (size_t c = 0; c < sizeof counts / sizeof *counts; c++)
        for (int kind = 0; kind < 4; kind++) {
            for (uint32_t i = 0; i < counts[c]; i++) {
                random ^= random << 13;
                random ^= random >> 7;
                random ^= random << 17;
                numbers[i] = number_of(random, kind);
                elements[i] = (struct element){numbers[i], i, "rest"};
            }
            for (int again = 0; again < 2; again++) {
                sorted_sort(elements, counts[c], sizeof *elements);
                assert_sorted(elements, counts[c], numbers);
            }
            sorted_sort(numbers, counts[c], sizeof *numbers);
            for (size_t i = 0; i < counts[c]; i++)
                assert_int_equal(numbers[i], elements[i].number);
        }
}

static void test_numbers_are_counted_from_any_place(void **state) {
    int64_t numbers[40];

    for (size_t count = 0; count <= 40; count++)
        for (int64_t number = -1; number <= 21; number++) {
            size_t below = 0;

            for (size_t i = 0; i < count; i++) {
                numbers[i] = (int64_t)i / 2;
                below += numbers[i] < number;
            }
            assert_int_equal(sorted_count_below(numbers, count, number), below);
            for (size_t near = 0; near <= count + 1; near++)
                assert_int_equal(sorted_count_near(numbers, count, near, number), below);
        }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_equal_numbers_keep_their_order),
        cmocka_unit_test(test_numbers_are_counted_from_any_place),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
