/* See step.h. */
#include "step.h"

#include "json_body.h"
#include "query.h"
#include "text.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#define METHOD_BYTES 16
#define NAMES        256
#define FENCE        "```"

/* ---- lines */

enum line_kind {
    LINE_END, /* of the section */
    LINE_BRACKET,
    LINE_RESPONSE,
    LINE_REQUEST,
    LINE_BODY,
    LINE_OTHER,
};

static bool is_upper(char c) {
    return c >= 'A' && c <= 'Z';
}

static size_t upper_length(const char *at) {
    size_t length = 0;

    while (is_upper(at[length]))
        length++;
    return length;
}

static bool begins(const struct reader *reader, const char *prefix) {
    return strncmp(reader->at, prefix, strlen(prefix)) == 0;
}

/* [Word] alone is a part of a request; any other [ begins JSON. */
static bool at_bracket(const struct reader *reader) {
    const size_t letters =
        strspn(reader->at + 1, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz");

    return reader->at[0] == '[' && is_upper(reader->at[1]) && reader->at[1 + letters] == ']';
}

static bool at_request(const struct reader *reader) {
    const size_t length = upper_length(reader->at);
    const char *rest = reader->at + length;

    if (length == 0 || !reader_is_blank(*rest))
        return false;
    rest += strspn(rest, " \t");
    return *rest != ':' && *rest != '\n' && *rest != '\0';
}

static enum line_kind next_line(struct reader *reader) {
    if (!reader_next(reader) || step_at_section(reader))
        return LINE_END;
    if (at_bracket(reader))
        return LINE_BRACKET;
    if (begins(reader, "HTTP") && reader->at[4] != '\0' && strchr(" \t\n/", reader->at[4]) != NULL)
        return LINE_RESPONSE;
    if (at_request(reader))
        return LINE_REQUEST;
    if (strchr("{[\"`<", *reader->at) != NULL || begins(reader, "base64,") ||
        begins(reader, "hex,") || begins(reader, "file,"))
        return LINE_BODY;
    return LINE_OTHER;
}

/* ---- fields */

/* A name of a header has fewer characters than one of a form. */
static bool is_of_key(char c, bool is_header) {
    return (c >= 'a' && c <= 'z') || is_upper(c) || (c >= '0' && c <= '9') ||
           (c != '\0' && strchr(is_header ? "_-." : "_-.[]@$", c) != NULL);
}

/* Behind the {{name}}, escape or character of a key; NULL if there is none. */
static const char *key_part_end(const char *at, bool is_header) {
    if (strncmp(at, "{{", 2) == 0) {
        at += strcspn(at, "}\n");
        return strncmp(at, "}}", 2) == 0 ? at + 2 : NULL;
    }
    if (*at == '\\' && !is_header) {
        at += 1 + (at[1] != '\n' && at[1] != '\0');
        if (at[-1] == 'u') {
            at += strcspn(at, "}\n");
            at += *at == '}';
        }
        return at;
    }
    return is_of_key(*at, is_header) ? at + 1 : NULL;
}

/* The : behind a key; NULL if there is none. */
static const char *key_end(const struct reader *reader, bool is_header) {
    const char *at = reader->at, *next;

    while ((next = key_part_end(at, is_header)) != NULL)
        at = next;
    return at > reader->at && *at == ':' ? at : NULL;
}

static int read_field(struct reader *reader, enum text_form form, const char *what,
                      struct shop_fields *fields) {
    const char *colon = key_end(reader, form == TEXT_LINE);
    struct shop_field *items, *field;

    if (colon == NULL)
        return reader_expected(reader, reader->at, what);
    items = reader_grow(reader, fields->items, fields->count, sizeof *items, "of these lines");
    if (items == NULL)
        return -1;
    fields->items = items;
    field = &items[fields->count++];
    if (text_read(reader, reader->at, colon, TEXT_LINE, &field->name) != 0)
        return -1;
    reader->at = colon + 1;
    reader_skip_blanks(reader);
    if (text_read_value(reader, form, &field->value) != 0)
        return -1;
    return reader_finish_line(reader);
}

/* ---- bodies */

static int begin_body(struct reader *reader, struct shop_step *step, enum shop_body_kind kind,
                      const char *content_type) {
    if (step->body_kind != SHOP_NO_BODY)
        return reader_fail(reader, reader->at,
                           "expected HTTP and a status: this request has a form already");
    step->body_kind = kind;
    step->content_type = content_type;
    return 0;
}

static int read_json(struct reader *reader, struct shop_step *step) {
    const char *begin = reader->at, *end = json_body_end(reader);

    if (end == NULL || begin_body(reader, step, SHOP_BODY_TEXT, "application/json") != 0 ||
        text_read(reader, begin, end, TEXT_JSON, &step->body) != 0)
        return -1;
    reader->at = end;
    reader->line_end = end + strcspn(end, "\n");
    return reader_finish_line(reader);
}

/* The variables of a GraphQL body: from a line that begins with `variables {`. */
static const char *find_variables(const char *from, const char *to) {
    static const char word[] = "variables";

    for (const char *line = from; line < to; line += strcspn(line, "\n") + 1) {
        const char *at = line + strspn(line, " \t");

        if (strncmp(at, word, strlen(word)) == 0 &&
            at[strlen(word) + strspn(at + strlen(word), " \t")] == '{')
            return at;
    }
    return NULL;
}

static int read_graphql(struct reader *reader, struct shop_step *step, const char *from,
                        const char *to) {
    const char *word = find_variables(from, to), *variables = NULL, *end = NULL;

    if (word == NULL)
        return text_read_graphql(reader, from, to, NULL, NULL, &step->body);
    variables = reader->at = word + strcspn(word, "{");
    end = json_body_end(reader);
    if (end == NULL)
        return -1;
    if (end > to || end + strspn(end, " \t\n") < to)
        return reader_expected(reader, end, "``` after the variables");
    return text_read_graphql(reader, from, word, variables, end, &step->body);
}

/* The line of the closing ```, or NULL. */
static const char *fence_end(const char *from, const char *to) {
    for (const char *line = from; line < to; line += strcspn(line, "\n") + 1) {
        const char *at = line + strspn(line, " \t");

        if (strncmp(at, FENCE, strlen(FENCE)) == 0)
            return line;
    }
    return NULL;
}

static const struct {
    const char *language, *content_type;
} fences[] = {{"", NULL},
              {"json", "application/json"},
              {"graphql", "application/json"},
              {"xml", "application/xml"}};
#define FENCES (sizeof fences / sizeof *fences)

/* The row of `fences`, or -1 with the reason. */
static int read_language(struct reader *reader) {
    for (size_t i = 0; i < FENCES; i++)
        if (reader_at_word(reader, fences[i].language))
            return (int)i;
    if (begins(reader, "base64") || begins(reader, "hex") ||
        memchr(reader->at, ',', reader_word(reader)) != NULL)
        return reader_expected(reader, reader->at,
                               "json, graphql, xml or nothing after ``` (Hurl's base64, hex and "
                               "escape are not known here)");
    return reader_expected(reader, reader->at, "json, graphql, xml or the line's end after ```");
}

static int read_fenced_text(struct reader *reader, struct shop_step *step, int language,
                            const char *from, const char *to) {
    if (strcmp(fences[language].language, "graphql") == 0)
        return read_graphql(reader, step, from, to);
    if (strcmp(fences[language].language, "json") == 0) {
        reader->at = from;
        from = json_body_end(reader);
        if (from == NULL)
            return -1;
        if (from > to || from + strspn(from, " \t\n") < to)
            return reader_expected(reader, from, "``` after the JSON value");
        return text_read(reader, reader->at, from, TEXT_JSON, &step->body);
    }
    return text_read(reader, from, to, TEXT_VERBATIM, &step->body);
}

static int read_fence(struct reader *reader, struct shop_step *step) {
    const char *begin = reader->at, *from, *to;
    int language;

    reader->at += strlen(FENCE);
    language = read_language(reader);
    if (language < 0 ||
        begin_body(reader, step, SHOP_BODY_TEXT, fences[language].content_type) != 0)
        return -1;
    reader->at += strlen(fences[language].language);
    if (reader_finish_line(reader) != 0)
        return -1;
    from = reader->at;
    to = fence_end(from, reader->end);
    if (to == NULL)
        return reader_fail(reader, begin, "expected a line ``` that ends this body");
    if (read_fenced_text(reader, step, language, from, to) != 0)
        return -1;
    reader->at = to + strspn(to, " \t") + strlen(FENCE);
    reader->line_end = to + strcspn(to, "\n");
    return reader_finish_line(reader);
}

static int read_body(struct reader *reader, struct shop_step *step) {
    if (begins(reader, FENCE))
        return read_fence(reader, step);
    if (*reader->at == '`') {
        if (begin_body(reader, step, SHOP_BODY_TEXT, NULL) != 0 ||
            text_read_quoted(reader, '`', &step->body) != 0)
            return -1;
        return reader_finish_line(reader);
    }
    if (strchr("{[\"", *reader->at) != NULL)
        return read_json(reader, step);
    return reader_expected(reader, reader->at,
                           "a body in JSON, between ` and `, or between two lines ``` (Hurl's XML, "
                           "base64, hex and file bodies are not known here)");
}

/* ---- the request */

enum bracket { BRACKET_FORM, BRACKET_QUERY, BRACKET_CAPTURES, BRACKET_ASSERTS, BRACKET_OTHER };

static enum bracket bracket_at(const struct reader *reader) {
    static const struct {
        const char *name;
        enum bracket kind;
    } brackets[] = {{"[Form]", BRACKET_FORM},         {"[FormParams]", BRACKET_FORM},
                    {"[Query]", BRACKET_QUERY},       {"[QueryStringParams]", BRACKET_QUERY},
                    {"[Captures]", BRACKET_CAPTURES}, {"[Asserts]", BRACKET_ASSERTS}};

    for (size_t i = 0; i < sizeof brackets / sizeof *brackets; i++)
        if (begins(reader, brackets[i].name))
            return brackets[i].kind;
    return BRACKET_OTHER;
}

static int refuse_bracket(struct reader *reader, const char *known) {
    static const struct {
        const char *name, *instead;
    } others[] = {{"[Cookies]", "write a header Cookie:"},
                  {"[BasicAuth]", "write a header Authorization: Basic"},
                  {"[Multipart]", "use [Form]"},
                  {"[MultipartFormData]", "use [Form]"},
                  {"[Options]", "remove it"}};

    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (begins(reader, others[i].name))
            return reader_fail(reader, reader->at, "Hurl's %s is not known here: %s",
                               others[i].name, others[i].instead);
    return reader_expected(reader, reader->at, known);
}

static void skip_bracket(struct reader *reader) {
    reader->at += strcspn(reader->at, "]") + 1;
}

static int read_fields(struct reader *reader, const char *what, struct shop_fields *fields) {
    skip_bracket(reader);
    if (reader_finish_line(reader) != 0)
        return -1;
    while (next_line(reader) == LINE_OTHER)
        if (read_field(reader, TEXT_VALUE, what, fields) != 0)
            return -1;
    return 0;
}

static int read_request_bracket(struct reader *reader, struct shop_step *step) {
    static const char what[] = "NAME: VALUE, or HTTP and a status";

    switch (bracket_at(reader)) {
    case BRACKET_FORM:
        return begin_body(reader, step, SHOP_BODY_FORM, "application/x-www-form-urlencoded") != 0
                   ? -1
                   : read_fields(reader, what, &step->form);
    case BRACKET_QUERY:
        return read_fields(reader, what, &step->query);
    case BRACKET_CAPTURES:
    case BRACKET_ASSERTS:
        return reader_expected(reader, reader->at, "HTTP and a status before this");
    case BRACKET_OTHER:
        break;
    }
    return refuse_bracket(reader, "[Form], [Query], a body, or HTTP and a status");
}

/* Headers, then [Form] and [Query], then a body. */
static int read_request_rest(struct reader *reader, struct shop_step *step) {
    static const char what[] =
        "a header NAME: VALUE, [Form], [Query], a body, or HTTP and a status";
    enum line_kind kind;

    while ((kind = next_line(reader)) == LINE_OTHER)
        if (read_field(reader, TEXT_LINE, what, &step->headers) != 0)
            return -1;
    while ((kind = next_line(reader)) == LINE_BRACKET)
        if (read_request_bracket(reader, step) != 0)
            return -1;
    if (kind == LINE_BODY && read_body(reader, step) != 0)
        return -1;
    if (next_line(reader) != LINE_RESPONSE)
        return reader_expected(reader, reader->at, "HTTP and a status, such as HTTP 200 or HTTP *");
    return 0;
}

static int check_url(struct reader *reader, const char *at) {
    if (*at == '/' || strncmp(at, "{{", 2) == 0 || strncmp(at, "http://", 7) == 0 ||
        strncmp(at, "https://", 8) == 0)
        return 0;
    return reader_expected(reader, at, "a path such as /orders, or a URL with http:// or https://");
}

static int read_request_line(struct reader *reader, struct shop_step *step) {
    const size_t length = upper_length(reader->at);
    const char *url, *end;

    if (length > METHOD_BYTES)
        return reader_fail(reader, reader->at, "expected a method of at most %d letters",
                           METHOD_BYTES);
    step->line = reader_line(reader, reader->at);
    step->method = memory_copy(reader->memory, reader->at, length);
    if (step->method == NULL)
        return reader_no_memory(reader);
    reader->at += length;
    reader_skip_blanks(reader);
    url = reader->at;
    if (check_url(reader, url) != 0 || text_read_value(reader, TEXT_LINE, &step->url) != 0)
        return -1;
    end = reader->at;
    for (const char *at = url; at < end; at++)
        if (strncmp(at, "{{", 2) == 0)
            at += strcspn(at, "}");
        else if (reader_is_blank(*at))
            return reader_fail(reader, at, "expected %%20 for a blank in a URL");
    return reader_finish_line(reader);
}

/* ---- the reply */

int step_add_name(struct reader *reader, const char *at, const char *name, bool is_captured) {
    const struct name *known = names_find(&reader->names, name, strlen(name));

    if (known != NULL && known->is_captured && is_captured && known->scope == reader->scope)
        return 0;
    if (known != NULL)
        return reader_fail(reader, at, "expected another name: %s has a value already", name);
    if (reader->names.count == NAMES)
        return reader_fail(reader, at, "expected at most %d names in a file", NAMES);
    if (names_add(&reader->names, reader->memory,
                  (struct name){name, reader->scope, is_captured}) != 0)
        return reader_no_memory(reader);
    return 0;
}

static int read_capture(struct reader *reader, struct shop_step *step) {
    const char *begin = reader->at;
    const size_t length = name_length(begin);
    struct shop_capture *items =
        reader_grow(reader, step->captures, step->capture_count, sizeof *items, "captures");
    struct shop_capture *capture;

    if (items == NULL)
        return -1;
    step->captures = items;
    if (length == 0 || length > SHOP_NAME_BYTES || begin[length] != ':')
        return reader_expected(reader, begin, "NAME: QUERY, such as token: header \"x-token\"");
    capture = &items[step->capture_count++];
    capture->line = reader_line(reader, begin);
    capture->name = memory_copy(reader->memory, begin, length);
    if (capture->name == NULL)
        return reader_no_memory(reader);
    reader->at += length + 1;
    reader_skip_blanks(reader);
    if (query_read(reader, &capture->query) != 0)
        return -1;
    reader_skip_blanks(reader);
    capture->is_secret = reader_at_word(reader, "redact");
    if (capture->is_secret)
        reader->at += strlen("redact");
    else if (reader->at < reader->line_end && *reader->at != '#')
        return reader_expected(reader, reader->at,
                               "redact or the end of the line (Hurl's filters are not known here)");
    return step_add_name(reader, begin, capture->name, true) != 0 ? -1 : reader_finish_line(reader);
}

static int read_assert(struct reader *reader, struct shop_step *step) {
    struct shop_assert *items =
        reader_grow(reader, step->asserts, step->assert_count, sizeof *items, "asserts");
    struct shop_assert *one;

    if (items == NULL)
        return -1;
    step->asserts = items;
    one = &items[step->assert_count++];
    one->line = reader_line(reader, reader->at);
    if (query_read(reader, &one->query) != 0 || predicate_read(reader, &one->predicate) != 0)
        return -1;
    return reader_finish_line(reader);
}

static int read_status(struct reader *reader, struct shop_step *step) {
    const char *at;

    if (reader->at[4] == '/')
        return reader_expected(reader, reader->at,
                               "HTTP and a status (the version of HTTP cannot be asked for)");
    reader->at += strlen("HTTP");
    reader_skip_blanks(reader);
    at = reader->at;
    if (reader_at_word(reader, "*")) {
        step->status = SHOP_ANY_STATUS;
        reader->at++;
        return reader_finish_line(reader);
    }
    if (reader_word(reader) != 3 || strspn(at, "0123456789") != 3 || *at < '1' || *at > '5')
        return reader_expected(reader, at, "a status from 100 to 599, or *");
    step->status = (at[0] - '0') * 100 + (at[1] - '0') * 10 + at[2] - '0';
    reader->at += 3;
    return reader_finish_line(reader);
}

static int read_reply_bracket(struct reader *reader, struct shop_step *step) {
    const enum bracket kind = bracket_at(reader);
    int code;

    if (kind != BRACKET_CAPTURES && kind != BRACKET_ASSERTS)
        return refuse_bracket(reader, "[Captures], [Asserts], a request, or a section == ... ==");
    skip_bracket(reader);
    code = reader_finish_line(reader);
    while (code == 0 && next_line(reader) == LINE_OTHER)
        code = kind == BRACKET_CAPTURES ? read_capture(reader, step) : read_assert(reader, step);
    return code;
}

static int read_reply(struct reader *reader, struct shop_step *step) {
    enum line_kind kind;

    if (read_status(reader, step) != 0)
        return -1;
    while ((kind = next_line(reader)) == LINE_BRACKET)
        if (read_reply_bracket(reader, step) != 0)
            return -1;
    if (kind == LINE_END || kind == LINE_REQUEST)
        return 0;
    return reader_expected(
        reader, reader->at,
        "[Captures], [Asserts], a request, or a section == ... == (a header or a "
        "body of the reply is compared in [Asserts])");
}

int steps_read(struct reader *reader, struct shop_steps *steps) {
    while (next_line(reader) != LINE_END) {
        struct shop_step *items;

        if (!at_request(reader))
            return reader_expected(reader, reader->at, "a request such as POST /orders");
        items =
            reader_grow(reader, steps->items, steps->count, sizeof *items, "steps in a section");
        if (items == NULL)
            return -1;
        steps->items = items;
        steps->count++;
        if (read_request_line(reader, &items[steps->count - 1]) != 0 ||
            read_request_rest(reader, &items[steps->count - 1]) != 0 ||
            read_reply(reader, &items[steps->count - 1]) != 0)
            return -1;
    }
    return 0;
}
