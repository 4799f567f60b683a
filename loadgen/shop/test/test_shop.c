/* Shop files: each construct is read as docs/shop-file.md has it. */
#include "shop.h"
#include "test.h"

#include <stdbool.h>

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
    } marks[] = {[SHOP_LITERAL] = {"", ""},
                 [SHOP_NAME] = {"<", ">"},
                 [SHOP_NAME_IN_JSON] = {"<\"", "\">"},
                 [SHOP_NAME_IN_GRAPHQL] = {"<\"\"", "\"\">"}};
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
    assert_int_equal(shop.outcomes[0].word, SHOP_SOLD);
    assert_int_equal(shop.outcomes[0].query.kind, SHOP_QUERY_STATUS);
    assert_int_equal(shop.outcomes[0].predicate.kind, SHOP_EQUAL);
    assert_text(&shop.outcomes[0].predicate.text, "200");
    assert_int_equal(shop.ledger.kind, SHOP_LEDGER_POSTGRES);
    assert_text(&shop.ledger.target, "db");
    assert_text(&shop.ledger.orders, "SELECT 1");
    assert_text(&shop.ledger.stock, "SELECT 2");
    assert_int_equal(shop.ledger.writes.count, 0);
    assert_int_equal(shop.version.count + shop.config.count, 0);
}

static void test_the_head_has_bases_and_values(void **state) {
    static const enum shop_value_kind kinds[] = {SHOP_SET, SHOP_ENV, SHOP_RUN};

    parse("# a comment\n\nshop My shop # and more\nset port 81\nbase http://a:{{port}}/ # first\n"
          "base https://b/x\nenv SECRET\nrun made echo '{{stock}}' # {{run}}\n"
          "config port {{port}}, a \\# # no\nversion {{made}}\n"
          "== order ==\n" STEP OUTCOME "== ledger command sqlite3 '==' {{port}} ==\n"
          "[Orders]\n\n  SELECT {{made}}  \n\n  # no comment\n\n[Stock]\nx\n[Writes]\ny\n");
    assert_string_equal(shop.name, "My shop");
    assert_int_equal(shop.base_count, 2);
    assert_text(&shop.bases[0], "http://a:<port>");
    assert_text(&shop.bases[1], "https://b/x");
    assert_text(&shop.config, "port <port>, a #");
    assert_text(&shop.version, "<made>");
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

/* ---- a step */

/* The first step of a section, and the section's steps so far. */
static const struct shop_step *parse_step(const char *step) {
    char file[8 * 1024];

    (void)snprintf(file, sizeof file, HEAD "set host h\n== order ==\n%s" OUTCOME LEDGER, step);
    parse(file);
    return shop.sections[SHOP_ORDER].items;
}

static void assert_field(const struct shop_fields *fields, size_t i, const char *name,
                         const char *value) {
    assert_true(i < fields->count);
    assert_text(&fields->items[i].name, name);
    assert_text(&fields->items[i].value, value);
}

static void test_a_request_has_a_method_a_url_and_headers(void **state) {
    const struct shop_step *step = parse_step(
        "# a comment\n\n  GET \t/a/{{n}}?b=\\#1 # one more\nAccept: text/html\n"
        "  X-Key.a_b: x\n"
        "Cookie: a=b; c={{ key }} # yes\n# no\nEmpty:\nAccept: a:b\\\\\\u{e9}\nHTTP 404\n");

    assert_string_equal(step->method, "GET");
    assert_text(&step->url, "/a/<n>?b=#1");
    assert_int_equal(step->line, 7);
    assert_int_equal(step->headers.count, 5);
    assert_field(&step->headers, 0, "Accept", "text/html");
    assert_field(&step->headers, 1, "X-Key.a_b", "x");
    assert_field(&step->headers, 2, "Cookie", "a=b; c=<key>");
    assert_field(&step->headers, 3, "Empty", "");
    assert_field(&step->headers, 4, "Accept", "a:b\\\xC3\xA9");
    assert_int_equal(step->status, 404);
    assert_int_equal(step->body_kind, SHOP_NO_BODY);
    assert_null(step->content_type);
    assert_text(&parse_step("PATCH https://{{host}}:1/\nHTTP *\n")->url, "https://<host>:1/");
    assert_text(&parse_step("PATCH {{host}}/a\nHTTP *\n")->url, "<host>/a");
}

static void test_forms_and_queries_have_fields(void **state) {
    const struct shop_step *step =
        parse_step("POST /a\nA: b\n[Query]\nq: {{n}} # a\n[Form]\nitems[0].{{host}}: a b \n"
                   "a\\:b\\u{20}@$: \\n\\t\\#\nHTTP *\n");

    assert_field(&step->headers, 0, "A", "b");
    assert_field(&step->query, 0, "q", "<n>");
    assert_int_equal(step->body_kind, SHOP_BODY_FORM);
    assert_string_equal(step->content_type, "application/x-www-form-urlencoded");
    assert_int_equal(step->form.count, 2);
    assert_field(&step->form, 0, "items[0].<host>", "a b");
    assert_field(&step->form, 1, "a:b @$", "\n\t#");
    step = parse_step("POST /a\n[FormParams]\na: b\n[QueryStringParams]\nc: d\nHTTP *\n");
    assert_field(&step->form, 0, "a", "b");
    assert_field(&step->query, 0, "c", "d");
}

static void test_each_kind_of_body_is_read(void **state) {
    static const struct {
        const char *body, *read, *content_type;
    } bodies[] = {
        {"{\"a\":\"\\\"{{n}}\\\\\", \"b\" : {{n}} } # more",
         "{\"a\":\"\\\"<\"n\">\\\\\", \"b\" : <n> }", "application/json"},
        {"{\n  \"a\": [1, -0.5e+3, true, false, null, {}, []],\n\t\"\xC3\xA9\\u00e9\": \"#\"\n}",
         "{\n  \"a\": [1, -0.5e+3, true, false, null, {}, []],\n\t\"\xC3\xA9\\u00e9\": \"#\"\n}",
         "application/json"},
        {"[[\"{{n}}\"]]", "[[\"<\"n\">\"]]", "application/json"},
        {"\"text\"", "\"text\"", "application/json"},
        {"{{key}}", "<key>", "application/json"},
        {"`a\\`{{n}}\\n\"` # more", "a`<n>\n\"", NULL},
        {"``", "", NULL},
        {"```\n a {{n}}\\n\n\n# b\n== c ==\n``` # more", " a <n>\\n\n\n# b\n== c ==\n", NULL},
        {"```\n```", "", NULL},
        {"```xml\n<a/>\n```", "<a/>\n", "application/xml"},
        {"```json\n{\n\"{{n}}\":{{n}}}\n\n```", "{\n\"<\"n\">\":<n>}", "application/json"},
        {"```graphql\nmutation{a(b:\"{{n}}\")\t{id}}\n```",
         "{\"query\":\"mutation{a(b:\\\"<\"\"n\"\">\\\")\\t{id}}\\n\"}", "application/json"},
        {"```graphql\n{a(b:\"\\\"{{n}}\",c:{{n}}) # \"\nb(c:\"\"\"\n\"{{n}}\"\"\",d:\"\",e:{{n}})}\n```",
         "{\"query\":\"{a(b:\\\"\\\\\\\"<\"\"n\"\">\\\",c:<\"n\">) # \\\"\\nb(c:\\\"\\\"\\\"\\n\\\"<\"\"n\"\">\\\"\\\"\\\",d:\\\"\\\",e:<\"n\">)}\\n\"}",
         "application/json"},
        {"```graphql\nquery($a:Int){b(a:$a)}\nvariables {\n  \"a\": {{n}}, \"b\": \"{{n}}\"\n}\n```",
         "{\"query\":\"query($a:Int){b(a:$a)}\\n\",\"variables\":{\n  \"a\": <n>, \"b\": \"<\"n\">\"\n}}",
         "application/json"},
    };
    char step[1024];

    for (size_t i = 0; i < sizeof bodies / sizeof *bodies; i++) {
        const struct shop_step *read;

        (void)snprintf(step, sizeof step, "POST /a\n\n%s\n\nHTTP *\n", bodies[i].body);
        read = parse_step(step);
        assert_int_equal(read->body_kind, SHOP_BODY_TEXT);
        assert_text(&read->body, bodies[i].read);
        if (bodies[i].content_type == NULL)
            assert_null(read->content_type);
        else
            assert_string_equal(read->content_type, bodies[i].content_type);
    }
}

static void test_each_query_can_be_captured(void **state) {
    static const struct {
        const char *name;
        enum shop_query_kind kind;
        const char *argument;
    } captures[] = {{"a", SHOP_QUERY_STATUS, ""},
                    {"b-c_1", SHOP_QUERY_BODY, ""},
                    {"d", SHOP_QUERY_HEADER, "x-token"},
                    {"e", SHOP_QUERY_COOKIE, "sid<n>"},
                    {"f", SHOP_QUERY_JSONPATH, "$.a-b[0]['c d'][\"e\"].f"},
                    {"g", SHOP_QUERY_JQ, ".a[] | select(.b == \"c\") | .d"},
                    {"h", SHOP_QUERY_REGEX, "a=\"([^\"/]*)/\\d"},
                    {"i", SHOP_QUERY_REGEX, "a (b)"},
                    {"a", SHOP_QUERY_JSONPATH, "$"}};
    const struct shop_step *step = parse_step(
        "POST /a\nHTTP 200\n[Captures]\na: status\nb-c_1: body redact # a\nd:header \"x-token\"\n"
        "e: cookie \"sid{{n}}\"\nf: jsonpath \"$.a-b[0]['c d'][\\\"e\\\"].f\"\n"
        "g: jq \".a[] | select(.b == \\\"c\\\") | .d\" redact\nh: regex /a=\"([^\"\\/]*)\\/\\d/\n"
        "i: regex \"a (b)\"\na: jsonpath \"$\"\n");

    assert_int_equal(step->capture_count, sizeof captures / sizeof *captures);
    for (size_t i = 0; i < step->capture_count; i++) {
        assert_string_equal(step->captures[i].name, captures[i].name);
        assert_int_equal(step->captures[i].query.kind, captures[i].kind);
        assert_text(&step->captures[i].query.argument, captures[i].argument);
        assert_int_equal(step->captures[i].is_secret, i == 1 || i == 5);
        assert_int_equal(step->captures[i].line, 8 + (int)i);
    }
}

static void test_each_predicate_can_be_asserted(void **state) {
    static const struct {
        const char *line;
        enum shop_predicate_kind kind;
        enum shop_operand_kind operand;
        const char *text;
    } asserts[] = {{"== \"a {{n}}\\\"\"", SHOP_EQUAL, SHOP_TEXT, "a <n>\""},
                   {"== 10", SHOP_EQUAL, SHOP_NUMBER, "10"},
                   {"== -0.5 # more", SHOP_EQUAL, SHOP_NUMBER, "-0.5"},
                   {"== true", SHOP_EQUAL, SHOP_TRUE, ""},
                   {"!= false", SHOP_NOT_EQUAL, SHOP_FALSE, ""},
                   {"!= null", SHOP_NOT_EQUAL, SHOP_NULL, ""},
                   {"== {{n}}", SHOP_EQUAL, SHOP_VALUE, "<n>"},
                   {"< 1", SHOP_LESS, SHOP_NUMBER, "1"},
                   {"<= {{n}}", SHOP_LESS_OR_EQUAL, SHOP_VALUE, "<n>"},
                   {"> 1.5", SHOP_GREATER, SHOP_NUMBER, "1.5"},
                   {">= 0", SHOP_GREATER_OR_EQUAL, SHOP_NUMBER, "0"},
                   {"contains \"\"", SHOP_CONTAINS, SHOP_TEXT, ""},
                   {"startsWith \"a#\"", SHOP_STARTS_WITH, SHOP_TEXT, "a#"},
                   {"endsWith \"{{key}}\"", SHOP_ENDS_WITH, SHOP_TEXT, "<key>"},
                   {"matches /^a\\/\\.$/", SHOP_MATCHES, SHOP_TEXT, "^a/\\.$"},
                   {"matches \"^a\"", SHOP_MATCHES, SHOP_TEXT, "^a"},
                   {"exists", SHOP_EXISTS, SHOP_NO_OPERAND, ""},
                   {"isEmpty # more", SHOP_IS_EMPTY, SHOP_NO_OPERAND, ""}};
    char step[2048] = "POST /a\nHTTP 200\n[Asserts]\n";

    for (int negated = 0; negated < 2; negated++)
        for (size_t i = 0; i < sizeof asserts / sizeof *asserts; i++)
            (void)snprintf(step + strlen(step), sizeof step - strlen(step), "body %s%s\n",
                           negated != 0 ? "not \t" : "", asserts[i].line);
    for (size_t i = 0; i < 2 * (sizeof asserts / sizeof *asserts); i++) {
        const size_t row = i % (sizeof asserts / sizeof *asserts);
        const struct shop_assert *read =
            &(i == 0 ? parse_step(step) : shop.sections[SHOP_ORDER].items)->asserts[i];

        assert_int_equal(read->query.kind, SHOP_QUERY_BODY);
        assert_int_equal(read->predicate.is_negated, i != row);
        assert_int_equal(read->predicate.kind, asserts[row].kind);
        assert_int_equal(read->predicate.operand, asserts[row].operand);
        assert_text(&read->predicate.text, asserts[row].text);
        assert_int_equal(read->line, 8 + (int)i);
    }
}

/* ---- sections and names */

static void test_the_mark_stands_on_the_first_step_of_commit(void **state) {
    const struct shop_steps *order = &shop.sections[SHOP_ORDER];

    parse(HEAD "== order ==\n" STEP STEP "== commit ==\n" STEP STEP OUTCOME LEDGER);
    assert_int_equal(order->count, 4);
    for (size_t i = 0; i < order->count; i++)
        assert_int_equal(order->items[i].is_commit_mark, i == 2);
    parse(HEAD "== order ==\n" STEP STEP OUTCOME LEDGER);
    assert_int_equal(order->count, 2);
    for (size_t i = 0; i < order->count; i++)
        assert_int_equal(order->items[i].is_commit_mark, i == 0);
}

static void test_each_section_sees_the_captures_that_it_may_use(void **state) {
    static const enum shop_outcome_word words[] = {SHOP_SOLD_OUT, SHOP_BUSY, SHOP_REFUSED,
                                                   SHOP_SOLD};

    parse(HEAD "== setup ==\nGET /\nHTTP 200\n[Captures]\nproduct: body\n\n"
               "GET /{{product}}/{{stock}}/{{run}}\nHTTP 200\n[Captures]\nproduct: body\n"
               "== prepare ==\nGET /{{product}}/{{n}}/{{key}}\nHTTP 200\n[Captures]\ncart: body\n"
               "== order ==\nGET /{{cart}}\nHTTP *\n[Captures]\ncart: body\norder: body\n"
               "[Asserts]\nbody == {{order}}\n"
               "== commit ==\nGET /{{order}}\nHTTP *\n"
               "== outcome ==\nsoldout body contains \"{{cart}}\"\nbusy status == 503\n"
               "refused status not < 500\nsold status == 200\n"
               "== ledger postgres db ==\n[Orders]\n{{product}}\n[Stock]\n{{product}} {{run}}\n"
               "== teardown ==\nGET /{{product}}\nHTTP *\n");
    for (enum shop_section section = 0; section < SHOP_SECTIONS; section++)
        assert_int_equal(shop.sections[section].count,
                         section == SHOP_SETUP || section == SHOP_ORDER ? 2 : 1);
    assert_int_equal(shop.outcome_count, 4);
    for (size_t i = 0; i < 4; i++)
        assert_int_equal(shop.outcomes[i].word, words[i]);
    assert_int_equal(shop.outcomes[0].line, 30);
}

static void test_the_witness_names_a_table_rows_and_a_number(void **state) {
    const struct shop_witness *witness = &shop.ledger.witness;

    parse(HEAD "== order ==\n" STEP OUTCOME LEDGER);
    assert_int_equal(witness->table.count, 0);
    assert_int_equal(witness->line, 0);
    parse(HEAD "== order ==\n" STEP OUTCOME LEDGER
               "[Witness]\n# a comment\n\n left: a #> '{b}'\t\nrows:id = {{run}} # SQL\n"
               "table: \"My Table\"\n[Writes]\nSELECT 3\n== teardown ==\n" STEP);
    assert_int_equal(witness->line, 13);
    assert_text(&witness->table, "\"My Table\"");
    assert_text(&witness->rows, "id = <run> # SQL");
    assert_text(&witness->left, "a #> '{b}'");
    assert_text(&shop.ledger.writes, "SELECT 3");
}

static void test_line_ends_of_windows_and_no_line_end_are_as_good(void **state) {
    static const char text[] =
        "\xEF\xBB\xBFshop Test\r\nbase http://a\r\n== order ==\r\nPOST /o\r\n"
        "```\r\na\r\n```\r\nHTTP *\r\n== outcome ==\r\nsold status == 200\r\n"
        "== ledger command x ==\r\n[Orders]\r\na\r\nb\r\n[Stock]\r\nc";

    parse(text);
    assert_string_equal(shop.name, "Test");
    assert_text(&shop.sections[SHOP_ORDER].items[0].body, "a\n");
    assert_text(&shop.ledger.orders, "a\nb");
    assert_text(&shop.ledger.stock, "c");
}

/* ---- the files in shops/, and docs/shop-file.md */

static void test_the_files_of_known_shops_are_read(void **state) {
    static const struct {
        const char *path, *name;
        size_t steps[SHOP_SECTIONS], bases;
    } files[] = {
        {"shops/order-svc/order-svc.shop", "order-svc", {0, 0, 1, 0}, 1},
        {"shops/article/place-an-order.shop", "the article's orders", {0, 0, 1, 0}, 1},
        {"shops/article/minus-inventory.shop", "the article's stock", {0, 0, 1, 0}, 2},
        {"shops/vendure/vendure.shop", "Vendure", {3, 4, 2, 0}, 1},
    };

    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        shop_free(&shop);
        if (shop_read(&shop, files[i].path, &why) != 0)
            fail_msg("%s", why.text);
        assert_string_equal(shop.name, files[i].name);
        assert_int_equal(shop.base_count, files[i].bases);
        for (enum shop_section section = 0; section < SHOP_SECTIONS; section++)
            assert_int_equal(shop.sections[section].count, files[i].steps[section]);
    }
    assert_false(shop.sections[SHOP_ORDER].items[0].is_commit_mark);
    assert_true(shop.sections[SHOP_ORDER].items[1].is_commit_mark); /* the payment */
}

static void test_the_examples_of_the_document_are_one_file(void **state) {
    static char all[64 * 1024];
    FILE *from = fopen("docs/shop-file.md", "r");
    char line[1024];
    bool is_example = false;

    assert_non_null(from);
    while (fgets(line, sizeof line, from) != NULL)
        if (strncmp(line, "````", 4) == 0 && line[4] != ' ')
            is_example = strcmp(line, "````shop\n") == 0;
        else if (is_example)
            strcat(all, line);
    assert_int_equal(fclose(from), 0);
    parse(all);
    assert_int_equal(shop.sections[SHOP_SETUP].count, 1);
    assert_int_equal(shop.sections[SHOP_PREPARE].count, 3);
    assert_int_equal(shop.sections[SHOP_ORDER].count, 2);
    assert_int_equal(shop.sections[SHOP_TEARDOWN].count, 1);
    assert_true(shop.ledger.writes.count > 0);
    assert_true(shop.ledger.witness.line > 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_smallest_file_is_read),
        cmocka_unit_test(test_the_head_has_bases_and_values),
        cmocka_unit_test(test_a_request_has_a_method_a_url_and_headers),
        cmocka_unit_test(test_forms_and_queries_have_fields),
        cmocka_unit_test(test_each_kind_of_body_is_read),
        cmocka_unit_test(test_each_query_can_be_captured),
        cmocka_unit_test(test_each_predicate_can_be_asserted),
        cmocka_unit_test(test_the_mark_stands_on_the_first_step_of_commit),
        cmocka_unit_test(test_each_section_sees_the_captures_that_it_may_use),
        cmocka_unit_test(test_the_witness_names_a_table_rows_and_a_number),
        cmocka_unit_test(test_line_ends_of_windows_and_no_line_end_are_as_good),
        cmocka_unit_test(test_the_files_of_known_shops_are_read),
        cmocka_unit_test(test_the_examples_of_the_document_are_one_file),
    };

    return cmocka_run_group_tests(tests, NULL, free_shop);
}
