/* Shop files with a mistake: each error names file, line, column and the expected text. */
#include "fault.h"
#include "shop.h"
#include "test.h"

#include <unistd.h>

/* Files that are right up to their end. Their last lines are 2, 3, 5, 5, 7 and 11. */
#define HEAD         "shop A\nbase http://a\n"
#define SETUP        HEAD "== setup ==\n"
#define REPLY        SETUP "GET /\nHTTP 200\n"
#define ORDER        HEAD "== order ==\nPOST /o\nHTTP *\n"
#define OUTCOME      ORDER "== outcome ==\nsold status == 200\n"
#define LEDGER       OUTCOME LEDGER_ALONE

#define LEDGER_ALONE "== ledger postgres db ==\n[Orders]\nSELECT 1\n[Stock]\nSELECT 2\n"
#define REST         "== outcome ==\nsold status == 200\n" LEDGER_ALONE

struct mistake {
    const char *text, *error; /* without "a.shop:" */
};

static struct shop shop;
static struct why why;

static int parse(const char *text) {
    return shop_parse(&shop, "a.shop", text, strlen(text), &why);
}

static void assert_mistakes(const struct mistake *mistakes, size_t count) {
    char expected[sizeof why.text];

    for (size_t i = 0; i < count; i++) {
        if (parse(mistakes[i].text) != -1)
            fail_msg("no error: %s", mistakes[i].text);
        assert_null(shop.memory);
        (void)snprintf(expected, sizeof expected, "a.shop:%s", mistakes[i].error);
        assert_string_equal(why.text, expected);
    }
}

#define assert_all(mistakes) assert_mistakes(mistakes, sizeof(mistakes) / sizeof *(mistakes))

static void test_a_mistake_in_the_head_is_named(void **state) {
    static const struct mistake mistakes[] = {
        {"shop A\x01"
         "",
         "1:7: expected UTF-8 without control characters, found the byte 0x01"},
        {"shop \xff"
         "",
         "1:6: expected UTF-8 without control characters, found the byte 0xff"},
        {"shop A\r b", "1:7: expected UTF-8 without control characters, found the byte 0x0d"},
        {"shop \xe2\x80\xae"
         "A",
         "1:6: expected UTF-8 without control characters, found the byte 0xe2"},
        {"", "1:1: expected a line `shop NAME` before the sections, found the end of the file"},
        {"shop\n", "1:5: expected a name of 1 to 64 bytes"},
        {"shop A\nshop B\n", "2:6: expected one line `shop`, this is the second"},
        {"shop A\nversion 1\nversion 1\n", "3:9: expected one line `version`, this is the second"},
        {"config a\nconfig b\n", "2:8: expected one line `config`, this is the second"},
        {"config # a\n", "1:8: expected a text, found: # a"},
        {"version {{n}}\n",
         "1:11: {{n}} has a value only for a customer, in prepare, order, commit and outcome"},
        {"shop A#b\n",
         "1:7: expected \\# for a # of the value, or a blank before the # of a comment"},
        {"shop A\nbase ftp://a\n", "2:6: expected a URL with http:// or https://, found: ftp://a"},
        {"shop A\nbase http://\n", "2:6: expected a URL with http:// or https://, found: http://"},
        {"shop A\nbase https:/// # a\n",
         "2:6: expected a URL with http:// or https://, found: https:/// # a"},
        {"shop A\nset a # b\n", "2:7: expected a value, found: # b"},
        {"shop A\nbase http://a b\n", "2:14: expected one URL in a line"},
        {"base\n", "1:5: expected a URL with http:// or https://, found the end of the line"},
        {"base http://a\n== order ==\n",
         "2:1: expected a line `shop NAME` before the sections, found: == order =="},
        {"shop A\n== order ==\n",
         "2:1: expected a line `base URL` before the sections, found: == order =="},
    };

    assert_all(mistakes);
}

static void test_a_mistake_in_a_value_is_named(void **state) {
    static const struct mistake mistakes[] = {
        {"shop A\nbase http://{{port}}\n",
         "2:15: expected a name that has a value here (none has one), found: port"},
        {"shop A\nbase http://{{stock}}\n",
         "2:15: {{stock}} has a value only in a round; here, only names of `set` and `env` above this line have one"},
        {"shop A\nbase http://{{n}}\n",
         "2:15: {{n}} has a value only for a customer, in prepare, order, commit and outcome"},
        {"server A\n",
         "1:1: expected shop, version, config, base, set, env, run, or a section such as == order ==, found: server A"},
        {"set\n",
         "1:4: expected a name of at most 64 letters, digits, _ and -, found the end of the line"},
        {"set 1a b\n", "1:5: expected a name of at most 64 letters, digits, _ and -, found: 1a b"},
        {"set a\n", "1:6: expected a value, found the end of the line"},
        {"set a b\nset a c\n", "2:5: expected another name: a has a value already"},
        {"set stock 1\n", "1:5: expected another name: stock has a value already"},
        {"env A B\n", "1:7: expected the end of the line, found: B"},
        {"env A.B\n", "1:5: expected a name of at most 64 letters, digits, _ and -, found: A.B"},
        {"run a\n", "1:6: expected a shell command, found the end of the line"},
        {"run a x\nset b {{a}}\n",
         "2:9: {{a}} has a value only in a round; here, only names of `set` and `env` above this line have one"},
        {"set a b\\q\n", "1:8: expected one of \\# \\\\ \\: \\n \\t \\u{2603}, found: \\q"},
        {"set a \\u{110000}\n",
         "1:9: expected the number of a printable character, such as {2603}, found: {110000}"},
        {"set a \\u{7}\n",
         "1:9: expected the number of a printable character, such as {2603}, found: {7}"},
        {"set a \\u41\n",
         "1:9: expected the number of a printable character, such as {2603}, found: 41"},
        {"set a \\\n", "1:7: expected one of \\# \\\\ \\: \\n \\t \\u{2603}, found: \\"},
        {"set a {{}}\n", "1:9: expected a name after {{, found: }}"},
        {"set a {{a\n", "1:9: expected a name that has a value here (none has one), found: a"},
        {"set a {{stock urlEncode}}\n",
         "1:9: {{stock}} has a value only in a round; here, only names of `set` and `env` above this line have one"},
        {"set b 1\nset a {{b urlEncode}}\n",
         "2:11: expected }} after the name (Hurl's filters and functions are not known), found: urlEncode}}"},
        {"set a é#b\n",
         "1:8: expected \\# for a # of the value, or a blank before the # of a comment"},
    };

    assert_all(mistakes);
}

static void test_a_mistake_in_the_order_of_sections_is_named(void **state) {
    static const struct mistake mistakes[] = {
        {HEAD "== order\n",
         "3:1: expected a section with == at both ends, such as == order ==, found: == order"},
        {HEAD "==\n",
         "3:1: expected a section with == at both ends, such as == order ==, found: =="},
        {HEAD "== =\n",
         "3:1: expected a section with == at both ends, such as == order ==, found: == ="},
        {HEAD "== ordre ==\n",
         "3:4: expected setup, prepare, order, commit, outcome, ledger or teardown, found: ordre =="},
        {HEAD "== order now ==\n",
         "3:10: expected == after the name of the section, found: now =="},
        {HEAD "== order ==\n",
         "4:1: expected a request in this section, such as POST /orders, found the end of the file"},
        {HEAD "== outcome ==\n", "3:1: expected a section order before this one"},
        {HEAD "== setup ==\n== order ==\n",
         "4:1: expected a request in this section, such as POST /orders, found: == order =="},
        {HEAD "== prepare ==\nGET /\nHTTP 200\n== setup ==\n",
         "6:1: expected the section setup before the section prepare"},
        {HEAD "== setup ==\nGET /\nHTTP 200\n== setup ==\n",
         "6:1: expected one section setup, this is the second"},
        {HEAD "== commit ==\n", "3:1: expected a section order before this one"},
        {HEAD "== setup ==\nGET /\nHTTP 200\n", "6:1: expected a section order"},
        {ORDER "", "6:1: expected a section outcome"},
        {ORDER "== commit ==\n",
         "7:1: expected a request in this section, such as POST /orders, found the end of the file"},
        {ORDER "== outcome ==\nbusy status == 503\n== ledger",
         "8:1: expected a rule `sold QUERY PREDICATE`, found: == ledger"},
        {OUTCOME "", "8:1: expected a section ledger"},
        {LEDGER "== outcome ==\n", "13:1: expected the section outcome before the section ledger"},
    };

    assert_all(mistakes);
}

static void test_a_mistake_in_a_request_is_named(void **state) {
    static const struct mistake mistakes[] = {
        {SETUP "get /\n", "4:1: expected a request such as POST /orders, found: get /"},
        {SETUP "GET\n", "4:1: expected a request such as POST /orders, found: GET"},
        {SETUP "GET orders\n",
         "4:5: expected a path such as /orders, or a URL with http:// or https://, found: orders"},
        {SETUP "GET /a b\n", "4:7: expected %20 for a blank in a URL"},
        {SETUP "GET /a#b\n",
         "4:7: expected \\# for a # of the value, or a blank before the # of a comment"},
        {SETUP "GET /a\\n\n", "4:7: expected one of \\# \\\\ \\: \\u{2603}, found: \\n"},
        {SETUP "ABCDEFGHIJKLMNOPQ /\n", "4:1: expected a method of at most 16 letters"},
        {SETUP "GET /{{nope}}\n",
         "4:8: expected a name that has a value here (stock, run), found: nope"},
        {SETUP "GET /{{n}}\n",
         "4:8: {{n}} has a value only for a customer, in prepare, order, commit and outcome"},
        {SETUP "[Captures]\n", "4:1: expected a request such as POST /orders, found: [Captures]"},
        {SETUP "GET /\n",
         "5:1: expected HTTP and a status, such as HTTP 200 or HTTP *, found the end of the file"},
        {SETUP "GET /\nGET /\n",
         "5:1: expected HTTP and a status, such as HTTP 200 or HTTP *, found: GET /"},
        {SETUP "GET /\nX y: z\nHTTP 200\n",
         "5:1: expected HTTP and a status, such as HTTP 200 or HTTP *, found: X y: z"},
        {SETUP "GET /\nA: b\\n\n", "5:5: expected one of \\# \\\\ \\: \\u{2603}, found: \\n"},
        {SETUP "GET /\n{{stock: 1\n", "5:1: expected }} in the same line as {{"},
        {SETUP "GET /\n: a\n",
         "5:1: expected a header NAME: VALUE, [Form], [Query], a body, or HTTP and a status, found: : a"},
        {SETUP "GET /\n[Cookies]\n",
         "5:1: Hurl's [Cookies] is not known here: write a header Cookie:"},
        {SETUP "GET /\n[BasicAuth]\n",
         "5:1: Hurl's [BasicAuth] is not known here: write a header Authorization: Basic"},
        {SETUP "GET /\n[Multipart]\n", "5:1: Hurl's [Multipart] is not known here: use [Form]"},
        {SETUP "GET /\n[MultipartFormData]\n",
         "5:1: Hurl's [MultipartFormData] is not known here: use [Form]"},
        {SETUP "GET /\n[Options]\n", "5:1: Hurl's [Options] is not known here: remove it"},
        {SETUP "GET /\n[Lunch]\n",
         "5:1: expected [Form], [Query], a body, or HTTP and a status, found: [Lunch]"},
        {SETUP "GET /\n[Asserts]\n",
         "5:1: expected HTTP and a status before this, found: [Asserts]"},
        {SETUP "POST /\n[Form]\na: b\n[Form]\n",
         "7:1: expected HTTP and a status: this request has a form already"},
        {SETUP "POST /\n[Form]\na: b\n{}\n",
         "7:1: expected HTTP and a status: this request has a form already"},
        {SETUP "POST /\n[Form] a\n", "5:8: expected the end of the line, found: a"},
        {SETUP "POST /\n[Form]\na\n", "6:1: expected NAME: VALUE, or HTTP and a status, found: a"},
        {SETUP "POST /\n{}\n[Form]\n",
         "6:1: expected HTTP and a status, such as HTTP 200 or HTTP *, found: [Form]"},
        {SETUP "GET /\na[0]: b\n",
         "5:1: expected a header NAME: VALUE, [Form], [Query], a body, or HTTP and a status, found: a[0]: b"},
        {SETUP "GET /\na\\: b\n",
         "5:1: expected a header NAME: VALUE, [Form], [Query], a body, or HTTP and a status, found: a\\: b"},
        {SETUP "POST /\n[Form]\n{{stock: b\n", "6:1: expected }} in the same line as {{"},
        {SETUP "GET /\nA: {{stock}\n",
         "5:11: expected }} after the name (Hurl's filters and functions are not known), found: }"},
        {SETUP "POST /\n[Form]\na: \\\"\n",
         "6:4: expected one of \\# \\\\ \\: \\n \\t \\u{2603}, found: \\\""},
    };

    assert_all(mistakes);
}

static void test_a_mistake_in_a_body_is_named(void **state) {
    static const struct mistake mistakes[] = {
        {SETUP "POST /\n{}\nA: b\n",
         "6:1: expected HTTP and a status, such as HTTP 200 or HTTP *, found: A: b"},
        {SETUP "POST /\n{}\n{}\n",
         "6:1: expected HTTP and a status, such as HTTP 200 or HTTP *, found: {}"},
        {SETUP "POST /\n<a/>\n",
         "5:1: expected a body in JSON, between ` and `, or between two lines ``` (Hurl's XML, base64, hex and file bodies are not known here), found: <a/>"},
        {SETUP "POST /\nbase64,aGk=;\n",
         "5:1: expected a body in JSON, between ` and `, or between two lines ``` (Hurl's XML, base64, hex and file bodies are not known here), found: base64,aGk=;"},
        {SETUP "POST /\nhex,00;\n",
         "5:1: expected a body in JSON, between ` and `, or between two lines ``` (Hurl's XML, base64, hex and file bodies are not known here), found: hex,00;"},
        {SETUP "POST /\nfile,a.json;\n",
         "5:1: expected a body in JSON, between ` and `, or between two lines ``` (Hurl's XML, base64, hex and file bodies are not known here), found: file,a.json;"},
        {SETUP "POST /\n`a\n", "5:1: expected a ` that ends this text, in the same line"},
        {SETUP "POST /\n`a` b\n", "5:5: expected the end of the line, found: b"},
        {SETUP "POST /\n{\"a\" 1}\n", "5:6: expected : after the name, found: 1}"},
        {SETUP "POST /\n{\"a\": }\n", "5:7: expected a JSON value, found: }"},
        {SETUP "POST /\n{\n  \"a\": 1,\n  b: 2\n}\n",
         "7:3: expected a name between \" and \", found: b: 2"},
        {SETUP "POST /\n{\"a\": 1\nHTTP 200\n",
         "6:1: expected , or } of the JSON body, found: HTTP 200"},
        {SETUP "POST /\n[1 2]\n", "5:4: expected , or ] of the JSON body, found: 2]"},
        {SETUP "POST /\n[1,]\n", "5:4: expected a JSON value, found: ]"},
        {SETUP "POST /\n[01]\n", "5:3: expected , or ] of the JSON body, found: 1]"},
        {SETUP "POST /\n[1.]\n", "5:4: expected a digit, found: ]"},
        {SETUP "POST /\n[1e]\n", "5:4: expected a digit, found: ]"},
        {SETUP "POST /\n[-]\n", "5:3: expected a digit, found: ]"},
        {SETUP "POST /\n[\"a\nb\"]\n",
         "5:2: expected a \" that ends this text, in the same line (write \\n for a line break)"},
        {SETUP "POST /\n[\"a\tb\"]\n", "5:4: expected \\t for a tab in a JSON text"},
        {SETUP "POST /\n[\"\\q\"]\n", "5:4: expected one of \"\\/bfnrtu after \\, found: q\"]"},
        {SETUP "POST /\n[\"\\u12g4\"]\n",
         "5:4: expected four hexadecimal digits after \\u, found: u12g4\"]"},
        {SETUP "POST /\n[{{stock]\n", "5:2: expected }} in the same line as {{"},
        {SETUP "POST /\n[{{stok}}]\n",
         "5:4: expected a name that has a value here (stock, run), found: stok"},
        {SETUP "POST /\n{} x\n", "5:4: expected the end of the line, found: x"},
    };

    assert_all(mistakes);
}

static void test_a_mistake_in_a_block_is_named(void **state) {
    static const struct mistake mistakes[] = {
        {SETUP "POST /\n```\na\n", "5:1: expected a line ``` that ends this body"},
        {SETUP "POST /\n```yaml\n",
         "5:4: expected json, graphql, xml or the line's end after ```, found: yaml"},
        {SETUP "POST /\n```yaml\na,b\n```\n",
         "5:4: expected json, graphql, xml or the line's end after ```, found: yaml"},
        {SETUP "POST /\n```json {}\n```\n", "5:9: expected the end of the line, found: {}"},
        {SETUP "POST /\n``` # a\n{{x}}\n```\n",
         "6:3: expected a name that has a value here (stock, run), found: x"},
        {SETUP "POST /\n```hex\n",
         "5:4: expected json, graphql, xml or nothing after ``` (Hurl's base64, hex and escape are not known here), found: hex"},
        {SETUP "POST /\n```json,escape\n",
         "5:4: expected json, graphql, xml or nothing after ``` (Hurl's base64, hex and escape are not known here), found: json,escape"},
        {SETUP "POST /\n```json\n{}\n{}\n```\n",
         "6:3: expected ``` after the JSON value, found the end of the line"},
        {SETUP "POST /\n```json\n{\n```\n", "7:1: expected a name between \" and \", found: ```"},
        {SETUP "POST /\n```graphql\n{a}\nvariables {\"a\": b}\n```\n",
         "7:17: expected a JSON value, found: b}"},
        {SETUP "POST /\n```graphql\n{a}\nvariables {}\nx\n```\n",
         "7:13: expected ``` after the variables, found the end of the line"},
        {SETUP "POST /\n```\na\n``` b\n", "7:5: expected the end of the line, found: b"},
        {SETUP "POST /\n```\n{{x}}\n```\n",
         "6:3: expected a name that has a value here (stock, run), found: x"},
        {SETUP "POST /\n{{\n", "5:1: expected }} in the same line as {{"},
    };

    assert_all(mistakes);
}

static void test_a_mistake_in_a_reply_is_named(void **state) {
    static const struct mistake mistakes[] = {
        {SETUP "GET /\nHTTP\n",
         "5:5: expected a status from 100 to 599, or *, found the end of the line"},
        {SETUP "GET /\nHTTP 99\n", "5:6: expected a status from 100 to 599, or *, found: 99"},
        {SETUP "GET /\nHTTP 600\n", "5:6: expected a status from 100 to 599, or *, found: 600"},
        {SETUP "GET /\nHTTP 2xx\n", "5:6: expected a status from 100 to 599, or *, found: 2xx"},
        {SETUP "GET /\nHTTP/1.1 200\n",
         "5:1: expected HTTP and a status (the version of HTTP cannot be asked for), found: HTTP/1.1 200"},
        {SETUP "GET /\nHTTP 200 OK\n", "5:10: expected the end of the line, found: OK"},
        {REPLY "A: b\n",
         "6:1: expected [Captures], [Asserts], a request, or a section == ... == (a header or a body of the reply is compared in [Asserts]), found: A: b"},
        {REPLY "{}\n",
         "6:1: expected [Captures], [Asserts], a request, or a section == ... == (a header or a body of the reply is compared in [Asserts]), found: {}"},
        {REPLY "[Form]\n",
         "6:1: expected [Captures], [Asserts], a request, or a section == ... ==, found: [Form]"},
        {REPLY "[Options]\n", "6:1: Hurl's [Options] is not known here: remove it"},
        {REPLY "[Captures]\na\n",
         "7:1: expected NAME: QUERY, such as token: header \"x-token\", found: a"},
        {REPLY "[Captures]\na b: status\n",
         "7:1: expected NAME: QUERY, such as token: header \"x-token\", found: a b: status"},
        {REPLY "[Captures]\na: \n",
         "7:4: expected status, body, header, cookie, jsonpath, jq or regex, found the end of the line"},
        {REPLY "[Captures]\na: xpath \"//a\"\n",
         "7:4: Hurl's query xpath is not known here: use status, body, header, cookie, jsonpath, jq or regex"},
        {REPLY "[Captures]\na: statuss\n",
         "7:4: expected status, body, header, cookie, jsonpath, jq or regex, found: statuss"},
        {REPLY "[Captures]\na: header\n",
         "7:10: expected a name between \" and \", found the end of the line"},
        {REPLY "[Captures]\na: header x\n", "7:11: expected a name between \" and \", found: x"},
        {REPLY "[Captures]\na: header \"\"\n", "7:11: expected a text that is not empty"},
        {REPLY "[Captures]\na: header \"x\n",
         "7:11: expected a \" that ends this text, in the same line"},
        {REPLY "[Captures]\na: cookie \"x[Path]\"\n",
         "7:11: expected the name of a cookie; its attributes cannot be asked for"},
        {REPLY "[Captures]\na: jsonpath \"a\"\n",
         "7:13: expected a path of $ and then .name, [0] or ['name'] (jq can do more), found: \"a\""},
        {REPLY "[Captures]\na: jsonpath \"$..a\"\n",
         "7:13: expected a path of $ and then .name, [0] or ['name'] (jq can do more), found: \"$..a\""},
        {REPLY "[Captures]\na: jsonpath \"$.a[*]\"\n",
         "7:13: expected a path of $ and then .name, [0] or ['name'] (jq can do more), found: \"$.a[*]\""},
        {REPLY "[Captures]\na: jsonpath \"$.{{stock}}\"\n",
         "7:13: expected a text without {{ }}: it is the same for all customers"},
        {REPLY "[Captures]\na: jsonpath \"\"\n", "7:13: expected a text that is not empty"},
        {REPLY "[Captures]\na: regex /a\n",
         "7:10: expected a / that ends this expression, in the same line"},
        {REPLY "[Captures]\na: regex a\n",
         "7:10: expected an expression between / and /, or \" and \", found: a"},
        {REPLY "[Captures]\na: regex //\n", "7:10: expected an expression that is not empty"},
        {REPLY "[Captures]\na: jsonpath \"$.a\" count\n",
         "7:19: expected redact or the end of the line (Hurl's filters are not known here), found: count"},
        {REPLY "[Captures]\nstock: status\n",
         "7:1: expected another name: stock has a value already"},
        {REPLY "[Captures]\na: body redact x\n", "7:16: expected the end of the line, found: x"},
        {REPLY "[Captures]\na: cookie\n",
         "7:10: expected a name between \" and \", found the end of the line"},
    };

    assert_all(mistakes);
}

static void test_a_mistake_in_an_assert_is_named(void **state) {
    static const struct mistake mistakes[] = {
        {REPLY "[Asserts]\nstatus\n",
         "7:7: expected ==, !=, <, <=, >, >=, contains, startsWith, endsWith, matches, exists or isEmpty, found the end of the line"},
        {REPLY "[Asserts]\nstatus is 1\n",
         "7:8: expected ==, !=, <, <=, >, >=, contains, startsWith, endsWith, matches, exists or isEmpty, found: is 1"},
        {REPLY "[Asserts]\nstatus equals 1\n", "7:8: Hurl's equals is not known here: write =="},
        {REPLY "[Asserts]\nstatus count == 1\n",
         "7:8: Hurl's count is not known here: use jq with length"},
        {REPLY "[Asserts]\nbody isString\n", "7:6: Hurl's isString is not known here: use jq"},
        {REPLY "[Asserts]\nbody not not exists\n",
         "7:10: expected ==, !=, <, <=, >, >=, contains, startsWith, endsWith, matches, exists or isEmpty, found: not exists"},
        {REPLY "[Asserts]\nstatus ==\n",
         "7:10: expected a text between \" and \", a number, true, false, null or {{name}}, found the end of the line"},
        {REPLY "[Asserts]\nstatus == OK\n",
         "7:11: expected a text between \" and \", a number, true, false, null or {{name}}, found: OK"},
        {REPLY "[Asserts]\nstatus == 1x\n",
         "7:11: expected a number such as 10 or -0.5, found: 1x"},
        {REPLY "[Asserts]\nstatus < \"1\"\n", "7:10: expected a number or {{name}}, found: \"1\""},
        {REPLY "[Asserts]\nbody contains 1\n", "7:15: expected a text between \" and \", found: 1"},
        {REPLY "[Asserts]\nbody matches a\n",
         "7:14: expected an expression between / and /, or \" and \", found: a"},
        {REPLY "[Asserts]\nbody matches \"{{stock}}\"\n",
         "7:14: expected a text without {{ }}: it is the same for all customers"},
        {REPLY "[Asserts]\nbody exists 1\n", "7:13: expected the end of the line, found: 1"},
        {REPLY "[Asserts]\nbody == {{a}}\n",
         "7:11: expected a name that has a value here (stock, run), found: a"},
        {REPLY "[Asserts]\nbody == \"é\\q\"\n",
         "7:11: expected one of \\\" \\` \\# \\\\ \\: \\n \\t \\u{2603}, found: \\q\""},
    };

    assert_all(mistakes);
}

static void test_a_mistake_in_an_outcome_is_named(void **state) {
    static const struct mistake mistakes[] = {
        {ORDER "== outcome ==\nsold_out status == 1\n",
         "7:1: expected sold, soldout, busy or refused, found: sold_out status == 1"},
        {ORDER "== outcome ==\nsold status\n",
         "7:12: expected ==, !=, <, <=, >, >=, contains, startsWith, endsWith, matches, exists or isEmpty, found the end of the line"},
    };

    assert_all(mistakes);
}

#define WITNESS LEDGER "[Witness]\n"
#define BLOCK   WITNESS "table: t\nrows: true\nleft: n\n"

static void test_a_mistake_in_the_witness_is_named(void **state) {
    static const struct mistake mistakes[] = {
        {OUTCOME "== ledger command x ==\n[Witness]\n",
         "9:1: expected [Witness] in a ledger postgres only: it is a trigger there"},
        {BLOCK "[Witness]\n", "17:1: expected one [Witness], this is the second"},
        {WITNESS, "13:1: expected the lines table:, rows: and left: in [Witness]"},
        {WITNESS "table: t\nleft: n\n",
         "13:1: expected the lines table:, rows: and left: in [Witness]"},
        {WITNESS "row: true\n",
         "14:1: expected table:, rows: or left:, or [Orders], [Stock], [Writes] or [Witness], "
         "found: row: true"},
        {WITNESS "  left:  \n", "14:10: expected SQL after the colon, found the end of the line"},
        {BLOCK "rows: false\n", "17:1: expected one line `rows:`, this is the second"},
        {WITNESS "rows: a = {{n}}\n",
         "14:13: {{n}} has a value only for a customer, in prepare, order, commit and outcome"},
        {WITNESS "rows: a = {{oops}}\n",
         "14:13: expected a name that has a value here (stock, run), found: oops"},
    };

    assert_all(mistakes);
}

static void test_a_mistake_in_the_ledger_is_named(void **state) {
    static const struct mistake mistakes[] = {
        {OUTCOME "== ledger ==\n",
         "8:11: expected postgres CONNINFO or command COMMAND, found: =="},
        {OUTCOME "== ledger mysql db ==\n",
         "8:11: expected postgres CONNINFO or command COMMAND, found: mysql db =="},
        {OUTCOME "== ledger postgres ==\n", "8:20: expected a conninfo of libpq, found: =="},
        {OUTCOME "== ledger command ==\n", "8:19: expected a shell command, found: =="},
        {OUTCOME "== ledger postgres {{n}} ==\n",
         "8:22: {{n}} has a value only for a customer, in prepare, order, commit and outcome"},
        {OUTCOME "== ledger postgres db ==\nSELECT\n",
         "9:1: expected [Orders], [Stock], [Writes] or [Witness], found: SELECT"},
        {OUTCOME "== ledger postgres db ==\n",
         "9:1: expected the query [Orders] of the ledger, found the end of the file"},
        {OUTCOME "== ledger postgres db ==\n[Orders]\n[Stock]\n",
         "10:1: expected the text of the query, found: [Stock]"},
        {OUTCOME "== ledger postgres db ==\n[Orders]\nx\n",
         "11:1: expected the query [Stock] of the ledger, found the end of the file"},
        {OUTCOME "== ledger postgres db ==\n[Orders]\nx\n[Orders]\ny\n",
         "11:1: expected another query: this one is the second of its name"},
        {OUTCOME "== ledger postgres db ==\n[Stock]\nSELECT {{key}}\n",
         "10:10: {{key}} has a value only for a customer, in prepare, order, commit and outcome"},
    };

    assert_all(mistakes);
}

/* ---- limits */

static char large[2 * SHOP_FILE_BYTES];

/* `before`, `count` times `again`, and `after`. */
static int parse_many(const char *before, const char *again, size_t count, const char *after) {
    char *at = stpcpy(large, before);

    for (size_t i = 0; i < count; i++)
        at = stpcpy(at, again);
    (void)stpcpy(at, after);
    return parse(large);
}

static void test_more_than_a_list_may_have_is_refused(void **state) {
    static const struct {
        const char *before, *again, *after, *error;
    } lists[] = {
        {"shop A\n", "base http://a\n", "== order ==\nPOST /o\nHTTP *\n" REST,
         "a.shop:66:6: expected at most 64 bases"},
        {HEAD "== setup ==\n", "GET /\nHTTP 200\n", "== order ==\nPOST /o\nHTTP *\n" REST,
         "a.shop:132:1: expected at most 64 steps in a section"},
        {HEAD "== order ==\nPOST /o\n", "A: b\n", "HTTP *\n" REST,
         "a.shop:69:1: expected at most 64 of these lines"},
        {HEAD "== order ==\nPOST /o\nHTTP *\n[Captures]\n", "a: body\n", REST,
         "a.shop:71:1: expected at most 64 captures"},
        {HEAD "== order ==\nPOST /o\nHTTP *\n[Asserts]\n", "body exists\n", REST,
         "a.shop:71:1: expected at most 64 asserts"},
        {ORDER "== outcome ==\n", "sold body exists\n", LEDGER_ALONE,
         "a.shop:71:1: expected at most 64 outcomes"},
    };

    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
        if (parse_many(lists[i].before, lists[i].again, SHOP_ITEMS, lists[i].after) != 0)
            fail_msg("%s", why.text);
        shop_free(&shop);
        assert_int_equal(
            parse_many(lists[i].before, lists[i].again, SHOP_ITEMS + 1, lists[i].after), -1);
        assert_string_equal(why.text, lists[i].error);
    }
}

static void test_a_body_may_nest_so_deep_and_no_deeper(void **state) {
    char closed[2 * SHOP_NESTING] = "";

    memset(closed, ']', SHOP_NESTING);
    strcat(closed, "\nHTTP *\n");
    assert_int_equal(parse_many(HEAD "== order ==\nPOST /o\n", "[", SHOP_NESTING, closed), -1);
    assert_string_equal(why.text, "a.shop:7:1: expected a section outcome");
    assert_int_equal(parse_many(HEAD "== order ==\nPOST /o\n", "[", SHOP_NESTING + 1, closed), -1);
    assert_string_equal(why.text, "a.shop:5:65: expected at most 64 levels of { and [");
    assert_int_equal(parse_many(HEAD "== order ==\nPOST /o\n", "[", SHOP_FILE_BYTES - 100, ""), -1);
    assert_string_equal(why.text, "a.shop:5:65: expected at most 64 levels of { and [");
}

static void test_names_are_short_and_few(void **state) {
    char name[16], file[16 * 1024] = SETUP, *at = file + strlen(file);

    assert_int_equal(parse_many("set ", "a", SHOP_NAME_BYTES + 1, " b\n"), -1);
    assert_string_equal(
        why.text, "a.shop:1:5: expected a name of at most 64 letters, digits, _ and -, found: "
                  "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa…");
    assert_int_equal(parse_many("set a {{", "a", SHOP_NAME_BYTES + 1, "}}\n"), -1);
    assert_string_equal(why.text, "a.shop:1:9: expected a name of at most 64 characters");
    for (int i = 0; i < 300; i++) {
        if (i % SHOP_ITEMS == 0)
            at = stpcpy(at, "GET /\nHTTP 200\n[Captures]\n");
        (void)snprintf(name, sizeof name, "a%d: body\n", i);
        at = stpcpy(at, name);
    }
    assert_int_equal(parse(file), -1);
    assert_string_equal(why.text, "a.shop:268:1: expected at most 256 names in a file");
}

static void test_a_file_has_a_size_that_is_read_in_one_piece(void **state) {
    static const char path[] = "/tmp/test_shop_errors.shop";
    FILE *to = fopen(path, "w");

    assert_non_null(to);
    for (int i = 0; i <= SHOP_FILE_BYTES; i++)
        assert_int_not_equal(fputc('#', to), EOF);
    assert_int_equal(fclose(to), 0);
    assert_int_equal(shop_read(&shop, path, &why), -1);
    assert_string_equal(why.text, "/tmp/test_shop_errors.shop: expected a file of at most 256 KiB");
    assert_int_equal(unlink(path), 0);
    assert_int_equal(shop_read(&shop, path, &why), -1);
    assert_string_equal(why.text, "/tmp/test_shop_errors.shop: No such file or directory");
    assert_int_equal(shop_read(&shop, "/tmp", &why), -1);
    assert_string_equal(why.text, "/tmp: Is a directory");
}

static void read_ledger_file(void *arg) {
    if (parse(LEDGER) != 0) {
        assert_string_equal(why.text, "a.shop: out of memory");
        assert_null(shop.memory);
    }
    shop_free(&shop);
}

static void test_without_memory_nothing_is_left(void **state) {
    fault_each_allocation(read_ledger_file, NULL);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_mistake_in_the_head_is_named),
        cmocka_unit_test(test_a_mistake_in_a_value_is_named),
        cmocka_unit_test(test_a_mistake_in_the_order_of_sections_is_named),
        cmocka_unit_test(test_a_mistake_in_a_request_is_named),
        cmocka_unit_test(test_a_mistake_in_a_body_is_named),
        cmocka_unit_test(test_a_mistake_in_a_block_is_named),
        cmocka_unit_test(test_a_mistake_in_a_reply_is_named),
        cmocka_unit_test(test_a_mistake_in_an_assert_is_named),
        cmocka_unit_test(test_a_mistake_in_an_outcome_is_named),
        cmocka_unit_test(test_a_mistake_in_the_witness_is_named),
        cmocka_unit_test(test_a_mistake_in_the_ledger_is_named),
        cmocka_unit_test(test_more_than_a_list_may_have_is_refused),
        cmocka_unit_test(test_a_body_may_nest_so_deep_and_no_deeper),
        cmocka_unit_test(test_names_are_short_and_few),
        cmocka_unit_test(test_a_file_has_a_size_that_is_read_in_one_piece),
        cmocka_unit_test(test_without_memory_nothing_is_left),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
