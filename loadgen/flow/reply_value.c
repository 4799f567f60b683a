/* See reply_value.h. jansson keeps whole numbers of 64 bits as they are, jq makes doubles of them,
 * so a jsonpath is not a program of jq. */
#include "reply_value.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static enum jq_result kind_of(const json_t *json) {
    switch (json_typeof(json)) {
    case JSON_OBJECT:
        return JQ_OBJECT;
    case JSON_ARRAY:
        return JQ_LIST;
    case JSON_STRING:
        return JQ_TEXT;
    case JSON_INTEGER:
    case JSON_REAL:
        return JQ_NUMBER;
    case JSON_TRUE:
        return JQ_TRUE;
    case JSON_FALSE:
        return JQ_FALSE;
    case JSON_NULL:
        return JQ_NULL;
    }
    return JQ_NOTHING;
}

static bool put(struct reply_value *value, enum jq_result kind, const char *text, size_t length) {
    value->kind = kind;
    return buffer_append(&value->text, text, length);
}

/* ---- jsonpath: the file's parser has checked its form */

static const json_t *path_part(const json_t *json, const char **path) {
    const char *at = *path, quote = at[0] == '[' && strchr("'\"", at[1]) != NULL ? at[1] : '\0';
    const json_t *part;
    size_t length;

    if (*at == '[' && quote == '\0') {
        part = json_array_get(json, strtoul(at + 1, NULL, 10));
        *path = at + strcspn(at, "]") + 1;
        return part;
    }
    at += quote != '\0' ? 2 : 1;
    length = quote != '\0' ? strcspn(at, (char[]){quote, '\0'}) : strcspn(at, ".[");
    part = json_object_getn(json, at, length);
    *path = at + length + (quote != '\0' ? 2 : 0);
    return part;
}

static bool find_by_path(const json_t *json, const char *path, struct reply_value *value) {
    char *text;
    bool is_ok;

    for (path++; json != NULL && *path != '\0';) /* behind the $ */
        json = path_part(json, &path);
    if (json == NULL)
        return true;
    if (json_is_string(json))
        return put(value, JQ_TEXT, json_string_value(json), json_string_length(json));
    text = json_dumps(json, JSON_ENCODE_ANY | JSON_COMPACT);
    is_ok = text != NULL && put(value, kind_of(json), text, strlen(text));
    free(text);
    return is_ok;
}

/* ---- the other queries */

static bool find_status(const struct web_request *request, struct reply_value *value) {
    char digits[16];

    (void)snprintf(digits, sizeof digits, "%d", request->status);
    return put(value, JQ_NUMBER, digits, strlen(digits));
}

static bool find_by_name(const struct reply_view *reply, const struct shop_query *query,
                         struct reply_value *value) {
    struct buffer name = {0};
    struct why why;
    const char *found;
    size_t length;
    int code = -1;

    if (values_fill(reply->values, &query->argument, FILL_AS_IS, &name, &why) != 0)
        goto end;
    if (query->kind == SHOP_QUERY_COOKIE) {
        code = web_visitor_cookie(reply->visitor, name.bytes, &value->text);
        value->kind = code > 0 ? JQ_TEXT : JQ_NOTHING;
        goto end;
    }
    code = 0;
    found = web_reply_header(reply->request, name.bytes, NULL, &length);
    if (found != NULL && !put(value, JQ_TEXT, found, length))
        code = -1;
end:
    buffer_free(&name);
    return code >= 0;
}

static bool find(const struct reply_view *reply, const struct shop_query *query,
                 struct jq_program *program, struct reply_value *value) {
    const struct buffer *body = &reply->request->reply;
    const char *bytes = body->length > 0 ? body->bytes : "";

    switch (query->kind) {
    case SHOP_QUERY_STATUS:
        return find_status(reply->request, value);
    case SHOP_QUERY_BODY:
        return put(value, JQ_TEXT, bytes, body->length);
    case SHOP_QUERY_HEADER:
    case SHOP_QUERY_COOKIE:
        return find_by_name(reply, query, value);
    case SHOP_QUERY_JSONPATH:
        return reply->json == NULL ||
               find_by_path(reply->json, query->argument.parts[0].text, value);
    case SHOP_QUERY_JQ:
        if (reply->json != NULL)
            value->kind = jq_program_run(program, bytes, body->length, &value->text);
        return true;
    case SHOP_QUERY_REGEX:
        value->kind = jq_program_run_text(program, bytes, body->length, &value->text);
        if (value->kind == JQ_NULL) /* it matches, without the group */
            value->kind = JQ_NOTHING;
        return true;
    }
    return true;
}

bool reply_value_find(const struct reply_view *reply, const struct shop_query *query,
                      struct jq_program *program, struct reply_value *value) {
    *value = (struct reply_value){.kind = JQ_NOTHING};
    return find(reply, query, program, value) && buffer_append(&value->text, "", 1) &&
           value->text.length-- > 0;
}

/* ---- predicates */

static bool read_whole(const char *text, long long *number) {
    char *end;

    errno = 0;
    *number = strtoll(text, &end, 10);
    return errno == 0 && end != text && *end == '\0';
}

static bool read_number(const char *text, double *number) {
    char *end;

    *number = strtod(text, &end);
    return end != text && *end == '\0';
}

/* -1, 0, 1; or 2: one of them is no number. Whole numbers are compared exactly. */
static int compare_numbers(const char *left, const char *right) {
    long long i, j;
    double a, b;

    if (read_whole(left, &i) && read_whole(right, &j))
        return (i > j) - (i < j);
    if (!read_number(left, &a) || !read_number(right, &b))
        return 2;
    return (a > b) - (a < b);
}

static bool equals(const struct reply_value *value, enum shop_operand_kind operand,
                   const char *text) {
    const bool is_same = strcmp(value->text.bytes, text) == 0 &&
                         strlen(text) == value->text.length; /* no NUL hides the rest */

    switch (operand) {
    case SHOP_TEXT:
        return value->kind == JQ_TEXT && is_same;
    case SHOP_NUMBER:
        return value->kind == JQ_NUMBER && compare_numbers(value->text.bytes, text) == 0;
    case SHOP_TRUE:
        return value->kind == JQ_TRUE;
    case SHOP_FALSE:
        return value->kind == JQ_FALSE;
    case SHOP_NULL:
        return value->kind == JQ_NULL;
    case SHOP_VALUE:
        return is_same || compare_numbers(value->text.bytes, text) == 0;
    case SHOP_NO_OPERAND:
        break;
    }
    return false;
}

static bool ends_with(const char *text, const char *end) {
    const size_t length = strlen(text), end_length = strlen(end);

    return length >= end_length && strcmp(text + length - end_length, end) == 0;
}

static bool is_empty(const struct reply_value *value) {
    return value->kind == JQ_TEXT ? value->text.length == 0
           : value->kind == JQ_LIST
               ? strcmp(value->text.bytes, "[]") == 0
               : value->kind == JQ_OBJECT && strcmp(value->text.bytes, "{}") == 0;
}

static bool matches(const struct reply_value *value, struct jq_program *program) {
    struct buffer found = {0};
    const bool is_match =
        jq_program_run_text(program, value->text.bytes, value->text.length, &found) != JQ_NOTHING;

    buffer_free(&found);
    return is_match;
}

static bool holds(const struct reply_value *value, const struct shop_predicate *predicate,
                  struct jq_program *program, const char *text) {
    const char *own = value->text.bytes;
    const bool is_text = value->kind == JQ_TEXT;
    const int order = value->kind == JQ_NUMBER ? compare_numbers(own, text) : 2;

    switch (predicate->kind) {
    case SHOP_EQUAL:
        return equals(value, predicate->operand, text);
    case SHOP_NOT_EQUAL:
        return !equals(value, predicate->operand, text);
    case SHOP_LESS:
        return order < 0;
    case SHOP_LESS_OR_EQUAL:
        return order <= 0;
    case SHOP_GREATER:
        return order == 1;
    case SHOP_GREATER_OR_EQUAL:
        return order == 0 || order == 1;
    case SHOP_CONTAINS:
        return is_text && strstr(own, text) != NULL;
    case SHOP_STARTS_WITH:
        return is_text && strncmp(own, text, strlen(text)) == 0;
    case SHOP_ENDS_WITH:
        return is_text && ends_with(own, text);
    case SHOP_MATCHES:
        return is_text && matches(value, program);
    case SHOP_EXISTS:
        return true;
    case SHOP_IS_EMPTY:
        return is_empty(value);
    }
    return false;
}

bool reply_value_meets(const struct reply_value *value, const struct shop_predicate *predicate,
                       struct jq_program *program, const struct values *values) {
    struct buffer text = {0};
    struct why why;
    bool result = false;

    if (value->kind == JQ_NOTHING)
        return predicate->kind == SHOP_EXISTS && predicate->is_negated;
    if (values_fill(values, &predicate->text, FILL_AS_IS, &text, &why) == 0)
        result = holds(value, predicate, program, text.bytes) != predicate->is_negated;
    buffer_free(&text);
    return result;
}
