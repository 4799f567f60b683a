/* See query.h. */
#include "query.h"

#include "text.h"

#include <stdio.h>
#include <string.h>

#define COUNT(table) (sizeof(table) / sizeof *(table))

#define X(id, name)  name,
static const char *const query_names[] = {SHOP_QUERIES(X)};
static const char *const predicate_names[] = {SHOP_PREDICATES(X)};
#undef X

/* Of Hurl, and not of a shop file. */
static const char *const other_queries[] = {"url",   "xpath",     "variable", "duration",
                                            "bytes", "sha256",    "md5",      "certificate",
                                            "ip",    "redirects", "version",  "rawbytes"};
static const struct {
    const char *name, *instead;
} other_predicates[] = {
    {"equals", "write =="},
    {"notEquals", "write !="},
    {"greaterThan", "write >"},
    {"greaterThanOrEquals", "write >="},
    {"lessThan", "write <"},
    {"lessThanOrEquals", "write <="},
    {"includes", "use jq with any()"},
    {"count", "use jq with length"},
    {"isInteger", "use jq"},
    {"isFloat", "use jq"},
    {"isBoolean", "use jq"},
    {"isString", "use jq"},
    {"isNumber", "use jq"},
    {"isCollection", "use jq"},
    {"isList", "use jq"},
    {"isObject", "use jq"},
    {"isDate", "use jq"},
    {"isIsoDate", "use jq"},
    {"isIpv4", "use matches"},
    {"isIpv6", "use matches"},
    {"isUuid", "use matches"},
};

/* ---- the argument of a query */

/* Between / and /, in which \/ is a /. */
static int read_slashes(struct reader *reader, struct shop_text *text) {
    const char *begin = reader->at++;
    char *bytes = memory_take(reader->memory, (size_t)(reader->line_end - begin) + 1);
    size_t length = 0;

    if (bytes == NULL)
        return reader_no_memory(reader);
    while (reader->at < reader->line_end && *reader->at != '/') {
        if (reader->at[0] == '\\' && reader->at[1] == '/')
            reader->at++;
        else if (reader->at[0] == '\\' && reader->at + 1 < reader->line_end)
            bytes[length++] = *reader->at++;
        bytes[length++] = *reader->at++;
    }
    if (reader->at == reader->line_end)
        return reader_fail(reader, begin,
                           "expected a / that ends this expression, in the same line");
    if (length == 0)
        return reader_fail(reader, begin, "expected an expression that is not empty");
    reader->at++;
    return text_literal(reader, bytes, length, text);
}

/* A text that must be known before any customer, because it is compiled once. */
static int read_constant(struct reader *reader, bool is_expression, struct shop_text *text) {
    const char *begin = reader->at;

    if (is_expression && *reader->at == '/')
        return read_slashes(reader, text);
    if (*reader->at != '"')
        return reader_expected(reader, begin,
                               is_expression ? "an expression between / and /, or \" and \""
                                             : "a text between \" and \"");
    if (text_read_quoted(reader, '"', text) != 0)
        return -1;
    if (!text_is_literal(text))
        return reader_fail(reader, begin,
                           "expected a text without {{ }}: it is the same for all "
                           "customers");
    return text->count > 0 ? 0 : reader_fail(reader, begin, "expected a text that is not empty");
}

/* The rest of a JSONPath after one part, or NULL. */
static const char *path_part_end(const char *at) {
    size_t length;

    if (*at == '.') {
        length = strcspn(at + 1, ".[]'\"()*?@ \t\n");
        return length > 0 ? at + 1 + length : NULL;
    }
    if (*at != '[')
        return NULL;
    at++;
    if (*at == '\'' || *at == '"') {
        length = strcspn(at + 1, *at == '\'' ? "'" : "\"");
        return length > 0 && at[1 + length] == *at && at[2 + length] == ']' ? at + length + 3
                                                                            : NULL;
    }
    length = strspn(at, "0123456789");
    return length > 0 && length < 9 && at[length] == ']' ? at + length + 1 : NULL;
}

static int check_path(struct reader *reader, const char *begin, const struct shop_text *text) {
    const char *at = text->parts[0].text;

    if (*at == '$')
        for (at++; at != NULL && *at != '\0';)
            at = path_part_end(at);
    else
        at = NULL;
    return at != NULL ? 0
                      : reader_expected(reader, begin,
                                        "a path of $ and then .name, [0] or ['name'] (jq can do "
                                        "more)");
}

static int check_cookie(struct reader *reader, const char *begin, const struct shop_text *text) {
    for (size_t i = 0; i < text->count; i++)
        if (text->parts[i].kind == SHOP_LITERAL && strchr(text->parts[i].text, '[') != NULL)
            return reader_fail(reader, begin,
                               "expected the name of a cookie; its attributes cannot be asked for");
    return text->count > 0 ? 0 : reader_fail(reader, begin, "expected a text that is not empty");
}

static int read_argument(struct reader *reader, struct shop_query *query) {
    const char *begin;

    reader_skip_blanks(reader);
    begin = reader->at;
    switch (query->kind) {
    case SHOP_QUERY_STATUS:
    case SHOP_QUERY_BODY:
        break;
    case SHOP_QUERY_HEADER:
    case SHOP_QUERY_COOKIE:
        if (*reader->at != '"')
            return reader_expected(reader, reader->at, "a name between \" and \"");
        return text_read_quoted(reader, '"', &query->argument) != 0
                   ? -1
                   : check_cookie(reader, begin, &query->argument);
    case SHOP_QUERY_JSONPATH:
        return read_constant(reader, false, &query->argument) != 0
                   ? -1
                   : check_path(reader, begin, &query->argument);
    case SHOP_QUERY_JQ:
        return read_constant(reader, false, &query->argument);
    case SHOP_QUERY_REGEX:
        return read_constant(reader, true, &query->argument);
    }
    return 0;
}

int query_read(struct reader *reader, struct shop_query *query) {
    *query = (struct shop_query){.kind = SHOP_QUERY_STATUS};
    for (size_t i = 0; i < COUNT(query_names); i++)
        if (reader_at_word(reader, query_names[i])) {
            query->kind = (enum shop_query_kind)i;
            reader->at += strlen(query_names[i]);
            return read_argument(reader, query);
        }
    for (size_t i = 0; i < COUNT(other_queries); i++)
        if (reader_at_word(reader, other_queries[i]))
            return reader_fail(
                reader, reader->at,
                "Hurl's query %s is not known here: use status, body, header, cookie, "
                "jsonpath, jq or regex",
                other_queries[i]);
    return reader_expected(reader, reader->at,
                           "status, body, header, cookie, jsonpath, jq or regex");
}

/* ---- predicates */

static bool at_number(const struct reader *reader) {
    const char digit = reader->at[reader->at[0] == '-'];

    return digit >= '0' && digit <= '9';
}

static int read_number(struct reader *reader, struct shop_predicate *predicate) {
    const char *begin = reader->at, *at = begin + (*begin == '-');

    at += strspn(at, "0123456789");
    if (at[0] == '.' && at[1] >= '0' && at[1] <= '9')
        at += 1 + strspn(at + 1, "0123456789");
    if (*at != '\0' && strchr(" \t\n", *at) == NULL)
        return reader_expected(reader, begin, "a number such as 10 or -0.5");
    predicate->operand = SHOP_NUMBER;
    reader->at = at;
    return text_literal(reader, begin, (size_t)(at - begin), &predicate->text);
}

static int read_word_operand(struct reader *reader, struct shop_predicate *predicate) {
    static const struct {
        const char *word;
        enum shop_operand_kind kind;
    } words[] = {{"true", SHOP_TRUE}, {"false", SHOP_FALSE}, {"null", SHOP_NULL}};

    for (size_t i = 0; i < COUNT(words); i++)
        if (reader_at_word(reader, words[i].word)) {
            predicate->operand = words[i].kind;
            reader->at += strlen(words[i].word);
            return 0;
        }
    return reader_expected(reader, reader->at,
                           "a text between \" and \", a number, true, false, null or {{name}}");
}

static int read_any_operand(struct reader *reader, struct shop_predicate *predicate) {
    const char *begin = reader->at;

    if (*begin == '"') {
        predicate->operand = SHOP_TEXT;
        return text_read_quoted(reader, '"', &predicate->text);
    }
    if (at_number(reader))
        return read_number(reader, predicate);
    if (strncmp(begin, "{{", 2) == 0) {
        const char *name;

        if (text_read_name(reader, &name) != 0)
            return -1;
        predicate->operand = SHOP_VALUE;
        return text_read(reader, begin, reader->at, TEXT_VERBATIM, &predicate->text);
    }
    return read_word_operand(reader, predicate);
}

static int read_quoted_operand(struct reader *reader, struct shop_predicate *predicate) {
    if (*reader->at != '"')
        return reader_expected(reader, reader->at, "a text between \" and \"");
    predicate->operand = SHOP_TEXT;
    return text_read_quoted(reader, '"', &predicate->text);
}

/* For < and its like: a text would be compared letter by letter. */
static int read_size_operand(struct reader *reader, struct shop_predicate *predicate) {
    if (!at_number(reader) && strncmp(reader->at, "{{", 2) != 0)
        return reader_expected(reader, reader->at, "a number or {{name}}");
    return read_any_operand(reader, predicate);
}

static int read_operand(struct reader *reader, struct shop_predicate *predicate) {
    reader_skip_blanks(reader);
    switch (predicate->kind) {
    case SHOP_EQUAL:
    case SHOP_NOT_EQUAL:
        return read_any_operand(reader, predicate);
    case SHOP_LESS:
    case SHOP_LESS_OR_EQUAL:
    case SHOP_GREATER:
    case SHOP_GREATER_OR_EQUAL:
        return read_size_operand(reader, predicate);
    case SHOP_CONTAINS:
    case SHOP_STARTS_WITH:
    case SHOP_ENDS_WITH:
        return read_quoted_operand(reader, predicate);
    case SHOP_MATCHES:
        predicate->operand = SHOP_TEXT;
        return read_constant(reader, true, &predicate->text);
    case SHOP_EXISTS:
    case SHOP_IS_EMPTY:
        break;
    }
    return 0;
}

static int refuse_predicate(struct reader *reader) {
    for (size_t i = 0; i < COUNT(other_predicates); i++)
        if (reader_at_word(reader, other_predicates[i].name))
            return reader_fail(reader, reader->at, "Hurl's %s is not known here: %s",
                               other_predicates[i].name, other_predicates[i].instead);
    return reader_expected(
        reader, reader->at,
        "==, !=, <, <=, >, >=, contains, startsWith, endsWith, matches, exists or "
        "isEmpty");
}

int predicate_read(struct reader *reader, struct shop_predicate *predicate) {
    *predicate = (struct shop_predicate){.operand = SHOP_NO_OPERAND};
    reader_skip_blanks(reader);
    if (reader_at_word(reader, "not")) {
        predicate->is_negated = true;
        reader->at += strlen("not");
        reader_skip_blanks(reader);
    }
    for (size_t i = 0; i < COUNT(predicate_names); i++)
        if (reader_at_word(reader, predicate_names[i])) {
            predicate->kind = (enum shop_predicate_kind)i;
            reader->at += strlen(predicate_names[i]);
            return read_operand(reader, predicate);
        }
    return refuse_predicate(reader);
}
