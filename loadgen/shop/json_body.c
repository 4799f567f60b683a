/* See json_body.h. */
#include "json_body.h"

#include "shop.h"

#include <string.h>

struct json {
    struct reader *reader;
    const char *at;
    int depth;
};

static int json_value(struct json *json);

static void json_skip(struct json *json) {
    json->at += strspn(json->at, " \t\n");
}

static int json_expected(struct json *json, const char *what) {
    return reader_expected(json->reader, json->at, what);
}

/* The name itself is checked when the text is read. */
static int json_name(struct json *json) {
    const size_t length = strcspn(json->at, "}\n");

    if (strncmp(json->at + length, "}}", 2) != 0)
        return reader_fail(json->reader, json->at, "expected }} in the same line as {{");
    json->at += length + 2;
    return 0;
}

static int json_string(struct json *json) {
    const char *begin = json->at++;

    for (;;) {
        if (*json->at == '\n' || *json->at == '\0')
            return reader_fail(
                json->reader, begin,
                "expected a \" that ends this text, in the same line (write \\n for a "
                "line break)");
        if (*json->at == '\t')
            return reader_fail(json->reader, json->at, "expected \\t for a tab in a JSON text");
        if (strncmp(json->at, "{{", 2) == 0) {
            if (json_name(json) != 0)
                return -1;
            continue;
        }
        if (*json->at == '"')
            break;
        if (*json->at == '\\') {
            json->at++;
            if (*json->at == '\0' || strchr("\"\\/bfnrtu", *json->at) == NULL)
                return json_expected(json, "one of \"\\/bfnrtu after \\");
            if (*json->at == 'u' && strspn(json->at + 1, "0123456789abcdefABCDEF") < 4)
                return json_expected(json, "four hexadecimal digits after \\u");
        }
        json->at++;
    }
    json->at++;
    return 0;
}

static int json_digits(struct json *json) {
    const size_t count = strspn(json->at, "0123456789");

    json->at += count;
    return count > 0 ? 0 : json_expected(json, "a digit");
}

static int json_number(struct json *json) {
    json->at += *json->at == '-';
    if (*json->at == '0')
        json->at++;
    else if (json_digits(json) != 0)
        return -1;
    if (*json->at == '.') {
        json->at++;
        if (json_digits(json) != 0)
            return -1;
    }
    if (*json->at == 'e' || *json->at == 'E') {
        json->at++;
        json->at += *json->at == '+' || *json->at == '-';
        return json_digits(json);
    }
    return 0;
}

static int json_member(struct json *json) {
    json_skip(json);
    if (*json->at != '"')
        return json_expected(json, "a name between \" and \"");
    if (json_string(json) != 0)
        return -1;
    json_skip(json);
    if (*json->at != ':')
        return json_expected(json, ": after the name");
    json->at++;
    return json_value(json);
}

/* An object or an array. */
static int json_list(struct json *json, char end, int (*read)(struct json *)) {
    if (++json->depth > SHOP_NESTING)
        return reader_fail(json->reader, json->at, "expected at most %d levels of { and [",
                           SHOP_NESTING);
    json->at++;
    json_skip(json);
    if (*json->at != end)
        for (;;) {
            if (read(json) != 0)
                return -1;
            json_skip(json);
            if (*json->at != ',')
                break;
            json->at++;
        }
    if (*json->at != end)
        return json_expected(json,
                             end == '}' ? ", or } of the JSON body" : ", or ] of the JSON body");
    json->at++;
    json->depth--;
    return 0;
}

static int json_value(struct json *json) {
    static const char *const words[] = {"true", "false", "null"};

    json_skip(json);
    if (strncmp(json->at, "{{", 2) == 0)
        return json_name(json);
    if (*json->at == '{')
        return json_list(json, '}', json_member);
    if (*json->at == '[')
        return json_list(json, ']', json_value);
    if (*json->at == '"')
        return json_string(json);
    if (*json->at == '-' || (*json->at >= '0' && *json->at <= '9'))
        return json_number(json);
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strncmp(json->at, words[i], strlen(words[i])) == 0) {
            json->at += strlen(words[i]);
            return 0;
        }
    return json_expected(json, "a JSON value");
}

const char *json_body_end(struct reader *reader) {
    struct json json = {.reader = reader, .at = reader->at};

    return json_value(&json) == 0 ? json.at : NULL;
}
