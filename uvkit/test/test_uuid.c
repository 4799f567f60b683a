/* UUIDs: version 7 has its date and its version, reading is strict and gives lower case. */
#include "clock.h"
#include "test.h"
#include "uuid.h"

#include <sys/wait.h>
#include <unistd.h>

static void test_version_7_begins_with_the_date(void **state) {
    char text[UUID_TEXT], same[UUID_TEXT], hex[13];
    int64_t before = clock_wall_us() / 1000, ms;

    uuid_v7(text);
    assert_int_equal(uuid_parse(text, same), 0);
    assert_string_equal(text, same);
    (void)snprintf(hex, sizeof hex, "%.8s%.4s", text, text + 9);
    ms = strtoll(hex, NULL, 16);
    assert_true(ms >= before && ms <= clock_wall_us() / 1000);
    assert_int_equal(text[14], '7');
    assert_non_null(strchr("89ab", text[19]));
}

static void test_two_are_different(void **state) {
    char one[UUID_TEXT], two[UUID_TEXT];

    uuid_v7(one);
    uuid_v7(two);
    assert_string_not_equal(one, two);
}

static int compare_texts(const void *a, const void *b) {
    return strcmp(a, b);
}

/* More than one draw of random bytes provides. */
static void test_many_are_all_different(void **state) {
    static char texts[2000][UUID_TEXT];

    for (size_t i = 0; i < 2000; i++)
        uuid_v7(texts[i]);
    qsort(texts, 2000, sizeof *texts, compare_texts);
    for (size_t i = 1; i < 2000; i++)
        assert_string_not_equal(texts[i - 1], texts[i]);
}

/* Their random parts, because the date may be the same. */
static void test_a_child_draws_its_own(void **state) {
    char own[UUID_TEXT], childs[UUID_TEXT];
    int ends[2], status;
    pid_t child;

    uuid_v7(own);
    assert_int_equal(pipe(ends), 0);
    child = fork();
    if (child == 0) {
        uuid_v7(childs);
        _exit(write(ends[1], childs, sizeof childs) == sizeof childs ? 0 : 1);
    }
    assert_true(child > 0);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    assert_int_equal(read(ends[0], childs, sizeof childs), sizeof childs);
    uuid_v7(own);
    assert_string_not_equal(own + 15, childs + 15);
    close(ends[0]);
    close(ends[1]);
}

static void test_reading_gives_lower_case(void **state) {
    char out[UUID_TEXT] = "82391173-9DBC-49B6-821B-746A11DBBE5E";

    assert_int_equal(uuid_parse(out, out), 0);
    assert_string_equal(out, "82391173-9dbc-49b6-821b-746a11dbbe5e");
}

static void test_anything_else_is_refused(void **state) {
    static const char *const bad[] = {
        NULL,
        "",
        "82391173",
        "82391173-9dbc-49b6-821b-746a11dbbe5",
        "82391173-9dbc-49b6-821b-746a11dbbe5e0",
        "82391173-9dbc-49b6-821b-746a11dbbe5g",
        "82391173-9dbc-49b6-821b0746a11dbbe5e",
        "82391173a9dbc-49b6-821b-746a11dbbe5e",
        "-2391173-9dbc-49b6-821b-746a11dbbe5e",
        "{82391173-9dbc-49b6-821b-746a11dbbe5e}",
        " 2391173-9dbc-49b6-821b-746a11dbbe5e",
        "823911739dbc49b6821b746a11dbbe5e",
    };

    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        char out[UUID_TEXT] = "x";

        assert_int_equal(uuid_parse(bad[i], out), -1);
        assert_string_equal(out, "");
    }
}

static void test_the_bytes_are_those_of_the_digits(void **state) {
    static const uint8_t expected[UUID_BYTES] = {0x01, 0x90, 0xb2, 0xa8, 0x7f, 0x00, 0x7a, 0xbc,
                                                 0x8d, 0xef, 0x00, 0x09, 0xfa, 0xfe, 0xd1, 0x23};
    uint8_t bytes[UUID_BYTES];

    uuid_bytes("0190b2a8-7f00-7abc-8def-0009fafed123", bytes);
    assert_memory_equal(bytes, expected, sizeof bytes);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_version_7_begins_with_the_date),
        cmocka_unit_test(test_two_are_different),
        cmocka_unit_test(test_many_are_all_different),
        cmocka_unit_test(test_a_child_draws_its_own),
        cmocka_unit_test(test_reading_gives_lower_case),
        cmocka_unit_test(test_anything_else_is_refused),
        cmocka_unit_test(test_the_bytes_are_those_of_the_digits),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
