/* The texts about a shop: printable, and back from a history. */
#include "shop_about.h"
#include "test.h"

#include <string.h>

static struct shop_about about;
static struct why why;

static int tear_down(void **state) {
    shop_about_free(&about);
    return 0;
}

static void test_texts_become_one_printable_line(void **state) {
    char text[400];

    memset(text, 'x', sizeof text);
    text[sizeof text - 1] = '\0';
    assert_int_equal(shop_about_make(&about, "a\033[31mb\nc", "", text, "f"), 0);
    assert_string_equal(about.name, "a?[31mb c");
    assert_int_equal(strlen(about.config), 256);
}

static void test_a_base_counts_once(void **state) {
    assert_int_equal(shop_about_add_base(&about, "http://a"), 0);
    assert_int_equal(shop_about_add_base(&about, "http://b"), 0);
    assert_int_equal(shop_about_add_base(&about, "http://a"), 0);
    assert_int_equal(about.base_count, 2);
}

static void test_more_bases_than_any_file_has_are_refused(void **state) {
    char base[20];

    for (int i = 0; i < SHOP_ABOUT_BASES; i++) {
        snprintf(base, sizeof base, "http://h%d", i);
        assert_int_equal(shop_about_add_base(&about, base), 0);
    }
    assert_int_equal(shop_about_add_base(&about, "http://h"), -1);
}

static int read_text(const char *text) {
    json_t *json = json_loads(text, 0, NULL);
    int code;

    assert_non_null(json);
    shop_about_free(&about);
    code = shop_about_read(json, &about, &why);
    json_decref(json);
    return code;
}

#define ALL "\"name\": \"n\", \"version\": \"v\", \"config\": \"c\", \"file\": \"f\""

static void test_the_object_is_read_back(void **state) {
    json_t *json;

    assert_int_equal(read_text("{" ALL ", \"bases\": [\"http://a\", \"http://b\"]}"), 0);
    json = shop_about_json(&about);
    shop_about_free(&about);
    assert_int_equal(shop_about_read(json, &about, &why), 0);
    json_decref(json);
    assert_string_equal(about.name, "n");
    assert_string_equal(about.version, "v");
    assert_string_equal(about.config, "c");
    assert_string_equal(about.file, "f");
    assert_string_equal(about.bases[1], "http://b");
}

static void test_another_object_is_refused_with_the_reason(void **state) {
    assert_int_equal(read_text("[]"), -1);
    assert_int_equal(read_text("{\"name\": 1}"), -1);
    assert_non_null(strstr(why.text, "its shop cannot be read"));
    assert_int_equal(read_text("{" ALL ", \"bases\": []}"), -1);
    assert_string_equal(why.text, "its shop has no bases");
    assert_int_equal(read_text("{" ALL ", \"bases\": [1]}"), -1);
    assert_string_equal(why.text, "the bases of its shop cannot be read");
}

#define ABOUT(test) cmocka_unit_test_teardown(test, tear_down)

int main(void) {
    const struct CMUnitTest tests[] = {
        ABOUT(test_texts_become_one_printable_line),           ABOUT(test_a_base_counts_once),
        ABOUT(test_more_bases_than_any_file_has_are_refused),  ABOUT(test_the_object_is_read_back),
        ABOUT(test_another_object_is_refused_with_the_reason),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
