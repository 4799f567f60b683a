/* What scripts and commands cannot do: go on for ever, fill the memory, overflow, leave something
 * for the next script, or answer what differs from run to run. */
#include "keys.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static struct keys keys;

/* OK, and the reply's text; or BUSY, and "". */
static const char *eval(const char *text) {
    static char reply[KV_TEXT];
    const struct kv_script script = {text, "s"};
    struct kv_call call = {KV_SCRIPT, .key = "k", .script = &script, .args = {"x", NULL}};

    reply[0] = '\0';
    if (keys_call(&keys, 1000, &call) != OUTCOME_OK)
        return "BUSY";
    memcpy(reply, call.reply, sizeof reply);
    return reply;
}

static int set_up(void **state) {
    (void)state;
    memset(&keys, 0, sizeof keys);
    return 0;
}

static void test_no_script_goes_on_for_ever(void **state) {
    static const char *const texts[] = {
        "while true do end",
        "while true do pcall(function() while true do end end) end",
        "local function f() while true do end end while true do xpcall(f, f) end",
        "while true do pcall(string.rep, 'x', 1e7) end",
        "local s = 'x' while true do s = s .. s end",
        "return string.find(string.rep('a', 200000), '.-.-.-.-.-b')",
        "return coroutine.wrap(function() while true do end end)()"};

    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        assert_string_equal(eval(texts[i]), "BUSY");
    assert_string_equal(eval("return 'well'"), "well");
}

static void test_no_script_calls_too_deep(void **state) {
    static const char *const texts[] = {
        "local function f() return 1 + f() end return f()",
        "local function f() return (string.gsub('x', 'x', f)) end return f()",
        "local function f() return table.foreach({1}, f) end return f()",
        "return string.find(string.rep('a', 30000), string.rep('a?', 3000) .. 'b')"};

    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        assert_string_equal(eval(texts[i]), "BUSY");
    assert_string_equal(eval("local function f() return pcall(f) end f() return 'well'"), "well");
}

static void test_a_script_leaves_nothing_for_the_next(void **state) {
    static const char *const texts[] = {"redis = nil",
                                        "_G.tostring = nil",
                                        "string.rep = nil",
                                        "more = 1",
                                        "KEYS = nil return 1",
                                        "table.insert(string, 'x') return 1",
                                        "table.insert(_G, 'x') return 1"};

    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        (void)eval(texts[i]);
    assert_string_equal(eval("return (rawget(string, 1) or rawget(_G, 1)) and 'left' or "
                             "tostring(KEYS[1]) .. string.rep('x', 2) .. #ARGV .. "
                             "tostring(redis.call('exists', KEYS[1]))"),
                        "kxx10");
}

static void test_no_address_is_told(void **state) {
    (void)state;
    assert_string_equal(eval("return tostring({}) .. tostring(print == nil) .. tostring(1.5)"),
                        "BUSY"); /* there is no print */
    assert_string_equal(eval("return tostring({}) .. tostring(next) .. tostring(nil)"),
                        "table: 0x0function: 0x0nil");
    assert_string_equal(eval("return '\033Lua'"), "\033Lua");
    assert_string_equal(eval("\033Lua"), "BUSY");
}

static void test_patterns_of_use_are_not_refused(void **state) {
    (void)state;
    assert_string_equal(eval("return string.match('12 34 56', '^(%d+) (%d+) (%d+)$')"), "12");
    assert_string_equal(eval("return (('a:b:c'):gsub('[a-z+*-]+', '%0%0'))"), "aa:bb:cc");
    assert_string_equal(eval("local s = '' for w in ('a,b'):gmatch('[^,]+') do s = w .. s end "
                             "return s"),
                        "ba");
    assert_string_equal(eval("return select(2, xpcall(function() error('e', 0) end, "
                             "function(e) return e .. '!' end))"),
                        "e!");
    assert_string_equal(eval("return select(3, xpcall(function() return 1, 2 end, error))"), "2");
}

static void test_numbers_do_not_overflow(void **state) {
    static const char *const texts[] = {
        "redis.call('set', 'a', '9223372036854775807') return redis.call('incr', 'a')",
        "redis.call('set', 'a', '-9223372036854775808') return redis.call('decr', 'a')",
        "return redis.call('decrby', 'b', '-9223372036854775808')",
        "redis.call('set', 'a', 1) return redis.call('expire', 'a', '9223372036854775807')",
        "redis.call('set', 'a', 1) return redis.call('pexpire', 'a', '9223372036854775807')",
        "return redis.call('set', 'a', 1, 'ex', '9223372036854775807')",
        "return redis.call('set', 'a', 1, 'px', '0')"};

    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        assert_string_equal(eval(texts[i]), "BUSY");
    assert_string_equal(eval("return 0/0"), "-9223372036854775808");
    assert_string_equal(eval("return 1e300"), "-9223372036854775808");
    assert_string_equal(eval("return -7.9"), "-7");
}

/* A key without a value would be there and not be there. */
static void test_what_has_no_room_leaves_no_key(void **state) {
    char value[2 * KV_TEXT] = "";
    struct kv_call call = {KV_SET_ABSENT, .key = "k", .value = value};

    (void)state;
    memset(value, 'x', sizeof value - 1);
    assert_int_equal(keys_call(&keys, 1000, &call), OUTCOME_BUSY);
    assert_string_equal(call.reply, "ERR more values, or a longer one, than the model can hold");
    assert_int_equal(keys.key_count, 0);
    call.value = "x";
    assert_int_equal(keys_call(&keys, 1000, &call), OUTCOME_OK);
    assert_true(call.is_yes);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_no_script_goes_on_for_ever, set_up),
        cmocka_unit_test_setup(test_no_script_calls_too_deep, set_up),
        cmocka_unit_test_setup(test_a_script_leaves_nothing_for_the_next, set_up),
        cmocka_unit_test_setup(test_no_address_is_told, set_up),
        cmocka_unit_test_setup(test_patterns_of_use_are_not_refused, set_up),
        cmocka_unit_test_setup(test_numbers_do_not_overflow, set_up),
        cmocka_unit_test_setup(test_what_has_no_room_leaves_no_key, set_up),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
