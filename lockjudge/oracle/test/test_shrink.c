/* A history becomes short and still shows the same; and it is told in sentences. */
#include "planted.h"
#include "prose.h"
#include "shrink.h"
#include "test.h"

#include <string.h>

static struct history history, shortest;

static int tear_down(void **state) {
    history_free(&history);
    history_free(&shortest);
    return 0;
}

static char told[2000];

static void on_line(const char *line, void *data) {
    strncat(told, line, sizeof told - strlen(told) - 1);
    strncat(told, "\n", sizeof told - strlen(told) - 1);
}

static void test_only_what_shows_the_twin_is_left(void **state) {
    told[0] = '\0';
    assert_int_equal(
        planted_read("3 0..1 acquire held; 3 2..3 check held; 3 4..5 release released;"
                     "1 10..11 acquire held; 1 12..13 check held; 1 14 write landed;"
                     "1 20..2300 fault stops; 3 30..530 acquire busy; 2 2000..2100 acquire held;"
                     "2 2110..2111 check held; 2 2112 write landed; 1 2310..2311 check held;"
                     "1 2312 write landed; 2 2350..2351 check held; 3 2400..2900 acquire busy;"
                     "1 2450..2451 release error",
                     &history),
        0);
    assert_int_equal(shrink(&history, PLANTED_SLACK_MS, ORACLE_TWIN_UNAWARE, &shortest), 0);
    assert_int_equal(prose_tell(&shortest, on_line, NULL), 0);
    assert_string_equal(told,
                        "  0.000 s  worker 1 gets the lock\n"
                        "  0.009 s  worker 1 is stopped\n"
                        "  2.089 s  worker 2 gets the lock\n"
                        "  2.289 s  worker 1 runs again\n"
                        "  2.300 s  worker 1 is asked, and believes that it holds the lock\n"
                        "  2.340 s  worker 2 is asked, and believes that it holds the lock\n");
}

/* Both faults that hit the older holder are told. The one of a third worker is not, nor one that
 * began when all had happened. */
static void test_a_pair_of_faults_is_told_where_it_matters(void **state) {
    told[0] = '\0';
    assert_int_equal(
        planted_read("1 0..1 acquire held; 1 10..2300 fault stops; 1 1000..1010 fault away;"
                     "3 1500..1500 fault kills; 3 1501 death; 2 2000..2100 acquire held;"
                     "1 2310..2311 check held; 2 2350..2351 check held; 1 2400..2500 fault stops",
                     &history),
        0);
    assert_int_equal(shrink(&history, PLANTED_SLACK_MS, ORACLE_TWIN_UNAWARE, &shortest), 0);
    assert_int_equal(prose_tell(&shortest, on_line, NULL), 0);
    assert_string_equal(told,
                        "  0.000 s  worker 1 gets the lock\n"
                        "  0.009 s  worker 1 is stopped\n"
                        "  0.999 s  this begins for worker 1: \n"
                        "  1.009 s  this ends for worker 1: \n"
                        "  2.099 s  worker 2 gets the lock\n"
                        "  2.299 s  worker 1 runs again\n"
                        "  2.310 s  worker 1 is asked, and believes that it holds the lock\n"
                        "  2.350 s  worker 2 is asked, and believes that it holds the lock\n");
}

/* 63 workers ask again and again for the lock of a dead one. */
static void test_thousands_of_requests_become_two(void **state) {
    assert_int_equal(planted_read("1 0..1 acquire held; 1 5..5 fault kills; 1 6 death", &history),
                     0);
    for (int64_t at = 10; at < 6000; at += 100)
        for (uint32_t worker = 1; worker < 64; worker++)
            assert_true(history_add(&history, &(struct history_item){
                                                  .at_ns = (at + worker) * 1000000,
                                                  .end_ns = (at + worker + 90) * 1000000,
                                                  .kind = HISTORY_ACQUIRE,
                                                  .result = HISTORY_RESULT_BUSY,
                                                  .worker = worker,
                                                  .ttl_ms = PLANTED_TTL_MS,
                                              }) >= 0);
    assert_int_equal(shrink(&history, PLANTED_SLACK_MS, ORACLE_STUCK, &shortest), 0);
    assert_int_equal(shortest.count, 2);
    assert_int_equal(shortest.items[0].kind, HISTORY_DEATH);
    assert_int_equal(shortest.items[1].result, HISTORY_RESULT_BUSY);
}

static void test_each_planted_finding_shrinks_and_has_a_sentence(void **state) {
    for (size_t i = 0; planted_at(i) != NULL; i++)
        for (unsigned word = 0; word < ORACLE_WORD_COUNT; word++) {
            struct oracle oracle;
            char sentence[PROSE_LINE];

            if ((planted_at(i)->words >> word & 1) == 0)
                continue;
            assert_int_equal(planted_read(planted_at(i)->text, &history), 0);
            assert_int_equal(shrink(&history, PLANTED_SLACK_MS, (enum oracle_word)word, &shortest),
                             0);
            assert_true(shortest.count > 0 && shortest.count <= history.count);
            assert_int_equal(oracle_judge(&shortest, PLANTED_SLACK_MS, &oracle), 0);
            assert_true(oracle.findings[word].count > 0);
            (void)prose_finding((enum oracle_word)word, &oracle.findings[word], sentence,
                                sizeof sentence);
            assert_string_equal(sentence + strlen(sentence) - 1, ".");
            history_free(&history);
            history_free(&shortest);
        }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_only_what_shows_the_twin_is_left, tear_down),
        cmocka_unit_test_teardown(test_a_pair_of_faults_is_told_where_it_matters, tear_down),
        cmocka_unit_test_teardown(test_thousands_of_requests_become_two, tear_down),
        cmocka_unit_test_teardown(test_each_planted_finding_shrinks_and_has_a_sentence, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
