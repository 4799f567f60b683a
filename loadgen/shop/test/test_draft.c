/* loadgen shop new: a file to start from, which is never written over another. */
#include "draft.h"
#include "shop.h"
#include "test.h"

#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

static char folder[] = "/tmp/test_draft.XXXXXX";
static struct why why;

static int enter_folder(void **state) {
    return mkdtemp(folder) != NULL && chdir(folder) == 0 ? 0 : -1;
}

static int leave_folder(void **state) {
    return chdir("/") == 0 && rmdir(folder) == 0 ? 0 : -1;
}

static void test_the_draft_is_a_shop_file_of_that_name(void **state) {
    struct shop shop;

    if (draft_write("my-Shop_1", &why) != 0 || shop_read(&shop, "my-Shop_1.shop", &why) != 0)
        fail_msg("%s", why.text);
    assert_string_equal(shop.name, "my-Shop_1");
    for (enum shop_section section = SHOP_SETUP; section <= SHOP_ORDER; section++)
        assert_true(shop.sections[section].count > 0);
    for (size_t i = 0; i < shop.ledger.orders.count; i++) /* SQL has other comments */
        assert_null(strchr(shop.ledger.orders.parts[i].text, '#'));
    for (size_t i = 0; i < shop.ledger.stock.count; i++)
        assert_null(strchr(shop.ledger.stock.parts[i].text, '#'));
    assert_true(shop.ledger.witness.line > 0);
    shop_free(&shop);
    assert_int_equal(unlink("my-Shop_1.shop"), 0);
}

static void test_a_file_that_exists_stays_as_it_is(void **state) {
    FILE *file = fopen("a.shop", "w");
    char text[16] = "";

    assert_non_null(file);
    assert_int_not_equal(fputs("mine", file), EOF);
    assert_int_equal(fclose(file), 0);
    assert_int_equal(draft_write("a", &why), -1);
    assert_string_equal(why.text, "a.shop: File exists: it stays as it is; choose another name");
    file = fopen("a.shop", "r");
    assert_non_null(file);
    assert_int_equal(fread(text, 1, sizeof text, file), 4);
    assert_string_equal(text, "mine");
    assert_int_equal(fclose(file), 0);
    assert_int_equal(unlink("a.shop"), 0);
}

static void test_a_name_that_is_no_file_name_is_refused(void **state) {
    static const char *const names[] = {
        "",         "../a",
        "a/b",      "a.shop",
        "a b",      "-a",
        "\xC3\xA4", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa" /* 65 */};

    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        assert_int_equal(draft_write(names[i], &why), -1);
        assert_string_equal(why.text,
                            "the name of a shop file has 1 to 64 letters, digits, _ and -; "
                            "it does not begin with -");
    }
}

static void test_a_file_that_cannot_be_written_whole_does_not_stay(void **state) {
    struct rlimit before, small;

    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    small = (struct rlimit){100, before.rlim_max};
    assert_ptr_not_equal(signal(SIGXFSZ, SIG_IGN), SIG_ERR);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    assert_int_equal(draft_write("a", &why), -1);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    assert_string_equal(why.text, "a.shop: File too large");
    assert_int_equal(access("a.shop", F_OK), -1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_draft_is_a_shop_file_of_that_name),
        cmocka_unit_test(test_a_file_that_exists_stays_as_it_is),
        cmocka_unit_test(test_a_name_that_is_no_file_name_is_refused),
        cmocka_unit_test(test_a_file_that_cannot_be_written_whole_does_not_stay),
    };

    return cmocka_run_group_tests(tests, enter_folder, leave_folder);
}
