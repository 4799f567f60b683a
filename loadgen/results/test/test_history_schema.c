/* history.schema.json and docs/history.md have the members of the tables, and no others. */
#include "history_fields.h"
#include "test.h"

#include <string.h>

#define SCHEMA "loadgen/results/history.schema.json"
#define DOC    "docs/history.md"

/* ---- the schema of a table */

static json_t *words_of(const struct history_field *field) {
    json_t *words = json_array();

    for (int64_t i = 0; i <= field->high; i++)
        assert_int_equal(json_array_append_new(words, json_string(field->words[i])), 0);
    return json_pack("{s:o}", "enum", words);
}

/* Of a structure's text: the reader cuts a longer one, so the schema has no length. */
static json_t *schema_of_value(const struct history_field *field) {
    switch (field->type) {
    case HISTORY_STRING:
    case HISTORY_NAME:
        return json_pack("{s:s}", "type", "string");
    case HISTORY_MOMENT:
        return json_pack("{s:s, s:s}", "type", "string", "pattern",
                         "^([0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}[.][0-9]{6}Z)?$");
    case HISTORY_ID:
    case HISTORY_KEY:
    case HISTORY_ANSWER:
    case HISTORY_OWNED:
        return json_pack("{s:s, s:s}", "type", "string", "pattern", "^[!#-\\[\\]-~]{1,128}$");
    case HISTORY_UUID:
        return json_pack("{s:s, s:s}", "type", "string", "pattern",
                         "^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$");
    case HISTORY_NUMBER:
        return json_pack("{s:s, s:I, s:I}", "type", "integer", "minimum", (json_int_t)field->low,
                         "maximum", (json_int_t)field->high);
    case HISTORY_WORD:
        return words_of(field);
    case HISTORY_FLAG:
        return json_pack("{s:s}", "type", "boolean");
    case HISTORY_JSON:
        return json_pack("{s:[s,s]}", "type", "array", "object");
    }
    return NULL;
}

static json_t *schema_of(const char *type, const struct history_field *fields) {
    json_t *required = json_pack("[s]", "type");
    json_t *properties = json_pack("{s:{s:s}}", "type", "const", type);

    for (; fields->key != NULL; fields++) {
        assert_int_equal(json_object_set_new(properties, fields->key, schema_of_value(fields)), 0);
        if (!fields->is_optional)
            assert_int_equal(json_array_append_new(required, json_string(fields->key)), 0);
    }
    return json_pack("{s:s, s:b, s:o, s:o}", "type", "object", "additionalProperties", 0,
                     "required", required, "properties", properties);
}

/* ---- comparing */

/* The schema describes its members for people; the tables do not. */
static void forget_descriptions(json_t *json) {
    const char *key;
    json_t *value;

    json_object_foreach (json, key, value) {
        json_t *properties = json_object_get(value, "properties");
        const char *member;
        json_t *of;

        (void)json_object_del(value, "description");
        json_object_foreach (properties, member, of)
            (void)json_object_del(of, "description");
    }
}

static void assert_in_schema(json_t *definitions, const char *name, const char *type,
                             const struct history_field *fields) {
    json_t *wanted = schema_of(type, fields), *found = json_object_get(definitions, name);
    char *text = json_dumps(wanted, JSON_INDENT(2));

    if (!json_equal(wanted, found))
        fail_msg(SCHEMA " must have under $defs\n\"%s\": %s", name, text);
    free(text);
    json_decref(wanted);
}

static void test_the_schema_has_the_members_of_the_tables(void **state) {
    const struct {
        const char *type;
        const struct history_field *fields;
    } lines[] = {{"run", history_run},         {"round", history_round},
                 {"request", history_request}, {"event", history_event},
                 {"product", history_product}, {"clock", history_clock},
                 {"doubt", history_doubt},     {"end", history_end}};
    json_error_t error;
    json_t *schema = json_load_file(SCHEMA, 0, &error), *definitions;
    char name[40];

    if (schema == NULL)
        fail_msg(SCHEMA ": line %d: %s", error.line, error.text);
    definitions = json_object_get(schema, "$defs");
    forget_descriptions(definitions);
    for (int i = 0; i < LOAD_LINES; i++) {
        snprintf(name, sizeof name, "load_%s", load_lines[i].type);
        assert_in_schema(definitions, name, load_lines[i].type, load_lines[i].fields);
    }
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
        snprintf(name, sizeof name, "run_%s", lines[i].type);
        assert_in_schema(definitions, name, lines[i].type, lines[i].fields);
    }
    for (size_t i = 0; i < HISTORY_ROWS; i++) {
        snprintf(name, sizeof name, "run_%s", history_rows[i].type);
        assert_in_schema(definitions, name, history_rows[i].type, history_rows[i].fields);
    }
    json_decref(schema);
}

/* ---- the document */

/* The part of the document under the heading. The caller frees it. */
static char *read_part(const char *heading) {
    FILE *from = fopen(DOC, "r");
    char *text = calloc(1, 65536), *part, *end;

    assert_non_null(from);
    assert_non_null(text);
    assert_true(fread(text, 1, 65535, from) > 0);
    assert_int_equal(fclose(from), 0);
    part = strstr(text, heading);
    if (part == NULL)
        fail_msg(DOC " has no heading%s", heading);
    end = strstr(part + 1, "\n#");
    part = strndup(part, end != NULL ? (size_t)(end - part) : strlen(part));
    free(text);
    return part;
}

/* A row for each member, in the order of the table. */
static void test_the_document_has_the_members_of_the_tables(void **state) {
    char heading[40], row[80];

    for (int i = 0; i < LOAD_LINES; i++) {
        const struct history_field *field = load_lines[i].fields;
        char *part, *at;

        snprintf(heading, sizeof heading, "\n### `%s`\n", load_lines[i].type);
        at = part = read_part(heading);
        for (; field->key != NULL; field++) {
            snprintf(row, sizeof row, "\n| `%s` | %s | ", field->key,
                     field->is_optional ? "optional" : "required");
            at = strstr(at, row);
            if (at == NULL)
                fail_msg(DOC " has not, in this order, under `%s`:%s", load_lines[i].type, row);
            at++;
        }
        if (strncmp(at + strcspn(at, "\n"), "\n| `", 4) == 0)
            fail_msg(DOC " has more members under `%s`", load_lines[i].type);
        free(part);
    }
}

static void test_the_document_has_each_outcome(void **state) {
    char *part = read_part("\n### `request`\n"), word[40];

    for (int i = 0; i < RECORD_OUTCOME_COUNT; i++) {
        snprintf(word, sizeof word, "`%s`", record_outcome_name((enum record_outcome)i));
        assert_non_null(strstr(part, word));
    }
    free(part);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_schema_has_the_members_of_the_tables),
        cmocka_unit_test(test_the_document_has_the_members_of_the_tables),
        cmocka_unit_test(test_the_document_has_each_outcome),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
