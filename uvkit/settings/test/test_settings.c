/* Settings: their precedence, the refusals with their words, and --help. */
#include "settings.h"
#include "test.h"

#include "fault.h"
#include "version.h"

#include <unistd.h>

static struct {
    char *listen, *name, *db, *rules;
    int64_t port, timeout_ns, rate;
    bool is_lab;
} set;

static const struct setting table[] = {
    {"listen", 0, SETTING_TEXT, &set.listen, "127.0.0.1", "address to listen on", NULL},
    {"port", 'p', SETTING_INT, &set.port, "8001", "port to listen on", "1..65535"},
    {"name", 0, SETTING_TEXT, &set.name, "", "name in replies", NULL},
    {"inventory-timeout", 0, SETTING_DURATION, &set.timeout_ns, "9s", "how long to wait",
     "1ms..1h"},
    {"db", 0, SETTING_SECRET, &set.db, NULL, "connection string", NULL},
    {"rule", 'r', SETTING_LIST, &set.rules, NULL, "rule to hold", NULL},
    {"lab", 'l', SETTING_FLAG, &set.is_lab, NULL, "honour failpoints", NULL},
    {"rate", 0, SETTING_INT, &set.rate, "8", "a second", "auto, 1..9"},
    {NULL, 0, SETTING_TEXT, NULL, NULL, NULL, NULL}};

static char told[8192]; /* on stdout or stderr by the last read_line() */
static char words[512], *argv[16];
static int argc;
static struct settings_given given;

/* Split `line` at its spaces and read it, with `stream` going to `told`. */
static enum settings_result read_line(const char *line, const char *rest, FILE *stream) {
    FILE *file = tmpfile();
    int saved = dup(fileno(stream));
    enum settings_result result;
    char *word;

    assert_true(file != NULL && saved >= 0);
    (void)snprintf(words, sizeof words, "/usr/bin/shop %s", line);
    argc = 0;
    for (word = strtok(words, " "); word != NULL; word = strtok(NULL, " "))
        argv[argc++] = word;
    argv[argc] = NULL;
    (void)fflush(stream);
    assert_true(dup2(fileno(file), fileno(stream)) >= 0);
    result = settings_read(
        table, &(struct settings_program){.about = "A shop.", .prefix = "SHOP", .rest = rest},
        &argc, argv, &given);
    (void)fflush(stream);
    (void)dup2(saved, fileno(stream));
    (void)close(saved);
    rewind(file);
    told[fread(told, 1, sizeof told - 1, file)] = '\0';
    (void)fclose(file);
    return result;
}

static void expect_ok(const char *line) {
    if (read_line(line, NULL, stderr) != SETTINGS_OK)
        fail_msg("%s: %s", line, told);
    assert_string_equal(told, "");
}

static void expect_refused(const char *line, const char *error) {
    assert_int_equal(read_line(line, NULL, stderr), SETTINGS_ERROR);
    if (strncmp(told, "shop: ", 6) != 0 || strcmp(told + 6, error) != 0)
        fail_msg("%s: \"%s\" instead of \"%s\"", line, told, error);
    assert_null(set.listen);
    assert_null(set.db);
}

static int tear_down(void **state) {
    settings_free(table);
    assert_null(set.listen);
    (void)unsetenv("SHOP_PORT");
    (void)unsetenv("SHOP_DB");
    (void)unsetenv("SHOP_LAB");
    (void)unsetenv("SHOP_RULE");
    (void)unsetenv("SHOP_INVENTORY_TIMEOUT");
    return 0;
}

static void test_defaults_hold_when_nothing_is_said(void **state) {
    expect_ok("");
    assert_string_equal(set.listen, "127.0.0.1");
    assert_string_equal(set.name, "");
    assert_string_equal(set.db, "");
    assert_int_equal(set.port, 8001);
    assert_true(set.timeout_ns == INT64_C(9000000000));
    assert_false(set.is_lab);
}

static void test_flags_go_before_the_environment(void **state) {
    (void)setenv("SHOP_PORT", "81", 1);
    (void)setenv("SHOP_LAB", "1", 1);
    (void)setenv("SHOP_INVENTORY_TIMEOUT", "250ms", 1);
    expect_ok("");
    assert_int_equal(set.port, 81);
    assert_true(set.is_lab);
    assert_int_equal(set.timeout_ns, 250000000);
    settings_free(table);
    expect_ok("--port 82 --lab=false");
    assert_int_equal(set.port, 82);
    assert_false(set.is_lab);
}

static void test_a_list_adds_up_and_goes_before_the_environment(void **state) {
    static const struct {
        const char *line, *rules;
    } cases[] = {{"", "env"},
                 {"--rule a", "a"},
                 {"-r a --rule=b --lab -rc", "a\nb\nc"},
                 {"--rule= --rule a --rule= --rule b", "a\nb"}};

    expect_ok("");
    assert_string_equal(set.rules, "");
    settings_free(table);
    (void)setenv("SHOP_RULE", "env", 1);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        expect_ok(cases[i].line);
        assert_string_equal(set.rules, cases[i].rules);
        settings_free(table);
    }
}

static void test_every_way_to_write_a_flag(void **state) {
    static const char *const ways[] = {"--port 80 -l", "--port=80 --lab", "-p 80 --lab=true",
                                       "-p80 --lab=1", "--port 81 --port 80 -l"};

    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        expect_ok(ways[i]);
        assert_int_equal(set.port, 80);
        assert_true(set.is_lab);
        settings_free(table);
    }
    expect_ok("--name= --rate auto");
    assert_string_equal(set.name, "");
    assert_int_equal(set.rate, 0);
}

static void test_other_arguments_move_to_the_front(void **state) {
    assert_int_equal(read_line("one --port 80 - two -- --lab", "FILE", stderr), SETTINGS_OK);
    assert_int_equal(argc, 5);
    assert_string_equal(argv[1], "one");
    assert_string_equal(argv[2], "-");
    assert_string_equal(argv[3], "two");
    assert_string_equal(argv[4], "--lab");
    assert_null(argv[5]);
    assert_false(set.is_lab);
}

static void test_errors_tell_the_accepted_values(void **state) {
    static const struct {
        const char *line, *error;
    } errors[] = {
        {"--prot 80", "unknown flag --prot; did you mean --port?\n"},
        {"--inventory-timeot=1s", "unknown flag --inventory-timeot; did you mean "
                                  "--inventory-timeout?\n"},
        {"--zzzz", "unknown flag --zzzz; --help lists all flags\n"},
        {"-x", "unknown flag -x; --help lists all flags\n"},
        {"-lx", "unknown flag -lx; --help lists all flags\n"},
        {"--port", "--port needs a value\n"},
        {"--port --lab", "--port needs a value\n"},
        {"--port=", "--port: \"\" is not a whole number, such as 8 or 20k, in 1..65535\n"},
        {"--port 8x", "--port: \"8x\" is not a whole number, such as 8 or 20k, in 1..65535\n"},
        {"--port 0", "--port: \"0\" is out of range: 1..65535 is accepted\n"},
        {"--rate 0", "--rate: \"0\" is out of range: auto, 1..9 is accepted\n"},
        {"--rate aut", "--rate: \"aut\" is not a whole number, such as 8 or 20k, in auto, 1..9\n"},
        {"--port auto", "--port: \"auto\" is not a whole number, such as 8 or 20k, in 1..65535\n"},
        {"--port 66k", "--port: \"66k\" is out of range: 1..65535 is accepted\n"},
        {"--listen=", "--listen: must not be empty\n"},
        {"--inventory-timeout 2h",
         "--inventory-timeout: \"2h\" is out of range: 1ms..1h is accepted\n"},
        {"--inventory-timeout 2", "--inventory-timeout: \"2\" is not a duration, such as 250ms, "
                                  "1.5s or 2m, in 1ms..1h\n"},
        {"--lab=yes", "--lab: \"yes\" is neither true nor false\n"},
        {"word", "unexpected argument \"word\"; --help shows the usage\n"},
        {"--db=hunter2",
         "--db is a secret, and flags show in the process list; set SHOP_DB instead\n"},
    };

    for (size_t i = 0; i < sizeof errors / sizeof *errors; i++)
        expect_refused(errors[i].line, errors[i].error);
}

static void test_errors_in_the_environment_name_the_variable(void **state) {
    (void)setenv("SHOP_PORT", "70000", 1);
    expect_refused("", "SHOP_PORT: \"70000\" is out of range: 1..65535 is accepted\n");
    (void)unsetenv("SHOP_PORT");
    (void)setenv("SHOP_DB", "", 1);
    expect_refused("", "SHOP_DB is set but empty\n");
}

static void test_secrets_come_from_the_environment_and_are_not_printed(void **state) {
    (void)setenv("SHOP_DB", "hunter2", 1);
    expect_ok("");
    assert_string_equal(set.db, "hunter2");
    settings_free(table);
    assert_int_equal(read_line("--help", NULL, stdout), SETTINGS_HELP);
    assert_null(strstr(told, "hunter2"));
    expect_refused("--db=letmein",
                   "--db is a secret, and flags show in the process list; set SHOP_DB instead\n");
}

static void test_help_is_aligned_and_fits_80_columns(void **state) {
    (void)setenv("SHOP_PORT", "nonsense", 1); /* help is never refused */
    assert_int_equal(read_line("--port 80 --help", "FILE", stdout), SETTINGS_HELP);
    assert_string_equal(
        told, "A shop.\n"
              "usage: shop [settings] FILE\n"
              "\n"
              "      --listen TEXT                 address to listen on [default 127.0.0.1;\n"
              "                                    SHOP_LISTEN]\n"
              "  -p, --port N                      port to listen on [default 8001; 1..65535;\n"
              "                                    SHOP_PORT]\n"
              "      --name TEXT                   name in replies [default empty; SHOP_NAME]\n"
              "      --inventory-timeout DURATION  how long to wait [default 9s; 1ms..1h;\n"
              "                                    SHOP_INVENTORY_TIMEOUT]\n"
              "      SHOP_DB=SECRET                connection string [only from the\n"
              "                                    environment]\n"
              "  -r, --rule TEXT                   rule to hold [default empty; SHOP_RULE]\n"
              "  -l, --lab                         honour failpoints [default false; SHOP_LAB]\n"
              "      --rate N                      a second [default 8; auto, 1..9; SHOP_RATE]\n"
              "      --help                        print this and exit\n"
              "      --version                     print the version and exit\n");
}

static void test_the_version_is_told(void **state) {
    assert_int_equal(read_line("--port 80 --version", NULL, stdout), SETTINGS_HELP);
    assert_memory_equal(told, "shop ", strlen("shop "));
    assert_memory_equal(told + strlen("shop "), version_text(), strlen(version_text()));
    assert_string_equal(told + strlen("shop ") + strlen(version_text()), "\n");
}

static void test_who_gave_a_value_is_told(void **state) {
    expect_ok("");
    assert_true(given.by_flag == 0 && given.by_environment == 0);
    settings_free(table);
    (void)setenv("SHOP_PORT", "81", 1);
    expect_ok("--name x -l");
    assert_true(given.by_flag == (1U << 2 | 1U << 6));
    assert_true(given.by_environment == 1U << 1);
}

static void read_without_memory(void *arg) {
    argc = 1;
    argv[0] = words;
    if (settings_read(table, &(struct settings_program){.about = "", .prefix = "SHOP"}, &argc, argv,
                      NULL) == SETTINGS_ERROR)
        assert_null(set.listen);
    settings_free(table);
}

static void test_no_memory_at_any_allocation(void **state) {
    int saved = dup(STDERR_FILENO);

    assert_non_null(freopen("/dev/null", "w", stderr));
    fault_each_allocation(read_without_memory, NULL);
    (void)fflush(stderr);
    (void)dup2(saved, STDERR_FILENO);
    (void)close(saved);
}

#define TEST(name) cmocka_unit_test_teardown(name, tear_down)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_defaults_hold_when_nothing_is_said),
        TEST(test_flags_go_before_the_environment),
        TEST(test_a_list_adds_up_and_goes_before_the_environment),
        TEST(test_every_way_to_write_a_flag),
        TEST(test_other_arguments_move_to_the_front),
        TEST(test_errors_tell_the_accepted_values),
        TEST(test_errors_in_the_environment_name_the_variable),
        TEST(test_secrets_come_from_the_environment_and_are_not_printed),
        TEST(test_help_is_aligned_and_fits_80_columns),
        TEST(test_the_version_is_told),
        TEST(test_who_gave_a_value_is_told),
        TEST(test_no_memory_at_any_allocation),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
