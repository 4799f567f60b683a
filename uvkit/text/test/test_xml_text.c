/* Any text stays text in XML. */
#include "test.h"
#include "xml_text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void assert_put(const char *text, bool is_attribute, const char *expected) {
    char *put = NULL;
    size_t size;
    FILE *to = open_memstream(&put, &size);

    assert_non_null(to);
    xml_text_put(text, is_attribute, to);
    assert_int_equal(fclose(to), 0);
    assert_string_equal(put, expected);
    free(put);
}

static void test_what_xml_means_is_escaped(void **state) {
    assert_put("<&\"'> \t\n 黄 ]]>", true, "&lt;&amp;&quot;'&gt; &#9;&#10; 黄 ]]&gt;");
    assert_put("<x>\r\n\"", false, "&lt;x&gt;&#13;\n\"");
}

static void test_what_xml_forbids_is_replaced(void **state) {
    assert_put("\033\f\xff\xef\xbf\xbe\xef\xbf\xbf", false,
               "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd");
    assert_put("\xe9\xbb", true, "\xef\xbf\xbd\xef\xbf\xbd"); /* a cut character */
}

int main(void) {
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_xml_means_is_escaped),
        cmocka_unit_test(test_what_xml_forbids_is_replaced),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
