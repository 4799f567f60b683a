/* See text.h. */
#include "text.h"

#include "buffer.h"

#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* A text in the making. */
struct maker {
    struct reader *reader;
    struct shop_text *text;
    struct buffer literal; /* the text before the next name */
};

static int maker_part(struct maker *maker, struct shop_part part) {
    struct shop_text *text = maker->text;
    struct shop_part *parts =
        memory_grow(maker->reader->memory, text->parts, text->count, sizeof *parts);

    if (parts == NULL || part.text == NULL)
        return reader_no_memory(maker->reader);
    text->parts = parts;
    text->parts[text->count++] = part;
    return 0;
}

static int maker_add(struct maker *maker, const char *bytes, size_t length) {
    return buffer_append(&maker->literal, bytes, length) ? 0 : reader_no_memory(maker->reader);
}

static int maker_flush(struct maker *maker) {
    const size_t length = maker->literal.length;
    const char *copy;

    if (length == 0)
        return 0;
    copy = memory_copy(maker->reader->memory, maker->literal.bytes, length);
    maker->literal.length = 0;
    return maker_part(maker, (struct shop_part){SHOP_LITERAL, copy, length});
}

static int maker_finish(struct maker *maker, int code) {
    if (code == 0)
        code = maker_flush(maker);
    buffer_free(&maker->literal);
    return code;
}

/* ---- names */

static int refuse_name(struct reader *reader, size_t length, const struct name *known) {
    const char *at = reader->at;
    char list[400];

    if (known != NULL && known->scope == NAME_OF_CUSTOMER)
        return reader_fail(reader, at,
                           "{{%s}} has a value only for a customer, in prepare, order, commit and "
                           "outcome",
                           known->text);
    if (known != NULL)
        return reader_fail(reader, at,
                           "{{%s}} has a value only in a round; here, only names of "
                           "`set` and `env` above this line have one",
                           known->text);
    (void)names_list(&reader->names, reader->scope, list, sizeof list);
    return reader_fail(reader, at, "expected a name that has a value here (%s), found: %.*s",
                       list[0] != '\0' ? list : "none has one", (int)length, at);
}

int text_read_name(struct reader *reader, const char **name) {
    const struct name *known;
    size_t length;

    assert(reader->at[0] == '{' && reader->at[1] == '{');
    reader->at += 2;
    reader_skip_blanks(reader);
    length = name_length(reader->at);
    if (length == 0)
        return reader_expected(reader, reader->at, "a name after {{");
    if (length > SHOP_NAME_BYTES)
        return reader_fail(reader, reader->at, "expected a name of at most %d characters",
                           SHOP_NAME_BYTES);
    known = names_find(&reader->names, reader->at, length);
    if (known == NULL || known->scope > reader->scope)
        return refuse_name(reader, length, known);
    *name = known->text;
    reader->at += length;
    reader_skip_blanks(reader);
    if (strncmp(reader->at, "}}", 2) != 0)
        return reader_expected(reader, reader->at,
                               "}} after the name (Hurl's filters and functions are not known)");
    reader->at += 2;
    return 0;
}

static int maker_name(struct maker *maker, const char **at, enum shop_part_kind kind) {
    struct reader *reader = maker->reader;
    const char *place = reader->at, *name = NULL;

    reader->at = *at;
    if (text_read_name(reader, &name) != 0 || maker_flush(maker) != 0)
        return -1;
    *at = reader->at;
    reader->at = place;
    return maker_part(maker, (struct shop_part){kind, name, strlen(name)});
}

/* ---- escapes */

static size_t put_utf8(uint32_t code, char to[4]) {
    if (code < 0x80)
        return to[0] = (char)code, 1;
    if (code < 0x800) {
        to[0] = (char)(0xC0 | code >> 6);
        to[1] = (char)(0x80 | (code & 0x3F));
        return 2;
    }
    if (code < 0x10000) {
        to[0] = (char)(0xE0 | code >> 12);
        to[1] = (char)(0x80 | (code >> 6 & 0x3F));
        to[2] = (char)(0x80 | (code & 0x3F));
        return 3;
    }
    to[0] = (char)(0xF0 | code >> 18);
    to[1] = (char)(0x80 | (code >> 12 & 0x3F));
    to[2] = (char)(0x80 | (code >> 6 & 0x3F));
    to[3] = (char)(0x80 | (code & 0x3F));
    return 4;
}

static bool is_character(uint32_t code) {
    return code >= 0x20 && !(code >= 0x7F && code < 0xA0) && !(code >= 0xD800 && code < 0xE000) &&
           code <= 0x10FFFF;
}

/* \u{2603}; `at` is behind the u. */
static int maker_unicode(struct maker *maker, const char **at, const char *to) {
    char *end = NULL, bytes[4];
    const size_t digits = **at == '{' ? strspn(*at + 1, "0123456789abcdefABCDEF") : 0;
    uint32_t code = 0;

    if (digits > 0 && digits <= 6 && *at + 1 + digits < to)
        code = (uint32_t)strtoul(*at + 1, &end, 16);
    if (end == NULL || *end != '}' || !is_character(code))
        return reader_expected(maker->reader, *at,
                               "the number of a printable character, such as {2603}");
    *at = end + 1;
    return maker_add(maker, bytes, put_utf8(code, bytes));
}

static const struct {
    const char *letters, *what;
} escapes[] = {[TEXT_LINE] = {"#\\:u", "one of \\# \\\\ \\: \\u{2603}"},
               [TEXT_VALUE] = {"#\\:unt", "one of \\# \\\\ \\: \\n \\t \\u{2603}"},
               [TEXT_QUOTED] = {"#\\:unt\"`", "one of \\\" \\` \\# \\\\ \\: \\n \\t \\u{2603}"}};

static int maker_escape(struct maker *maker, const char **at, const char *to, enum text_form form) {
    const char *escape = *at + 1;

    if (escape >= to || strchr(escapes[form].letters, *escape) == NULL)
        return reader_expected(maker->reader, *at, escapes[form].what);
    *at += 2;
    if (*escape == 'u')
        return maker_unicode(maker, at, to);
    return maker_add(maker, *escape == 'n' ? "\n" : *escape == 't' ? "\t" : escape, 1);
}

/* ---- texts */

static int maker_read(struct maker *maker, const char *at, const char *to, enum text_form form) {
    bool is_in_string = false;
    int code = 0;

    while (at < to && code == 0) {
        if (at[0] == '{' && at + 1 < to && at[1] == '{') {
            code = maker_name(maker, &at, is_in_string ? SHOP_NAME_IN_JSON : SHOP_NAME);
        } else if (*at == '\\' && form != TEXT_VERBATIM && form != TEXT_JSON) {
            code = maker_escape(maker, &at, to, form);
        } else if (*at == '\\' && form == TEXT_JSON && at + 1 < to) {
            code = maker_add(maker, at, 2);
            at += 2;
        } else {
            is_in_string = (form == TEXT_JSON && *at == '"') ? !is_in_string : is_in_string;
            code = maker_add(maker, at++, 1);
        }
    }
    return code;
}

int text_read(struct reader *reader, const char *from, const char *to, enum text_form form,
              struct shop_text *text) {
    struct maker maker = {.reader = reader, .text = text};

    *text = (struct shop_text){0};
    return maker_finish(&maker, maker_read(&maker, from, to, form));
}

int text_literal(struct reader *reader, const char *bytes, size_t length, struct shop_text *text) {
    struct maker maker = {.reader = reader, .text = text};

    *text = (struct shop_text){0};
    return maker_finish(&maker, maker_add(&maker, bytes, length));
}

bool text_is_literal(const struct shop_text *text) {
    for (size_t i = 0; i < text->count; i++)
        if (text->parts[i].kind != SHOP_LITERAL)
            return false;
    return true;
}

int text_read_quoted(struct reader *reader, char quote, struct shop_text *text) {
    const char *from = reader->at + 1, *end = from;

    assert(*reader->at == quote);
    while (end < reader->line_end && *end != quote)
        end += *end == '\\' && end + 1 < reader->line_end ? 2 : 1;
    if (end == reader->line_end)
        return reader_fail(reader, reader->at,
                           "expected a %c that ends this text, in the same line", quote);
    if (text_read(reader, from, end, TEXT_QUOTED, text) != 0)
        return -1;
    reader->at = end + 1;
    return 0;
}

int text_read_value(struct reader *reader, enum text_form form, struct shop_text *text) {
    const char *end = reader_value_end(reader);

    if (end == NULL || text_read(reader, reader->at, end, form, text) != 0)
        return -1;
    reader->at = end;
    return 0;
}

/* ---- GraphQL */

enum graphql_place { GRAPHQL_CODE, GRAPHQL_STRING, GRAPHQL_BLOCK, GRAPHQL_COMMENT };

/* The length of the token at `at`; the place becomes that behind it. */
static size_t graphql_step(enum graphql_place *place, const char *at, const char *to) {
    const size_t left = (size_t)(to - at);

    if ((*place == GRAPHQL_CODE || *place == GRAPHQL_BLOCK) && left >= 3 &&
        memcmp(at, "\"\"\"", 3) == 0) {
        *place = *place == GRAPHQL_CODE ? GRAPHQL_BLOCK : GRAPHQL_CODE;
        return 3;
    }
    if (*place == GRAPHQL_BLOCK)
        return left >= 4 && memcmp(at, "\\\"\"\"", 4) == 0 ? 4 : 1;
    if (*place == GRAPHQL_STRING && left >= 2 && at[0] == '\\' && strchr("\"\\", at[1]) != NULL)
        return 2;
    if (*at == '\n' || (*place == GRAPHQL_STRING && *at == '"'))
        *place = GRAPHQL_CODE;
    else if (*place == GRAPHQL_CODE && (*at == '"' || *at == '#'))
        *place = *at == '"' ? GRAPHQL_STRING : GRAPHQL_COMMENT;
    return 1;
}

static int maker_json_byte(struct maker *maker, const char *at) {
    if (*at == '\n' || *at == '\t')
        return maker_add(maker, *at == '\n' ? "\\n" : "\\t", 2);
    if (*at == '"' || *at == '\\')
        return maker_add(maker, *at == '"' ? "\\\"" : "\\\\", 2);
    return maker_add(maker, at, 1);
}

static int maker_in_json(struct maker *maker, const char *at, const char *to) {
    enum graphql_place place = GRAPHQL_CODE;
    int code = 0;

    while (at < to && code == 0) {
        const bool is_in_string = place == GRAPHQL_STRING || place == GRAPHQL_BLOCK;

        if (at[0] == '{' && at + 1 < to && at[1] == '{')
            code = maker_name(maker, &at, is_in_string ? SHOP_NAME_IN_GRAPHQL : SHOP_NAME_IN_JSON);
        else
            for (size_t left = graphql_step(&place, at, to); left > 0 && code == 0; left--)
                code = maker_json_byte(maker, at++);
    }
    return code;
}

int text_read_graphql(struct reader *reader, const char *query, const char *query_end,
                      const char *variables, const char *variables_end, struct shop_text *text) {
    static const char head[] = "{\"query\":\"", middle[] = ",\"variables\":";
    struct maker maker = {.reader = reader, .text = text};
    int code = maker_add(&maker, head, strlen(head));

    *text = (struct shop_text){0};
    if (code == 0)
        code = maker_in_json(&maker, query, query_end);
    if (code == 0)
        code = maker_add(&maker, "\"", 1);
    if (code == 0 && variables < variables_end)
        code = maker_add(&maker, middle, strlen(middle));
    if (code == 0)
        code = maker_read(&maker, variables, variables_end, TEXT_JSON);
    if (code == 0)
        code = maker_add(&maker, "}", 1);
    return maker_finish(&maker, code);
}
