/* The screen on a real pseudo-terminal: redrawn in place, wiped, stopped, narrowed; and without a
 * terminal. */
#include "screen.h"
#include "test.h"

#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

static struct screen screen;
static int controller, terminal;
static char seen[8192];

static void resize(unsigned short columns) {
    const struct winsize size = {.ws_row = 24, .ws_col = columns};

    assert_int_equal(ioctl(terminal, TIOCSWINSZ, &size), 0);
}

/* Opens the screen on a pseudo-terminal in place of stderr. */
static int set_up(void **state) {
    const int kept = dup(STDERR_FILENO);
    struct termios raw;

    assert_true(kept >= 0);
    controller = posix_openpt(O_RDWR | O_NOCTTY);
    assert_true(controller >= 0);
    assert_int_equal(grantpt(controller), 0);
    assert_int_equal(unlockpt(controller), 0);
    terminal = open(ptsname(controller), O_RDWR | O_NOCTTY);
    assert_true(terminal >= 0);
    assert_int_equal(tcgetattr(terminal, &raw), 0);
    cfmakeraw(&raw);
    assert_int_equal(tcsetattr(terminal, TCSANOW, &raw), 0);
    resize(80);
    (void)dup2(terminal, STDERR_FILENO);
    screen_open(&screen);
    (void)dup2(kept, STDERR_FILENO);
    return close(kept);
}

static int tear_down(void **state) {
    screen_close(&screen);
    (void)close(terminal);
    (void)close(controller);
    return 0;
}

/* The output since the last call: up to `end` if it is given, else until no more comes for a
 * while. */
static const char *read_until(int fd, const char *end) {
    struct pollfd poll_fd = {.fd = fd, .events = POLLIN};
    size_t length = 0;

    seen[0] = '\0';
    while (poll(&poll_fd, 1, end != NULL && strstr(seen, end) == NULL ? 20000 : 50) == 1) {
        ssize_t part = read(fd, seen + length, sizeof seen - 1 - length);

        if (part <= 0)
            break;
        length += (size_t)part;
        seen[length] = '\0';
    }
    return seen;
}

static const char *read_all(void) {
    return read_until(controller, NULL);
}

static const char *read_frame(void) {
    return read_until(controller, "\033[?25h");
}

static const struct progress_frame two_lines = {
    .lines = 2, .width = {70, 3}, .length = 7, .text = "one\ntwo"};
static const struct progress_frame one_line = {
    .lines = 1, .width = {3}, .length = 3, .text = "new"};

static void test_a_frame_is_drawn_over_the_last_one(void **state) {
    screen_show(&screen, &two_lines);
    assert_string_equal(read_frame(), "\033[?25l\rone\033[K\r\ntwo\033[K\033[J\033[?25h");
    screen_show(&screen, &one_line);
    assert_string_equal(read_frame(), "\033[?25l\r\033[1Anew\033[K\033[J\033[?25h");
    screen_show(&screen, &one_line);
    assert_string_equal(read_frame(), "\033[?25l\rnew\033[K\033[J\033[?25h");
}

static void test_words_take_the_place_of_the_view(void **state) {
    screen_show(&screen, &two_lines);
    (void)read_frame();
    screen_say(&screen, "word\n");
    assert_string_equal(read_until(controller, "word\n"), "\r\033[1A\033[Jword\n");
    screen_say(&screen, "");
    assert_string_equal(read_all(), "");
}

static void test_a_forgotten_view_is_drawn_anew(void **state) {
    screen_show(&screen, &two_lines);
    (void)read_frame();
    screen.lines = 0;
    screen_show(&screen, &one_line);
    assert_null(strstr(read_frame(), "A"));
}

static void test_a_narrower_terminal_has_wrapped_the_lines(void **state) {
    screen_show(&screen, &two_lines);
    resize(30);
    (void)read_frame();
    screen_say(&screen, "");
    assert_string_equal(read_until(controller, "\033[J"), "\r\033[3A\033[J");
}

static void test_a_stopped_terminal_stops_nobody(void **state) {
    bool is_seen = false;

    assert_int_equal(tcflow(terminal, TCOOFF), 0);
    assert_true(screen_is_ready(&screen));
    screen_show(&screen, &two_lines);
    assert_false(screen_is_ready(&screen));
    for (int i = 0; i < 10000; i++) /* more than the screen can queue */
        screen_say(&screen, "interrupted\n");
    assert_string_equal(read_all(), "");
    assert_int_equal(tcflow(terminal, TCOON), 0);
    for (int i = 0; i < 400 && !(screen_is_ready(&screen) && is_seen); i++)
        is_seen |= strstr(read_all(), "interrupted\n") != NULL;
    assert_true(is_seen && screen_is_ready(&screen));
}

static void test_a_flush_gives_up_on_a_stopped_terminal(void **state) {
    assert_int_equal(tcflow(terminal, TCOOFF), 0);
    screen_show(&screen, &two_lines);
    screen_flush(&screen, 30);
    assert_true(screen_is_ready(&screen));
    assert_int_equal(tcflow(terminal, TCOON), 0);
    assert_string_equal(read_all(), "");
}

static void test_a_terminal_that_is_gone_is_no_error(void **state) {
    (void)close(controller);
    controller = open("/dev/null", O_RDONLY);
    screen_show(&screen, &two_lines);
    assert_true(screen_is_ready(&screen));
}

static void test_a_full_pipe_stops_nobody(void **state) {
    int ends[2];

    assert_int_equal(pipe(ends), 0);
    screen_close(&screen);
    screen = (struct screen){.fd = ends[1]};
    for (int i = 0; i < 10000; i++)
        screen_say(&screen, "a line of some forty columns, about that\n");
    assert_false(screen_is_ready(&screen));
    while (!screen_is_ready(&screen))
        assert_string_not_equal(read_until(ends[0], NULL), "");
    assert_true(screen_is_ready(&screen));
    (void)close(ends[0]);
    (void)close(ends[1]);
}

static void test_a_file_is_no_terminal(void **state) {
    unsigned columns, rows;
    int null = open("/dev/null", O_WRONLY);

    assert_true(null >= 0);
    screen_close(&screen);
    screen = (struct screen){.fd = null};
    screen_size(&screen, &columns, &rows);
    assert_int_equal(columns, 0);
    assert_int_equal(rows, 0);
    assert_true(screen_is_ready(&screen));
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
