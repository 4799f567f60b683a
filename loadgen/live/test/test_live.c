/* The live view as text: what it says, how wide it is, and when it is red. */
#include "live_draw.h"
#include "test.h"

#include <stdio.h>
#include <string.h>

#define SECOND INT64_C(1000000000)

static struct live_snapshot snapshot;
static struct live_style style;
static struct live_frame frame;

static int set_up(void **state) {
    snapshot = (struct live_snapshot){.name = "redis,ttl=2s",
                                      .round = 2,
                                      .rounds = 10,
                                      .repeat = 1,
                                      .repeats = 5,
                                      .elapsed_ns = 3 * SECOND,
                                      .span_ns = 20 * SECOND,
                                      .in_flight = 412,
                                      .offered = 800.4,
                                      .achieved = 305.9,
                                      .p99_ns = 1200 * (SECOND / 1000),
                                      .sold = 918,
                                      .stock = 1000,
                                      .left = -1};
    style = (struct live_style){.columns = 80, .rows = 24};
    return 0;
}

static bool shows(const char *text) {
    return strstr(frame.text, text) != NULL;
}

static void draw(void) {
    live_draw(&snapshot, &style, &frame);
    assert_int_equal(strlen(frame.text), frame.length);
}

/* The widest line as a terminal sees it, without colours. */
static unsigned widest(void) {
    unsigned width = 0, most = 0;

    for (const char *at = frame.text; *at != '\0'; at++) {
        if (*at == '\033')
            at = strchr(at, 'm');
        else if (*at == '\n')
            width = 0;
        else
            width += ((unsigned char)*at & 0xc0) != 0x80;
        most = width > most ? width : most;
    }
    return most;
}

static void test_a_frame_tells_the_round(void **state) {
    draw();
    assert_int_equal(frame.lines, 4);
    assert_true(shows("redis,ttl=2s  round 2 of 10  repeat 1 of 5  sending 3.0 of 20.0 s\n"));
    assert_true(shows("82 of 1000 left\n"));
    assert_true(shows("sold   918 of 1000\n"));
    assert_true(shows("offered 800/s  achieved 306/s  p99 1.2 s  in flight 412"));
    assert_false(shows("\033"));
}

static void test_a_single_round_is_not_counted(void **state) {
    snapshot.round = snapshot.rounds = snapshot.repeats = 1;
    snapshot.p99_ns = -1;
    draw();
    assert_false(shows("round"));
    assert_false(shows("repeat"));
    assert_true(shows("p99 -"));
}

static void test_phases_are_told_apart(void **state) {
    snapshot.phase = LIVE_WAITING;
    draw();
    assert_true(shows("waiting for answers 3.0 s"));
    snapshot.phase = LIVE_JUDGING;
    draw();
    assert_true(shows("judging 3.0 s"));
}

static void test_each_width_keeps_its_lines_within_it(void **state) {
    const unsigned widths[] = {1, 7, 10, 12, 20, 40, 80, 120, 200};

    snapshot.has_holder = true;
    snapshot.holder = "inventory-1";
    snapshot.sold = 1057;
    for (size_t i = 0; i < RECORD_OUTCOME_COUNT; i++)
        snapshot.outcomes[i] = 1234567;
    for (size_t i = 0; i < sizeof widths / sizeof widths[0]; i++)
        for (int is_fancy = 0; is_fancy < 2; is_fancy++) {
            style = (struct live_style){widths[i], 24, is_fancy, is_fancy};
            draw();
            assert_true(widest() < widths[i]);
            assert_int_equal(frame.lines, 5);
            for (size_t line = 0; line < frame.lines; line++)
                assert_true(frame.width[line] <= widest());
        }
}

static void test_forty_columns_keep_what_matters(void **state) {
    style.columns = 40;
    snapshot.sold = 1057;
    draw();
    assert_true(shows("redis,ttl=2s  2/10  3.0/20.0 s\n"));
    assert_true(shows("0 of 1000 left"));
    assert_true(shows("OVERSOLD by 57"));
    assert_true(shows("achieved 306/s"));
}

static void test_a_very_narrow_terminal_has_numbers_for_labels(void **state) {
    style.columns = 12;
    snapshot.sold = 91;
    draw();
    assert_true(shows("91 of 1000\n"));
    assert_false(shows("sold"));
}

static void test_a_stock_that_is_not_known_is_not_shown(void **state) {
    char line[512];

    snapshot.stock = -1;
    draw();
    assert_int_equal(frame.lines, 3);
    assert_false(shows("stock"));
    assert_false(shows("OVERSOLD"));
    assert_true(shows("sold   918\n"));
    assert_non_null(strstr(live_line(&snapshot, line, sizeof line), "  sold 918  in flight"));
}

static void test_numbers_of_any_size_are_drawn(void **state) {
    snapshot.left = snapshot.stock = INT64_MAX;
    draw();
    assert_int_equal(frame.lines, 4);
    snapshot.stock = 0;
    snapshot.sold = 1;
    draw();
    assert_true(shows("1 of 0  OVERSOLD by 1"));
}

static void test_a_low_terminal_gets_fewer_lines(void **state) {
    style.rows = 3;
    draw();
    assert_int_equal(frame.lines, 2);
    style.rows = 1;
    draw();
    assert_int_equal(frame.lines, 0);
}

static void test_the_sold_counter_is_red_past_the_stock(void **state) {
    style.is_coloured = true;
    snapshot.sold = 1000;
    draw();
    assert_false(shows("\033[1;31m"));
    assert_false(shows("OVERSOLD"));
    snapshot.sold = 1001;
    draw();
    assert_true(shows("\033[1;31m1001 of 1000\033[0m"));
    assert_true(shows("OVERSOLD by 1"));
}

static void test_without_colour_an_oversell_is_told_in_words(void **state) {
    snapshot.sold = 1057;
    draw();
    assert_true(shows("1057 of 1000  OVERSOLD by 57"));
    assert_false(shows("\033"));
}

static void test_the_target_knows_better_what_is_left(void **state) {
    snapshot.left = 504;
    draw();
    assert_true(shows("504 of 1000 left"));
}

static size_t count_of(char c) {
    size_t count = 0;

    for (size_t i = 0; i < frame.length; i++)
        count += frame.text[i] == c;
    return count;
}

static void test_the_bar_is_empty_only_when_sold_out(void **state) {
    snapshot.left = 1000;
    draw();
    assert_int_equal(count_of('#'), 48);
    snapshot.left = 1;
    draw();
    assert_int_equal(count_of('#'), 1);
    snapshot.left = 0;
    draw();
    assert_int_equal(count_of('#'), 0);
    snapshot.left = 5000; /* a stock that grew */
    draw();
    assert_int_equal(count_of('#'), 48);
    snapshot.stock = 0;
    snapshot.left = 0;
    draw();
    assert_int_equal(count_of('#'), 0);
}

static void test_the_bar_is_yellow_when_little_is_left(void **state) {
    style.is_coloured = true;
    snapshot.left = 200;
    draw();
    assert_true(shows("\033[32m#"));
    snapshot.left = 199;
    draw();
    assert_true(shows("\033[33m#"));
}

static void test_only_outcomes_that_occurred_are_listed(void **state) {
    snapshot.outcomes[RECORD_SOLD_OUT] = 3;
    snapshot.outcomes[RECORD_FAILED] = 2;
    snapshot.outcomes[RECORD_REFUSED] = 1;
    draw();
    assert_true(shows("failed 3  sold out 3\n"));
    assert_false(shows("busy"));
    snapshot.outcomes[RECORD_BUSY] = 4;
    snapshot.outcomes[RECORD_UNKNOWN] = 5;
    snapshot.outcomes[RECORD_UNSENT] = 6;
    draw();
    assert_true(shows("failed 3  not sent 6  unknown 5  busy 4  sold out 3\n"));
}

static void test_the_holder_of_the_lock_is_named(void **state) {
    draw();
    assert_false(shows("lock"));
    snapshot.has_holder = true;
    draw();
    assert_true(shows("lock   free"));
    snapshot.holder = "inventory-2";
    draw();
    assert_true(shows("lock   held by inventory-2"));
}

static void test_names_cannot_command_the_terminal(void **state) {
    char line[512];

    snapshot.name = "x\033]0;title\a\n";
    snapshot.has_holder = true;
    snapshot.holder = "\033[2Jinventory\x9b";
    draw();
    assert_false(shows("\033"));
    assert_false(shows("\x9b"));
    assert_true(shows("?[2Jinventory?"));
    assert_null(strpbrk(live_line(&snapshot, line, sizeof line), "\033\a\n"));
}

static void test_a_plain_line_tells_it_all(void **state) {
    char line[512];

    snapshot.repeats = 1;
    assert_string_equal(live_line(&snapshot, line, sizeof line),
                        "redis,ttl=2s 2/10  3.0 s  offered 800/s  achieved 306/s  sold 918/1000  "
                        "in flight 412  p99 1.2 s");
    snapshot.sold = 1057;
    snapshot.phase = LIVE_JUDGING;
    assert_non_null(strstr(live_line(&snapshot, line, sizeof line), "1057/1000  OVERSOLD by 57"));
    assert_non_null(strstr(line, "p99 1.2 s  judging"));
}

static void draw_end(const char *verdict, enum live_tone tone) {
    live_draw_end(&snapshot, verdict, tone, &style, &frame);
    assert_int_equal(frame.lines, 1);
}

static void test_a_line_stays_of_a_round(void **state) {
    snapshot.outcomes[RECORD_SOLD_OUT] = 303;
    draw_end("VALID", LIVE_GOOD);
    assert_string_equal(frame.text,
                        "redis,ttl=2s  2/10  VALID  sold 918 of 1000  p99 1.2 s  sold out 303");
    snapshot.name = "none";
    snapshot.rounds = 1;
    snapshot.sold = 1057;
    style.is_coloured = true;
    draw_end("VIOLATED TWIN", LIVE_BAD);
    assert_true(shows("\033[1mnone    \033[0m  \033[1;31mVIOLATED TWIN\033[0m"));
    assert_true(shows("  sold 1057 of 1000\033[0m\033[1;31m  OVERSOLD by 57"));
}

static void test_the_line_that_stays_fits_any_width(void **state) {
    for (unsigned columns = 2; columns < 100; columns++) {
        style.columns = columns;
        draw_end("VIOLATED OVERSELL TWIN +1", LIVE_BAD);
        assert_true(widest() < columns);
    }
    style.columns = 37;
    draw_end("VIOLATED OVERSELL TWIN +1", LIVE_BAD);
    assert_string_equal(frame.text, "redis,t..  VIOLATED OVERSELL TWIN +1");
}

static void test_a_line_that_is_too_long_is_cut(void **state) {
    char line[24];

    assert_int_equal(strlen(live_line(&snapshot, line, sizeof line)), sizeof line - 1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_a_frame_tells_the_round, set_up),
        cmocka_unit_test_setup(test_a_single_round_is_not_counted, set_up),
        cmocka_unit_test_setup(test_phases_are_told_apart, set_up),
        cmocka_unit_test_setup(test_each_width_keeps_its_lines_within_it, set_up),
        cmocka_unit_test_setup(test_forty_columns_keep_what_matters, set_up),
        cmocka_unit_test_setup(test_a_very_narrow_terminal_has_numbers_for_labels, set_up),
        cmocka_unit_test_setup(test_a_stock_that_is_not_known_is_not_shown, set_up),
        cmocka_unit_test_setup(test_numbers_of_any_size_are_drawn, set_up),
        cmocka_unit_test_setup(test_a_low_terminal_gets_fewer_lines, set_up),
        cmocka_unit_test_setup(test_the_sold_counter_is_red_past_the_stock, set_up),
        cmocka_unit_test_setup(test_without_colour_an_oversell_is_told_in_words, set_up),
        cmocka_unit_test_setup(test_the_target_knows_better_what_is_left, set_up),
        cmocka_unit_test_setup(test_the_bar_is_empty_only_when_sold_out, set_up),
        cmocka_unit_test_setup(test_the_bar_is_yellow_when_little_is_left, set_up),
        cmocka_unit_test_setup(test_only_outcomes_that_occurred_are_listed, set_up),
        cmocka_unit_test_setup(test_the_holder_of_the_lock_is_named, set_up),
        cmocka_unit_test_setup(test_names_cannot_command_the_terminal, set_up),
        cmocka_unit_test_setup(test_a_plain_line_tells_it_all, set_up),
        cmocka_unit_test_setup(test_a_line_stays_of_a_round, set_up),
        cmocka_unit_test_setup(test_the_line_that_stays_fits_any_width, set_up),
        cmocka_unit_test_setup(test_a_line_that_is_too_long_is_cut, set_up),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
