/* Which faults make a pair, and which worker the second one hits. */
#include "faults.h"
#include "pair.h"
#include "test.h"

#include <string.h>

static struct fault_case find(const char *name) {
    for (size_t i = 0; fault_at(i) != NULL; i++)
        for (int moment = 0; moment < FAULT_MOMENT_COUNT; moment++) {
            const struct fault_case one = {fault_at(i), (enum fault_moment)moment};
            char text[40];

            if (fault_at(i)->moments >> moment & 1 &&
                strcmp(fault_case_name(&one, text, sizeof text), name) == 0)
                return one;
        }
    fail_msg("there is no row %s", name);
    return (struct fault_case){NULL, FAULT_AT_NONE};
}

static void test_contradictions_make_no_pair(void **state) {
    static const struct {
        const char *first, *second;
        bool is_pair;
    } rows[] = {
        {"stop-held", "restart-held", true}, {"restart-held", "stop-held", true},
        {"freeze-held", "kill-wait", true},  {"stop-held", "stop-write", true},
        {"work-held", "pause-held", true},   {"kill-held", "kill-wait", true},
        {"none", "stop-held", false},        {"stop-held", "none", false},
        {"stop-held", "stop-held", false},   {"stop-held", "work-held", false},
        {"pause-held", "down-held", false},  {"restart-held", "flush-held", false},
    };

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const struct fault_case first = find(rows[i].first), second = find(rows[i].second);

        assert_int_equal(pair_refusal(&first, &second) == NULL, rows[i].is_pair);
    }
}

static void test_the_second_hits_no_worker_that_it_cannot_hit(void **state) {
    static const struct {
        const char *first, *second;
        enum pair_target target;
    } rows[] = {
        {"stop-held", "kill-held", PAIR_OTHER},    /* a stopped worker does nothing */
        {"stop-held", "cut-held", PAIR_EITHER},    /* its connections are there */
        {"kill-held", "freeze-held", PAIR_OTHER},  /* nothing hits a dead one */
        {"freeze-held", "cut-held", PAIR_OTHER},   /* a proxy makes one fault at a time */
        {"freeze-held", "stop-held", PAIR_EITHER}, /* both hit a holder */
        {"freeze-held", "stop-write", PAIR_EITHER},
        {"freeze-held", "kill-wait", PAIR_OTHER},   /* a holder does not wait */
        {"cut-held", "stop-release", PAIR_OTHER},   /* nor release while the fault lasts */
        {"freeze-reply", "stop-held", PAIR_OTHER},  /* it is no holder */
        {"work-held", "freeze-held", PAIR_VICTIM},  /* no other worker holds meanwhile */
        {"work-held", "stop-release", PAIR_VICTIM}, /* the release after the work */
        {"work-held", "kill-wait", PAIR_OTHER},
        {"pause-held", "stop-held", PAIR_EITHER},
    };

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const struct fault_case first = find(rows[i].first), second = find(rows[i].second);

        assert_int_equal(pair_target(&first, &second), rows[i].target);
    }
}

int main(void) {
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_contradictions_make_no_pair),
        cmocka_unit_test(test_the_second_hits_no_worker_that_it_cannot_hit),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
