/* The view of a round as text (words, width, colours), and as JSON. */
#include "progress_draw.h"
#include "test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SECOND INT64_C(1000000000)

static struct progress_snapshot snapshot;
static struct progress_style style;
static struct progress_frame frame;

static int set_up(void **state) {
    snapshot = (struct progress_snapshot){.name = "redis,ttl=2s",
                                          .round = 2,
                                          .rounds = 10,
                                          .repeat = 1,
                                          .repeats = 5,
                                          .phase = PROGRESS_SENDING,
                                          .elapsed_ns = 3 * SECOND,
                                          .span_ns = 20 * SECOND,
                                          .in_flight = 412,
                                          .offered = 800.4,
                                          .achieved = 305.9,
                                          .p99_ns = 1200 * (SECOND / 1000),
                                          .sold = 918,
                                          .stock = 1000,
                                          .left = -1};
    style = (struct progress_style){.columns = 80, .rows = 24};
    return 0;
}

static bool shows(const char *text) {
    return strstr(frame.text, text) != NULL;
}

static void draw(void) {
    progress_draw(&snapshot, &style, &frame);
    assert_int_equal(strlen(frame.text), frame.length);
}

/* Draws, and finds this text. */
static void assert_draws(const char *text) {
    draw();
    if (!shows(text))
        fail_msg("not drawn: %s\n%s", text, frame.text);
}

/* The width of the widest line, without colour codes. */
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
    snapshot.phase = PROGRESS_WAITING;
    assert_draws("waiting for answers 3.0 s");
    snapshot.phase = PROGRESS_JUDGING;
    assert_draws("judging 3.0 s");
}

static void test_preparing_counts_the_customers_of_a_shop(void **state) {
    char text[PROGRESS_TEXT];

    snapshot.phase = PROGRESS_PREPARING;
    snapshot.prepared = 12;
    snapshot.customers = 200;
    snapshot.rounds = snapshot.repeats = 1;
    assert_draws("redis,ttl=2s  preparing: 12 of 200 customers\n");
    assert_int_equal(frame.lines, 2); /* and the stock */
    style.columns = 40;
    assert_draws("redis,ttl=2s  12/200 prepared\n");
    assert_string_equal(progress_line(&snapshot, text, sizeof text),
                        "redis,ttl=2s 2/1  preparing: 12 of 200 customers");
}

static void test_a_name_of_any_script_is_drawn_as_it_is(void **state) {
    snapshot.name = "Späti \xe2\x80\xae\xff";
    assert_draws("Späti ????  round");
    style.columns = 30;
    snapshot.name = "ÄÄÄÄÄÄÄÄÄÄÄÄÄÄÄÄÄÄÄÄÄÄÄÄÄÄÄÄÄÄÄÄÄÄÄÄÄÄÄÄ";
    assert_draws("ÄÄ..  ");
    assert_true(widest() < 30);
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
            style = (struct progress_style){widths[i], 24, is_fancy, is_fancy};
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
    assert_draws("redis,ttl=2s  2/10  3.0/20.0 s\n");
    assert_true(shows("0 of 1000 left"));
    assert_true(shows("OVERSOLD by 57"));
    assert_true(shows("achieved 306/s"));
}

static void test_a_very_narrow_terminal_has_numbers_for_labels(void **state) {
    style.columns = 12;
    snapshot.sold = 91;
    assert_draws("91 of 1000\n");
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
    assert_non_null(strstr(progress_line(&snapshot, line, sizeof line), "  sold 918  in flight"));
}

static void test_numbers_of_any_size_are_drawn(void **state) {
    snapshot.left = snapshot.stock = INT64_MAX;
    draw();
    assert_int_equal(frame.lines, 4);
    snapshot.stock = 0;
    snapshot.sold = 1;
    assert_draws("1 of 0  OVERSOLD by 1");
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
    assert_draws("\033[1;31m1001 of 1000\033[0m");
    assert_true(shows("OVERSOLD by 1"));
}

static void test_without_colour_an_oversell_is_told_in_words(void **state) {
    snapshot.sold = 1057;
    assert_draws("1057 of 1000  OVERSOLD by 57");
    assert_false(shows("\033"));
}

static void test_the_target_knows_better_what_is_left(void **state) {
    snapshot.left = 504;
    assert_draws("504 of 1000 left");
}

static void test_the_bar_is_empty_only_when_sold_out(void **state) {
    static const struct {
        int64_t left, stock;
        size_t filled;
    } cases[] = {{1000, 1000, 48},
                 {1, 1000, 1},
                 {0, 1000, 0},
                 {5000, 1000, 48}, /* a stock that grew */
                 {0, 0, 0}};

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        size_t filled = 0;

        snapshot.left = cases[i].left;
        snapshot.stock = cases[i].stock;
        draw();
        for (const char *at = frame.text; *at != '\0'; at++)
            filled += *at == '#';
        if (filled != cases[i].filled)
            fail_msg("%lld of %lld: %zu", (long long)snapshot.left, (long long)snapshot.stock,
                     filled);
    }
}

static void test_the_bar_is_yellow_when_little_is_left(void **state) {
    style.is_coloured = true;
    snapshot.left = 200;
    assert_draws("\033[32m#");
    snapshot.left = 199;
    assert_draws("\033[33m#");
}

static void test_only_outcomes_that_occurred_are_listed(void **state) {
    snapshot.outcomes[RECORD_SOLD_OUT] = 3;
    snapshot.outcomes[RECORD_FAILED] = 2;
    snapshot.outcomes[RECORD_REFUSED] = 1;
    assert_draws("failed 3  sold out 3\n");
    assert_false(shows("busy"));
    snapshot.outcomes[RECORD_BUSY] = 4;
    snapshot.outcomes[RECORD_UNKNOWN] = 5;
    snapshot.outcomes[RECORD_UNSENT] = 6;
    assert_draws("failed 3  not sent 6  unknown 5  busy 4  sold out 3\n");
}

static void test_the_holder_of_the_lock_is_named(void **state) {
    draw();
    assert_false(shows("lock"));
    snapshot.has_holder = true;
    assert_draws("lock   free");
    snapshot.holder = "inventory-2";
    assert_draws("lock   held by inventory-2");
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
    assert_null(strpbrk(progress_line(&snapshot, line, sizeof line), "\033\a\n"));
}

static void test_a_plain_line_tells_it_all(void **state) {
    char line[512];

    snapshot.repeats = 1;
    assert_string_equal(progress_line(&snapshot, line, sizeof line),
                        "redis,ttl=2s 2/10  3.0 s  offered 800/s  achieved 306/s  sold 918/1000  "
                        "in flight 412  p99 1.2 s");
    snapshot.sold = 1057;
    snapshot.phase = PROGRESS_JUDGING;
    assert_non_null(
        strstr(progress_line(&snapshot, line, sizeof line), "1057/1000  OVERSOLD by 57"));
    assert_non_null(strstr(line, "p99 1.2 s  judging"));
}

static void draw_end(const char *verdict, enum progress_tone tone) {
    snapshot.verdict = verdict;
    snapshot.tone = tone;
    draw();
    assert_int_equal(frame.lines, 1);
}

static void test_a_line_stays_of_a_round(void **state) {
    snapshot.outcomes[RECORD_SOLD_OUT] = 303;
    draw_end("VALID", PROGRESS_GOOD);
    assert_string_equal(frame.text,
                        "redis,ttl=2s  2/10  VALID  sold 918 of 1000  p99 1.2 s  sold out 303");
    snapshot.name = "none";
    snapshot.rounds = 1;
    snapshot.sold = 1057;
    style.is_coloured = true;
    draw_end("VIOLATED TWIN", PROGRESS_BAD);
    assert_true(shows("\033[1mnone    \033[0m  \033[1;31mVIOLATED TWIN\033[0m"));
    assert_true(shows("  sold 1057 of 1000\033[0m\033[1;31m  OVERSOLD by 57"));
}

static void test_the_line_that_stays_fits_any_width(void **state) {
    for (unsigned columns = 2; columns < 100; columns++) {
        style.columns = columns;
        draw_end("VIOLATED OVERSELL TWIN +1", PROGRESS_BAD);
        assert_true(widest() < columns);
    }
    style.columns = 37;
    draw_end("VIOLATED OVERSELL TWIN +1", PROGRESS_BAD);
    assert_string_equal(frame.text, "redis,t..  VIOLATED OVERSELL TWIN +1");
}

static void test_a_line_that_is_too_long_is_cut(void **state) {
    char line[24];

    assert_int_equal(strlen(progress_line(&snapshot, line, sizeof line)), sizeof line - 1);
}

/* ---- for programs */

/* 1.5 s after the start all requests are sent, and three answers are missing. */
static int set_up_sent(void **state) {
    snapshot = (struct progress_snapshot){.name = "redis",
                                          .round = 1,
                                          .rounds = 2,
                                          .phase = PROGRESS_WAITING,
                                          .elapsed_ns = 1500000000,
                                          .span_ns = 1000000000,
                                          .in_flight = 3,
                                          .p99_ns = -1,
                                          .outcomes = {[RECORD_SOLD] = 7, [RECORD_SOLD_OUT] = 2},
                                          .sold = 6,
                                          .stock = 5,
                                          .left = -1};
    return 0;
}

#define SENT                                                                                       \
    ",\"round\":1,\"rounds\":2,\"phase\":\"waiting\",\"elapsed_ms\":1500.0,\"span_ms\":1000.0,"    \
    "\"sold\":6,\"stock\":5,\"left\":null,\"in_flight\":3,\"offered\":0.0,\"achieved\":0.0,"       \
    "\"p99_ms\":null,\"outcomes\":{\"sold\":7,\"sold_out\":2,\"busy\":0,\"unknown\":0,"            \
    "\"refused\":0,\"failed\":0,\"unreached\":0,\"unsent\":0}"

static void assert_json(const char *expected) {
    char *line = progress_json(&snapshot, NULL);

    assert_non_null(line);
    assert_string_equal(line, expected);
    free(line);
}

static void test_what_is_not_known_is_null(void **state) {
    assert_json("{\"strategy\":\"redis\"" SENT "}\n");
}

static void test_a_lock_that_nobody_holds_is_no_lock_without_a_name(void **state) {
    snapshot.has_holder = snapshot.is_left_down = true;
    snapshot.verdict = "VALID";
    assert_json("{\"strategy\":\"redis\"" SENT
                ",\"holder\":null,\"verdict\":\"VALID\",\"is_left_down\":true}\n");
}

static void test_a_shop_tells_how_many_customers_are_prepared(void **state) {
    snapshot.prepared = 12;
    snapshot.customers = 200;
    assert_json("{\"strategy\":\"redis\"" SENT ",\"prepared\":12,\"customers\":200}\n");
}

static void test_names_stay_on_their_line(void **state) {
    snapshot.name = "a\n{\"b\":\xff}";
    snapshot.has_holder = true;
    snapshot.holder = "inventory-\r\n1";
    assert_json("{\"strategy\":\"a\\n{\\\"b\\\":\xef\xbf\xbd}\"" SENT
                ",\"holder\":\"inventory-\\r\\n1\"}\n");
}

#define DRAWN(name) cmocka_unit_test_setup(name, set_up)
#define JSON(name)  cmocka_unit_test_setup(name, set_up_sent)

int main(void) {
    const struct CMUnitTest tests[] = {
        DRAWN(test_a_frame_tells_the_round),
        DRAWN(test_a_single_round_is_not_counted),
        DRAWN(test_phases_are_told_apart),
        DRAWN(test_preparing_counts_the_customers_of_a_shop),
        DRAWN(test_a_name_of_any_script_is_drawn_as_it_is),
        DRAWN(test_each_width_keeps_its_lines_within_it),
        DRAWN(test_forty_columns_keep_what_matters),
        DRAWN(test_a_very_narrow_terminal_has_numbers_for_labels),
        DRAWN(test_a_stock_that_is_not_known_is_not_shown),
        DRAWN(test_numbers_of_any_size_are_drawn),
        DRAWN(test_a_low_terminal_gets_fewer_lines),
        DRAWN(test_the_sold_counter_is_red_past_the_stock),
        DRAWN(test_without_colour_an_oversell_is_told_in_words),
        DRAWN(test_the_target_knows_better_what_is_left),
        DRAWN(test_the_bar_is_empty_only_when_sold_out),
        DRAWN(test_the_bar_is_yellow_when_little_is_left),
        DRAWN(test_only_outcomes_that_occurred_are_listed),
        DRAWN(test_the_holder_of_the_lock_is_named),
        DRAWN(test_names_cannot_command_the_terminal),
        DRAWN(test_a_plain_line_tells_it_all),
        DRAWN(test_a_line_stays_of_a_round),
        DRAWN(test_the_line_that_stays_fits_any_width),
        DRAWN(test_a_line_that_is_too_long_is_cut),
        JSON(test_what_is_not_known_is_null),
        JSON(test_a_lock_that_nobody_holds_is_no_lock_without_a_name),
        JSON(test_a_shop_tells_how_many_customers_are_prepared),
        JSON(test_names_stay_on_their_line),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
