/* Shop files: each construct is read as docs/shop-file.md has it. */
#include "shop.h"
#include "test.h"

static struct shop shop;
static struct why why;

#define HEAD    "shop Test\nbase http://127.0.0.1:1\n"
#define STEP    "POST /o\nHTTP *\n"
#define OUTCOME "== outcome ==\nsold status == 200\n"
#define LEDGER  "== ledger postgres db ==\n[Orders]\nSELECT 1\n[Stock]\nSELECT 2\n"

static int free_shop(void **state) {
    shop_free(&shop);
    return 0;
}

static void parse(const char *text) {
    shop_free(&shop);
    if (shop_parse(&shop, "a.shop", text, strlen(text), &why) != 0)
        fail_msg("%s\n%s", why.text, text);
}

/* A text as a file has it, but <name> is a name, and <"name"> one inside a JSON string. */
static void assert_text(const struct shop_text *text, const char *expected) {
    static const struct {
        const char *before, *after;
    } marks[] = {
        [SHOP_LITERAL] = {"", ""}, [SHOP_NAME] = {"<", ">"}, [SHOP_NAME_IN_JSON] = {"<\"", "\">"}};
    char whole[4096] = "";

    for (size_t i = 0; i < text->count; i++) {
        const struct shop_part *part = &text->parts[i];

        assert_int_equal(part->length, strlen(part->text));
        strcat(whole, marks[part->kind].before);
        strcat(whole, part->text);
        strcat(whole, marks[part->kind].after);
    }
    assert_string_equal(whole, expected);
}

static void test_the_smallest_file_is_read(void **state) {
    const struct shop_steps *order = &shop.sections[SHOP_ORDER];

    parse(HEAD "== order ==\n" STEP OUTCOME LEDGER);
    assert_string_equal(shop.name, "Test");
    assert_string_equal(shop.path, "a.shop");
    assert_int_equal(shop.base_count, 1);
    assert_text(&shop.bases[0], "http://127.0.0.1:1");
    assert_int_equal(order->count, 1);
    assert_string_equal(order->items[0].method, "POST");
    assert_text(&order->items[0].url, "/o");
    assert_int_equal(order->items[0].status, SHOP_ANY_STATUS);
    assert_true(order->items[0].is_commit_mark);
    assert_int_equal(order->items[0].line, 4);
    assert_int_equal(shop.outcome_count, 1);
    assert_string_equal(shop_outcome_name(shop.outcomes[0].word), "sold");
    assert_int_equal(shop.outcomes[0].query.kind, SHOP_QUERY_STATUS);
    assert_int_equal(shop.outcomes[0].predicate.kind, SHOP_EQUAL);
    assert_text(&shop.outcomes[0].predicate.text, "200");
    assert_int_equal(shop.ledger.kind, SHOP_LEDGER_POSTGRES);
    assert_text(&shop.ledger.target, "db");
    assert_text(&shop.ledger.orders, "SELECT 1");
    assert_text(&shop.ledger.stock, "SELECT 2");
    assert_int_equal(shop.ledger.writes.count, 0);
}

static void test_the_head_has_bases_and_values(void **state) {
    static const enum shop_value_kind kinds[] = {SHOP_SET, SHOP_ENV, SHOP_RUN};

    parse("# a comment\n\nshop My shop # and more\nset port 81\nbase http://a:{{port}}/ # first\n"
          "base https://b/x\nenv SECRET\nrun made echo '{{stock}}' # {{run}}\n"
          "== order ==\n" STEP OUTCOME "== ledger command sqlite3 '==' {{port}} ==\n"
          "[Orders]\n\n  SELECT {{made}}  \n\n  # no comment\n\n[Stock]\nx\n[Writes]\ny\n");
    assert_string_equal(shop.name, "My shop");
    assert_int_equal(shop.base_count, 2);
    assert_text(&shop.bases[0], "http://a:<port>");
    assert_text(&shop.bases[1], "https://b/x");
    assert_int_equal(shop.value_count, 3);
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(shop.values[i].kind, kinds[i]);
    assert_string_equal(shop.values[2].name, "made");
    assert_int_equal(shop.values[2].line, 8);
    assert_text(&shop.values[0].text, "81");
    assert_text(&shop.values[2].text, "echo '<stock>' # <run>");
    assert_int_equal(shop.ledger.kind, SHOP_LEDGER_COMMAND);
    assert_text(&shop.ledger.target, "sqlite3 '==' <port>");
    assert_text(&shop.ledger.orders, "SELECT <made>  \n\n  # no comment");
    assert_text(&shop.ledger.writes, "y");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_smallest_file_is_read),
        cmocka_unit_test(test_the_head_has_bases_and_values),
    };

    return cmocka_run_group_tests(tests, NULL, free_shop);
}
