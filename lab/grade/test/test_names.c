/* Tests the names that a pupil sees. */
#include "names.h"

#include "test.h"

#include <stdio.h>
#include <string.h>

#define NOW_MS UINT64_C(0x01a21ec44142)

static void id_of(int number, char id[TOKEN_TEXT]) {
    (void)snprintf(id, TOKEN_TEXT, MODEL_ORDER_ID, number);
}

static void token_of(unsigned order, unsigned number, char token[TOKEN_TEXT]) {
    (void)snprintf(token, TOKEN_TEXT, MODEL_TOKEN, order, number);
}

/* The text is shown as another one, and that is taken back. */
static void assert_is_shown(const struct names *names, const char *real) {
    char text[KV_TEXT];

    (void)snprintf(text, sizeof text, "%s", real);
    names_replace(names, text, false);
    assert_string_not_equal(text, real);
    names_replace(names, text, true);
    assert_string_equal(text, real);
}

static void test_ids_tokens_and_instances_are_shown_as_others(void **state) {
    static const enum names_form forms[] = {NAMES_STRANGE, NAMES_LIVE, NAMES_MIRRORED};
    char id[TOKEN_TEXT], token[TOKEN_TEXT], text[KV_TEXT];
    struct names names;

    for (uint64_t seed = 0; seed < 3000; seed++) {
        names_choose(&names, seed, forms[seed % 3], NOW_MS);
        id_of(1 + (int)seed % 8, id);
        token_of(1 + (unsigned)seed % 8, 1 + (unsigned)seed % 700, token);
        assert_is_shown(&names, id);
        assert_is_shown(&names, id + strlen(id) - 12);
        assert_is_shown(&names, token);
        (void)snprintf(text, sizeof text, "inventory-2:%s:7", token);
        assert_is_shown(&names, text);
    }
}

/* A text of the file that is a real name stays apart from that name, and comes back as it was. */
static void test_a_text_that_is_a_name_by_chance_is_not_that_name(void **state) {
    static const char *const texts[] = {"inventory-1", "000000000001",
                                        "00000000-0000-7000-8000-000000000002",
                                        "00020fffffffffffffffffffffffffffffff0001"};
    struct names names, exchanged;
    char text[KV_TEXT], before[KV_TEXT];

    names_choose(&names, 1, NAMES_STRANGE, 0);
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        (void)snprintf(text, sizeof text, "<%s>", texts[i]);
        names_replace(&names, text, true);
        assert_null(strstr(text, texts[i]));
        memcpy(before, text, sizeof before);
        id_of(2, text);
        names_exchange(&exchanged, text, 1, "inventory-2");
        memcpy(text, before, sizeof text);
        names_replace(&exchanged, text, true);
        assert_string_equal(text, before);
        names_replace(&names, text, false);
        assert_memory_equal(text + 1, texts[i], strlen(texts[i]));
    }
}

static void test_two_orders_exchange_their_names(void **state) {
    char id[TOKEN_TEXT], first[TOKEN_TEXT], token[TOKEN_TEXT], firsts[TOKEN_TEXT], text[KV_TEXT];
    struct names names;

    id_of(3, id);
    id_of(1, first);
    token_of(3, 9, token);
    token_of(1, 9, firsts);
    names_exchange(&names, id, 2, "inventory-2");
    (void)snprintf(text, sizeof text, "inventory-2 %s", id);
    names_replace(&names, text, true);
    assert_string_equal(text + 12, first);
    names_replace(&names, text, false);
    assert_string_equal(text + 12, id);
    (void)snprintf(text, sizeof text, "inventory-1 %s", token);
    names_replace(&names, text, true);
    assert_string_equal(text + 12, firsts);
    assert_memory_equal(text, "inventory-2", 11);
    token_of(2, 9, text); /* another order's */
    memcpy(token, text, sizeof token);
    names_replace(&names, text, true);
    assert_string_equal(text, token);
}

static int order_of_two(const struct names *names, const char *a, const char *b) {
    char one[KV_TEXT], two[KV_TEXT];

    (void)snprintf(one, sizeof one, "%s", a);
    (void)snprintf(two, sizeof two, "%s", b);
    names_replace(names, one, false);
    names_replace(names, two, false);
    return strcmp(one, two) < 0 ? -1 : 1;
}

/* So a file that goes by the order of two names is found by two questions. */
static void test_mirrored_names_have_the_other_order(void **state) {
    char one[TOKEN_TEXT], two[TOKEN_TEXT];
    struct names live, mirrored;

    for (uint64_t seed = 0; seed < 1000; seed++) {
        names_choose(&live, seed, NAMES_LIVE, NOW_MS);
        names_choose(&mirrored, seed, NAMES_MIRRORED, NOW_MS);
        id_of(1, one);
        id_of(2, two);
        assert_int_equal(order_of_two(&live, one, two), -order_of_two(&mirrored, one, two));
        token_of(1, 2, one);
        token_of(2, 1, two);
        assert_int_equal(order_of_two(&live, one, two), -order_of_two(&mirrored, one, two));
        assert_int_equal(order_of_two(&live, "inventory-1", "inventory-2"),
                         -order_of_two(&mirrored, "inventory-1", "inventory-2"));
    }
}

static void test_an_instance_in_the_files_own_text_is_noticed(void **state) {
    struct call call = {.kind = CALL_KV, .key = "inventory-5"};
    struct names names;
    bool found = false;

    for (uint64_t seed = 0; seed < 100; seed++) {
        char first[] = "inventory-1";
        bool is_shown = false;

        names_choose(&names, seed, NAMES_LIVE, NOW_MS);
        for (char number = '1'; number <= '4'; number++) {
            (void)snprintf(first, sizeof first, "inventory-%c", number);
            names_replace(&names, first, false);
            is_shown |= strcmp(first, call.key) == 0;
        }
        assert_int_equal(names_are_in(&names, &call), is_shown);
        found |= is_shown;
    }
    assert_true(found);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ids_tokens_and_instances_are_shown_as_others),
        cmocka_unit_test(test_a_text_that_is_a_name_by_chance_is_not_that_name),
        cmocka_unit_test(test_two_orders_exchange_their_names),
        cmocka_unit_test(test_mirrored_names_have_the_other_order),
        cmocka_unit_test(test_an_instance_in_the_files_own_text_is_noticed)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
