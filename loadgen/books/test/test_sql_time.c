/* Moments of databases in the form of a ledger. */
#include "sql_time.h"
#include "test.h"

static void test_moments_of_databases(void **state) {
    static const struct {
        const char *text, *at;
    } moments[] = {
        {"2026-11-21 10:01:02.123456+00", "2026-11-21T10:01:02.123456Z"},
        {"2026-11-21 10:01:02+00", "2026-11-21T10:01:02.000000Z"},
        {"2026-11-21 10:01:02.5+00:00", "2026-11-21T10:01:02.500000Z"},
        {"2026-11-21T10:01:02.123Z", "2026-11-21T10:01:02.123000Z"},
        {"2026-11-21T10:01:02.123456789Z", "2026-11-21T10:01:02.123456Z"},
        {"2026-11-21 10:01:02.5", ""}, /* of no zone */
        {"2026-11-21 10:01:02+01", ""},
        {"2026-11-21_10:01:02Z", ""},
        {"20 Nov 2026 at noon", ""},
        {"2026-11-21", ""},
        {"", ""},
    };
    char at[LEDGER_TIME];

    for (size_t i = 0; i < sizeof moments / sizeof *moments; i++)
        assert_string_equal(ledger_time_text(at, sql_time(moments[i].text)), moments[i].at);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_moments_of_databases)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
