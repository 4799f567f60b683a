/* The screen on a real pseudo-terminal: redrawn in place, wiped, stopped, made narrower, and none.
 */
#include "screen.h"
#include "test.h"

#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

struct fixture {
    struct screen screen;
    int controller, terminal;
    char seen[8192];
};

/* A screen on what `fd` is, as if that were stderr. */
static void open_on(struct fixture *fixture, int fd) {
    int kept = dup(STDERR_FILENO);

    assert_true(kept >= 0);
    (void)dup2(fd, STDERR_FILENO);
    screen_open(&fixture->screen);
    (void)dup2(kept, STDERR_FILENO);
    (void)close(kept);
}

static void resize(struct fixture *fixture, unsigned short columns) {
    const struct winsize size = {.ws_row = 24, .ws_col = columns};

    assert_int_equal(ioctl(fixture->terminal, TIOCSWINSZ, &size), 0);
}

static int set_up(void **state) {
    struct fixture *fixture = calloc(1, sizeof *fixture);
    struct termios raw;

    assert_non_null(fixture);
    fixture->controller = posix_openpt(O_RDWR | O_NOCTTY);
    assert_true(fixture->controller >= 0);
    assert_int_equal(grantpt(fixture->controller), 0);
    assert_int_equal(unlockpt(fixture->controller), 0);
    fixture->terminal = open(ptsname(fixture->controller), O_RDWR | O_NOCTTY);
    assert_true(fixture->terminal >= 0);
    assert_int_equal(tcgetattr(fixture->terminal, &raw), 0);
    cfmakeraw(&raw);
    assert_int_equal(tcsetattr(fixture->terminal, TCSANOW, &raw), 0);
    resize(fixture, 80);
    open_on(fixture, fixture->terminal);
    *state = fixture;
    return 0;
}

static int tear_down(void **state) {
    struct fixture *fixture = *state;

    screen_close(&fixture->screen);
    (void)close(fixture->terminal);
    (void)close(fixture->controller);
    free(fixture);
    return 0;
}

/* What has come since last time, `end` with it if there is one, until nothing comes for a while. */
static const char *read_until(struct fixture *fixture, int fd, const char *end) {
    struct pollfd poll_fd = {.fd = fd, .events = POLLIN};
    size_t length = 0;

    fixture->seen[0] = '\0';
    while (poll(&poll_fd, 1, end != NULL && strstr(fixture->seen, end) == NULL ? 20000 : 50) == 1) {
        ssize_t part = read(fd, fixture->seen + length, sizeof fixture->seen - 1 - length);

        if (part <= 0)
            break;
        length += (size_t)part;
        fixture->seen[length] = '\0';
    }
    return fixture->seen;
}

static const char *read_all(struct fixture *fixture) {
    return read_until(fixture, fixture->controller, NULL);
}

static const char *read_frame(struct fixture *fixture) {
    return read_until(fixture, fixture->controller, "\033[?25h");
}

static const struct live_frame two_lines = {
    .lines = 2, .width = {70, 3}, .length = 7, .text = "one\ntwo"};
static const struct live_frame one_line = {.lines = 1, .width = {3}, .length = 3, .text = "new"};

static void test_a_frame_is_drawn_over_the_last_one(void **state) {
    struct fixture *fixture = *state;

    screen_show(&fixture->screen, &two_lines);
    assert_string_equal(read_frame(fixture), "\033[?25l\rone\033[K\r\ntwo\033[K\033[J\033[?25h");
    screen_show(&fixture->screen, &one_line);
    assert_string_equal(read_frame(fixture), "\033[?25l\r\033[1Anew\033[K\033[J\033[?25h");
    screen_show(&fixture->screen, &one_line);
    assert_string_equal(read_frame(fixture), "\033[?25l\rnew\033[K\033[J\033[?25h");
}

static void test_words_take_the_place_of_the_view(void **state) {
    struct fixture *fixture = *state;

    screen_show(&fixture->screen, &two_lines);
    (void)read_frame(fixture);
    screen_say(&fixture->screen, "word\n");
    assert_string_equal(read_until(fixture, fixture->controller, "word\n"),
                        "\r\033[1A\033[Jword\n");
    screen_say(&fixture->screen, "");
    assert_string_equal(read_all(fixture), "");
}

static void test_a_forgotten_view_is_drawn_anew(void **state) {
    struct fixture *fixture = *state;

    screen_show(&fixture->screen, &two_lines);
    (void)read_frame(fixture);
    fixture->screen.lines = 0;
    screen_show(&fixture->screen, &one_line);
    assert_null(strstr(read_frame(fixture), "A"));
}

static void test_a_narrower_terminal_has_wrapped_the_lines(void **state) {
    struct fixture *fixture = *state;

    screen_show(&fixture->screen, &two_lines);
    resize(fixture, 30);
    (void)read_frame(fixture);
    screen_say(&fixture->screen, "");
    assert_string_equal(read_until(fixture, fixture->controller, "\033[J"), "\r\033[3A\033[J");
}

static void test_a_stopped_terminal_stops_nobody(void **state) {
    struct fixture *fixture = *state;
    bool is_seen = false;

    assert_int_equal(tcflow(fixture->terminal, TCOOFF), 0);
    assert_true(screen_is_ready(&fixture->screen));
    screen_show(&fixture->screen, &two_lines);
    assert_false(screen_is_ready(&fixture->screen));
    for (int i = 0; i < 10000; i++) /* more than there is room for */
        screen_say(&fixture->screen, "interrupted\n");
    assert_string_equal(read_all(fixture), "");
    assert_int_equal(tcflow(fixture->terminal, TCOON), 0);
    for (int i = 0; i < 400 && !(screen_is_ready(&fixture->screen) && is_seen); i++)
        is_seen |= strstr(read_all(fixture), "interrupted\n") != NULL;
    assert_true(is_seen && screen_is_ready(&fixture->screen));
}

static void test_a_flush_gives_up_on_a_stopped_terminal(void **state) {
    struct fixture *fixture = *state;

    assert_int_equal(tcflow(fixture->terminal, TCOOFF), 0);
    screen_show(&fixture->screen, &two_lines);
    screen_flush(&fixture->screen, 30);
    assert_true(screen_is_ready(&fixture->screen));
    assert_int_equal(tcflow(fixture->terminal, TCOON), 0);
    assert_string_equal(read_all(fixture), "");
}

static void test_a_terminal_that_is_gone_is_no_error(void **state) {
    struct fixture *fixture = *state;

    (void)close(fixture->controller);
    fixture->controller = open("/dev/null", O_RDONLY);
    screen_show(&fixture->screen, &two_lines);
    assert_true(screen_is_ready(&fixture->screen));
}

static void test_a_full_pipe_stops_nobody(void **state) {
    struct fixture *fixture = *state;
    int ends[2];

    assert_int_equal(pipe(ends), 0);
    screen_close(&fixture->screen);
    fixture->screen = (struct screen){.fd = ends[1]};
    for (int i = 0; i < 10000; i++)
        screen_say(&fixture->screen, "a line of some forty columns, as it were\n");
    assert_false(screen_is_ready(&fixture->screen));
    while (!screen_is_ready(&fixture->screen))
        assert_string_not_equal(read_until(fixture, ends[0], NULL), "");
    assert_true(screen_is_ready(&fixture->screen));
    (void)close(ends[0]);
    (void)close(ends[1]);
}

static void test_a_file_is_no_terminal(void **state) {
    struct fixture *fixture = *state;
    unsigned columns, rows;
    int null = open("/dev/null", O_WRONLY);

    assert_true(null >= 0);
    screen_close(&fixture->screen);
    fixture->screen = (struct screen){.fd = null};
    screen_size(&fixture->screen, &columns, &rows);
    assert_int_equal(columns, 0);
    assert_int_equal(rows, 0);
    assert_true(screen_is_ready(&fixture->screen));
    (void)close(null);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_a_frame_is_drawn_over_the_last_one),
        TEST(test_words_take_the_place_of_the_view),
        TEST(test_a_forgotten_view_is_drawn_anew),
        TEST(test_a_narrower_terminal_has_wrapped_the_lines),
        TEST(test_a_stopped_terminal_stops_nobody),
        TEST(test_a_flush_gives_up_on_a_stopped_terminal),
        TEST(test_a_terminal_that_is_gone_is_no_error),
        TEST(test_a_full_pipe_stops_nobody),
        TEST(test_a_file_is_no_terminal),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
