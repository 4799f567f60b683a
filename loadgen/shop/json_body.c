/* See json_body.h. */
#include "json_body.h"

#include "shop.h"

#include <string.h>

struct body {
    struct reader *reader;
    const char *at;
    int depth;
};

static int body_value(struct body *body);

static void body_skip(struct body *body) {
    body->at += strspn(body->at, " \t\n");
}

static int body_expected(struct body *body, const char *what) {
    return reader_expected(body->reader, body->at, what);
}

/* The name itself is checked when the text is read. */
static int body_name(struct body *body) {
    const size_t length = strcspn(body->at, "}\n");

    if (strncmp(body->at + length, "}}", 2) != 0)
        return reader_fail(body->reader, body->at, "expected }} in the same line as {{");
    body->at += length + 2;
    return 0;
}

static int body_escape(struct body *body) {
    body->at++;
    if (*body->at == '\0' || strchr("\"\\/bfnrtu", *body->at) == NULL)
        return body_expected(body, "one of \"\\/bfnrtu after \\");
    if (*body->at == 'u' && strspn(body->at + 1, "0123456789abcdefABCDEF") < 4)
        return body_expected(body, "four hexadecimal digits after \\u");
    body->at++;
    return 0;
}

static int body_string(struct body *body) {
    const char *begin = body->at++;
    int code = 0;

    while (*body->at != '"' && code == 0)
        if (*body->at == '\n' || *body->at == '\0')
            code = reader_fail(body->reader, begin,
                               "expected a \" that ends this text, in the same line (write \\n for "
                               "a line break)");
        else if (*body->at == '\t')
            code = reader_fail(body->reader, body->at, "expected \\t for a tab in a JSON text");
        else if (strncmp(body->at, "{{", 2) == 0)
            code = body_name(body);
        else if (*body->at == '\\')
            code = body_escape(body);
        else
            body->at++;
    body->at += code == 0;
    return code;
}

static int body_digits(struct body *body) {
    const size_t count = strspn(body->at, "0123456789");

    body->at += count;
    return count > 0 ? 0 : body_expected(body, "a digit");
}

static int body_number(struct body *body) {
    body->at += *body->at == '-';
    if (*body->at == '0')
        body->at++;
    else if (body_digits(body) != 0)
        return -1;
    if (*body->at == '.') {
        body->at++;
        if (body_digits(body) != 0)
            return -1;
    }
    if (*body->at == 'e' || *body->at == 'E') {
        body->at++;
        body->at += *body->at == '+' || *body->at == '-';
        return body_digits(body);
    }
    return 0;
}

static int body_member(struct body *body) {
    body_skip(body);
    if (*body->at != '"')
        return body_expected(body, "a name between \" and \"");
    if (body_string(body) != 0)
        return -1;
    body_skip(body);
    if (*body->at != ':')
        return body_expected(body, ": after the name");
    body->at++;
    return body_value(body);
}

/* An object or an array. */
static int body_list(struct body *body, char end, int (*read)(struct body *)) {
    if (++body->depth > SHOP_NESTING)
        return reader_fail(body->reader, body->at, "expected at most %d levels of { and [",
                           SHOP_NESTING);
    body->at++;
    body_skip(body);
    if (*body->at != end)
        for (;;) {
            if (read(body) != 0)
                return -1;
            body_skip(body);
            if (*body->at != ',')
                break;
            body->at++;
        }
    if (*body->at != end)
        return body_expected(body,
                             end == '}' ? ", or } of the JSON body" : ", or ] of the JSON body");
    body->at++;
    body->depth--;
    return 0;
}

static int body_value(struct body *body) {
    static const char *const words[] = {"true", "false", "null"};

    body_skip(body);
    if (strncmp(body->at, "{{", 2) == 0)
        return body_name(body);
    if (*body->at == '{')
        return body_list(body, '}', body_member);
    if (*body->at == '[')
        return body_list(body, ']', body_value);
    if (*body->at == '"')
        return body_string(body);
    if (*body->at == '-' || (*body->at >= '0' && *body->at <= '9'))
        return body_number(body);
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strncmp(body->at, words[i], strlen(words[i])) == 0) {
            body->at += strlen(words[i]);
            return 0;
        }
    return body_expected(body, "a JSON value");
}

const char *json_body_end(struct reader *reader) {
    struct body body = {.reader = reader, .at = reader->at};

    return body_value(&body) == 0 ? body.at : NULL;
}
