/* UTF-8 passes unchanged, and nothing else gets through. */
#include "test.h"
#include "utf8.h"

#define FFFD "\xef\xbf\xbd"

static void expect_clean(const char *text, const char *expected) {
    char *given = strdup(text); /* of its own length, so reading behind it is found */
    char clean[UTF8_ROOM(64)];

    assert_non_null(given);
    memset(clean, 'x', sizeof clean);
    assert_ptr_equal(utf8_clean(clean, given), clean + strlen(expected));
    assert_string_equal(clean, expected);
    free(given);
}

static void test_utf8_stays_as_it_is(void **state) {
    static const char *const texts[] = {"",
                                        "plain\n\x01\x7f",
                                        "\xc2\x80 \xc3\xa4 \xdf\xbf",
                                        "\xe0\xa0\x80 \xed\x9f\xbf",
                                        "\xee\x80\x80 \xe2\x82\xac \xef\xbf\xbf",
                                        "\xf0\x90\x80\x80 \xf3\xa0\x80\x80",
                                        "\xf4\x8f\xbf\xbf"};

    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        expect_clean(texts[i], texts[i]);
}

static void test_text_is_printable_or_not_as_a_whole(void **state) {
    static const char *const others[] = {"a\n",   "\x1b[2J",  "a\x7f",        "\xff",
                                         "a\xc3", "\xc2\x9b", "\xe2\x80\xae", "\xe2\x80\xa8"};

    assert_true(utf8_is_printable(""));
    assert_true(utf8_is_printable("a \xc3\xa4 \xf0\x9f\x98\x80"));
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        assert_false(utf8_is_printable(others[i]));
}

static void test_each_byte_that_is_none_is_replaced(void **state) {
    expect_clean("a\xff"
                 "b",
                 "a" FFFD "b");
    expect_clean("\x80", FFFD);
    expect_clean("\xc0\xaf", FFFD FFFD);                   /* too long for a slash */
    expect_clean("\xe0\x80\x80", FFFD FFFD FFFD);          /* and for a NUL */
    expect_clean("\xed\xa0\x80", FFFD FFFD FFFD);          /* half of a surrogate pair */
    expect_clean("\xf4\x90\x80\x80", FFFD FFFD FFFD FFFD); /* above U+10FFFF */
    expect_clean("\xf5", FFFD);
}

static void test_what_is_cut_is_replaced_and_nothing_behind_it_is_read(void **state) {
    expect_clean("\xc3", FFFD);
    expect_clean("a\xe2\x82", "a" FFFD FFFD);
    expect_clean("\xf0\x9f\x98", FFFD FFFD FFFD);
    expect_clean("\xe2\x82"
                 "b",
                 FFFD FFFD "b");
}

/* Every code point except the surrogates is written by the rules of UTF-8, and accepted. */
static void test_every_character_is_accepted(void **state) {
    for (uint32_t c = 1; c <= 0x10ffff; c++) {
        char text[5] = "", clean[UTF8_ROOM(4)];

        if (c < 0x80)
            text[0] = (char)c;
        else if (c < 0x800)
            (void)snprintf(text, sizeof text, "%c%c", 0xc0 | c >> 6, 0x80 | (c & 63));
        else if (c < 0x10000)
            (void)snprintf(text, sizeof text, "%c%c%c", 0xe0 | c >> 12, 0x80 | (c >> 6 & 63),
                           0x80 | (c & 63));
        else
            (void)snprintf(text, sizeof text, "%c%c%c%c", 0xf0 | c >> 18, 0x80 | (c >> 12 & 63),
                           0x80 | (c >> 6 & 63), 0x80 | (c & 63));
        (void)utf8_clean(clean, text);
        if ((strcmp(clean, text) == 0) == (c >= 0xd800 && c <= 0xdfff))
            fail_msg("U+%04X", c);
    }
}

static void expect_printable(const char *text, const char *expected) {
    char *given = strdup(text);

    assert_non_null(given);
    utf8_make_printable(given);
    assert_string_equal(given, expected);
    free(given);
}

static void test_what_is_not_printable_is_replaced(void **state) {
    expect_printable("", "");
    expect_printable("plain ~ \xc3\xa4 库存 \xf0\x9f\x98\x80",
                     "plain ~ \xc3\xa4 库存 \xf0\x9f\x98\x80");
    expect_printable("a\nb\r\tc", "a b  c");
    expect_printable("\x1b[2J\x01\x1f\x7f", "?[2J???");
    expect_printable("\xc2\x80\xc2\x9f\xc2\xa0", "????\xc2\xa0");
    expect_printable("\x9b"
                     "2J",
                     "?2J");
    expect_printable("\xe2\x80\xae\xe2\x80\xa8\xe2\x81\xa6\xd8\x9c", "???????????");
    expect_printable("\xe2\x80\x8f\xe2\x80\x90\xe2\x80\xa7\xe2\x80\xaf",
                     "???\xe2\x80\x90\xe2\x80\xa7\xe2\x80\xaf");
    expect_printable("\xe2\x81\xa5\xe2\x81\xa9\xe2\x81\xaa", "\xe2\x81\xa5???\xe2\x81\xaa");
    expect_printable("cut \xe2\x82", "cut ??");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_utf8_stays_as_it_is),
        cmocka_unit_test(test_text_is_printable_or_not_as_a_whole),
        cmocka_unit_test(test_each_byte_that_is_none_is_replaced),
        cmocka_unit_test(test_what_is_cut_is_replaced_and_nothing_behind_it_is_read),
        cmocka_unit_test(test_every_character_is_accepted),
        cmocka_unit_test(test_what_is_not_printable_is_replaced),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
