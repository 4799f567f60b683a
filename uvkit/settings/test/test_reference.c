/* A program prints its reference in three forms: markdown, a man page, words for a shell. */
#include "reference.h"
#include "test.h"

#include <unistd.h>

static const struct setting shop_table[] = {
    {"port", 'p', SETTING_INT, NULL, "80", "port of the `shop`, <1k|more>", "1..65535"},
    {"name", 0, SETTING_TEXT, NULL, NULL, ".dotted. Of the shop", NULL},
    {"db", 0, SETTING_SECRET, NULL, NULL, "connection string", NULL},
    {"hidden", 0, SETTING_FLAG, NULL, NULL, NULL, NULL},
    {NULL, 0, SETTING_TEXT, NULL, NULL, NULL, NULL}};
static const struct setting sell_table[] = {
    {"port", 'p', SETTING_INT, NULL, "80", "port of the `shop`, <1k|more>", "1..65535"},
    {"fast", 'f', SETTING_FLAG, NULL, NULL, "do not wait", NULL},
    {NULL, 0, SETTING_TEXT, NULL, NULL, NULL, NULL}};
static const struct settings_program shop = {.about =
                                                 "shop: keep a shop. It is small.\n\n  shop sell  "
                                                 "sell\nExit codes: 0 well, 1 not.",
                                             .prefix = "SHOP",
                                             .rest = "[COMMAND]"};
static const struct settings_program sell = {
    .about = "shop sell: sell a unit, once", .prefix = "SHOP", .rest = "sell UNIT"};
static const struct reference_command commands[] = {{"", &shop, shop_table},
                                                    {"sell", &sell, sell_table}};
static const struct reference reference = {"shop", 1, ".Xr lab 1\n", commands, 2};

static char told[4096]; /* on stdout by the last ask() */

/* Call it with these words. None has a space; * is an empty one. */
static int ask(const char *line) {
    FILE *file = tmpfile();
    char copy[256], *words[8];
    int count = 0, saved = dup(STDOUT_FILENO), code;

    assert_true(file != NULL && saved >= 0);
    (void)snprintf(copy, sizeof copy, "shop %s", line);
    for (char *word = strtok(copy, " "); word != NULL; word = strtok(NULL, " "))
        words[count++] = strcmp(word, "*") == 0 ? word + 1 : word;
    words[count] = NULL;
    (void)fflush(stdout);
    assert_true(dup2(fileno(file), STDOUT_FILENO) >= 0);
    code = reference_asked(&reference, count, words);
    (void)fflush(stdout);
    (void)dup2(saved, STDOUT_FILENO);
    (void)close(saved);
    rewind(file);
    told[fread(told, 1, sizeof told - 1, file)] = '\0';
    (void)fclose(file);
    return code;
}

static void test_other_arguments_are_not_for_it(void **state) {
    assert_int_equal(ask(""), -1);
    assert_int_equal(ask("sell --help-format man"), -1);
    assert_int_equal(ask("--help-format pdf"), 64);
    assert_string_equal(told, "");
}

static void test_markdown_shows_each_setting_once(void **state) {
    assert_int_equal(ask("--help-format markdown"), 0);
    assert_string_equal(
        told, "### shop\n\n"
              "shop: keep a shop. It is small.\n\n"
              "```\n  shop sell  sell\n```\n\n"
              "Exit codes: 0 well, 1 not.\n\n"
              "    shop [settings] [COMMAND]\n\n"
              "| setting | default | meaning |\n|---|---|---|\n"
              "| `-p`, `--port` N | `80` | port of the `shop`, &lt;1k\\|more> (1..65535) |\n"
              "| `--name` TEXT | | .dotted. Of the shop |\n"
              "| `SHOP_DB` | | connection string |\n\n"
              "#### shop sell\n\n"
              "shop sell: sell a unit, once\n\n"
              "    shop sell [settings] UNIT\n\n"
              "| setting | default | meaning |\n|---|---|---|\n"
              "| `-f`, `--fast` | `false` | do not wait |\n\n"
              "It also takes these settings of the program: `--port`.\n");
}

static void test_the_man_page_has_each_setting_once(void **state) {
    assert_int_equal(ask("--help-format man"), 0);
    assert_non_null(strstr(told, ".Dt SHOP 1\n.Os\n.Sh NAME\n.Nm shop\n.Nd keep a shop\n"
                                 ".Sh SYNOPSIS\n.Nm\n.Op Ar settings\n"
                                 ".Nm\n.Cm sell\n.Op Ar settings\n.Ar UNIT\n"));
    assert_non_null(strstr(told, ".Sh DESCRIPTION\nshop: keep a shop.\nIt is small.\n"
                                 ".Bd -literal -offset indent\n  shop sell  sell\n.Ed\n"
                                 ".Pp\nExit codes: 0 well, 1 not.\n"));
    assert_non_null(
        strstr(told, ".Sh SETTINGS\n.Bl -tag -width Ds\n.It Fl p , Fl -port Ar N\n"
                     "port of the `shop`, <1k|more>\n.Pq default 80; 1..65535\n"
                     ".It Fl -name Ar TEXT\n\\&.dotted.\nOf the shop\n.Pq default empty\n"
                     ".It Ev SHOP_DB\nconnection string\n.Pq a secret, without a flag\n.El\n"));
    assert_non_null(strstr(told, ".Sh COMMANDS\n.Ss shop sell\nshop sell: sell a unit, once\n"
                                 ".Bl -tag -width Ds\n.It Fl f , Fl -fast\ndo not wait\n"
                                 ".Pq default false\n.El\n"
                                 ".Pp\nIt also takes these settings of\n.Nm :\n.Fl -port .\n"));
    assert_non_null(strstr(told, ".Ev SHOP_\nand its name in capitals, with _ for -.\n"
                                 "The command line overrides it.\n.Sh SEE ALSO\n.Xr lab 1\n"));
    assert_null(strstr(told, "hidden"));
}

static void test_words_are_those_that_may_follow(void **state) {
    static const char ends[] = "--help\tprint the settings and exit\n"
                               "--version\tprint the version and exit\n";
    static const struct {
        const char *typed, *offered;
        bool has_ends;
    } cases[] = {
        {"", "sell\tsell a unit\n", false},
        {"*", "sell\tsell a unit\n", false},
        {"-", "--port\tport of the `shop`, <1k|more>\n--name\t.dotted. Of the shop\n", true},
        {"--name x *", "sell\tsell a unit\n", false},
        {"--name *", "", false},
        {"-p *", "", false},
        {"--name = s", "", false},
        {"sell *", "", false},
        {"sell --f", "--port\tport of the `shop`, <1k|more>\n--fast\tdo not wait\n", true},
        {"--name sell *", "sell\tsell a unit\n", false},
        {"--name = sell *", "sell\tsell a unit\n", false},
        {"-- -", "", false},
        {"sell -- *", "", false},
        {"sell --fast -", "--port\tport of the `shop`, <1k|more>\n--fast\tdo not wait\n", true},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char line[128], expected[512];

        (void)snprintf(line, sizeof line, "--help-format words %s", cases[i].typed);
        (void)snprintf(expected, sizeof expected, "%s%s", cases[i].offered,
                       cases[i].has_ends ? ends : "");
        assert_int_equal(ask(line), 0);
        assert_string_equal(told, expected);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_other_arguments_are_not_for_it),
        cmocka_unit_test(test_markdown_shows_each_setting_once),
        cmocka_unit_test(test_the_man_page_has_each_setting_once),
        cmocka_unit_test(test_words_are_those_that_may_follow),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
