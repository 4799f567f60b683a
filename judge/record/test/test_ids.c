/* Ids are sorted as strcmp() sorts them, and equal ones keep their order. */
#include "fault.h"
#include "ids.h"
#include "test.h"

#include <stdlib.h>

#define MOST 300

static char ids[MOST][24];
static struct ids_entry entries[MOST];

/* Few letters, so that ids are equal or begin alike; some are the beginning of others. */
static void make_ids(unsigned seed, size_t count) {
    srand(seed);
    for (size_t i = 0; i < count; i++) {
        int length = rand() % 14;

        memcpy(ids[i], seed % 2 ? "order-" : "", seed % 2 ? 7 : 1);
        for (char *at = ids[i] + strlen(ids[i]); length-- > 0; at++)
            memcpy(at, (char[]){"a~!z"[rand() % (seed % 3 ? 4 : 2)], 0}, 2);
        entries[i] = (struct ids_entry){.id = ids[i], .row = ids[i]};
    }
}

static void test_ids_are_sorted_and_equal_ones_keep_their_order(void **state) {
    for (unsigned seed = 1; seed <= 500; seed++) {
        const size_t count = seed % MOST;

        make_ids(seed, count);
        assert_int_equal(ids_sort(entries, count), 0);
        for (size_t i = 1; i < count; i++) {
            const int order = strcmp(entries[i - 1].id, entries[i].id);

            assert_true(order < 0 || (order == 0 && entries[i - 1].row < entries[i].row));
            assert_ptr_equal(entries[i].id, entries[i].row);
        }
    }
}

static void sort_some(void *arg) {
    make_ids(7, 20);
    (void)!ids_sort(entries, 20);
}

static void test_no_memory_to_sort_is_told(void **state) {
    fault_each_allocation(sort_some, NULL);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ids_are_sorted_and_equal_ones_keep_their_order),
        cmocka_unit_test(test_no_memory_to_sort_is_told),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
