/* See values.h. The lists are short, so each look-up goes through them. */
#include "values.h"

#include "utf8.h"

#include <assert.h>
#include <ctype.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char no_memory[] = "out of memory";

static struct value *find(const struct values *values, const char *name) {
    for (size_t i = 0; i < values->count; i++)
        if (strcmp(values->items[i].name, name) == 0)
            return &values->items[i];
    return NULL;
}

int values_set(struct values *values, const char *name, const char *text, size_t length,
               bool is_secret) {
    struct value *value = find(values, name), *more;
    char *copy = strndup(text, length);

    if (copy == NULL)
        return -1;
    if (value == NULL) {
        more = realloc(values->items, (values->count + 1) * sizeof *more);
        if (more == NULL) {
            free(copy);
            return -1;
        }
        values->items = more;
        value = &more[values->count++];
        *value = (struct value){.name = name};
    }
    free(value->text);
    value->text = copy;
    value->is_secret = is_secret;
    return 0;
}

const char *values_get(const struct values *values, const char *name) {
    for (; values != NULL; values = values->above) {
        const struct value *value = find(values, name);

        if (value != NULL)
            return value->text;
    }
    return NULL;
}

void values_free(struct values *values) {
    for (size_t i = 0; i < values->count; i++)
        free(values->items[i].text);
    free(values->items);
    *values = (struct values){.above = values->above};
}

/* ---- filling */

static bool append_escaped(struct buffer *to, unsigned char byte) {
    char escaped[4];

    (void)snprintf(escaped, sizeof escaped, "%%%02X", byte);
    return buffer_append(to, escaped, 3);
}

static bool append_url(struct buffer *to, const char *text, size_t length) {
    bool is_ok = true;

    for (size_t i = 0; i < length && is_ok; i++) {
        const unsigned char byte = (unsigned char)text[i];

        is_ok = byte <= 0x20 || byte >= 0x7f || strchr("\"<>\\^`{|}", byte) != NULL
                    ? append_escaped(to, byte)
                    : buffer_append(to, text + i, 1);
    }
    return is_ok;
}

static bool append_field(struct buffer *to, const char *text, size_t length) {
    static const char kept[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._*";
    bool is_ok = true;

    for (size_t i = 0; i < length && is_ok; i++)
        is_ok = text[i] == ' ' ? buffer_append(to, "+", 1)
                : text[i] != '\0' && strchr(kept, text[i]) != NULL
                    ? buffer_append(to, text + i, 1)
                    : append_escaped(to, (unsigned char)text[i]);
    return is_ok;
}

/* For the inside of a JSON string. */
static bool append_json(struct buffer *to, const char *text, size_t length) {
    bool is_ok = true;

    for (size_t i = 0; i < length && is_ok; i++) {
        const unsigned char byte = (unsigned char)text[i];
        char escaped[8];

        if (byte == '"' || byte == '\\')
            (void)snprintf(escaped, sizeof escaped, "\\%c", byte);
        else if (byte < 0x20)
            (void)snprintf(escaped, sizeof escaped, "\\u%04x", byte);
        else
            (void)snprintf(escaped, sizeof escaped, "%c", byte);
        is_ok = buffer_append_text(to, escaped);
    }
    return is_ok;
}

static bool has_control(const char *text) {
    for (; *text != '\0'; text++)
        if (((unsigned char)*text < 0x20 && *text != '\t') || *text == 0x7f)
            return true;
    return false;
}

/* A string of GraphQL has the escapes of JSON, too. */
static bool append_graphql(struct buffer *to, const char *text, size_t length) {
    struct buffer escaped = {0};
    const bool is_ok = append_json(&escaped, text, length) &&
                       (escaped.length == 0 || append_json(to, escaped.bytes, escaped.length));

    buffer_free(&escaped);
    return is_ok;
}

static bool append_part(struct buffer *to, enum shop_part_kind kind, enum fill fill,
                        const char *text, size_t length) {
    if (kind == SHOP_NAME_IN_JSON)
        return append_json(to, text, length);
    if (kind == SHOP_NAME_IN_GRAPHQL)
        return append_graphql(to, text, length);
    switch (fill) {
    case FILL_AS_IS:
    case FILL_HEADER:
        break;
    case FILL_URL:
        return append_url(to, text, length);
    case FILL_FIELD:
        return append_field(to, text, length);
    }
    return buffer_append(to, text, length);
}

static int fill_part(const struct values *values, const struct shop_part *part, enum fill fill,
                     struct buffer *to, struct why *why) {
    const char *text = part->text;
    size_t length = part->length;

    if (part->kind != SHOP_LITERAL) {
        text = values_get(values, part->text);
        if (text == NULL)
            return why_set(why, "{{%s}} has no value here", part->text);
        if (fill == FILL_HEADER && has_control(text))
            return why_set(why,
                           "the value of {{%s}} has a control character, which no header may have",
                           part->text);
        length = strlen(text);
    }
    return append_part(to, part->kind, fill, text, length) ? 0 : why_set(why, no_memory);
}

int values_fill(const struct values *values, const struct shop_text *text, enum fill fill,
                struct buffer *to, struct why *why) {
    for (size_t i = 0; i < text->count; i++)
        if (fill_part(values, &text->parts[i], fill, to, why) != 0)
            return -1;
    return buffer_append(to, "", 1) && to->length-- > 0 ? 0 : why_set(why, no_memory); /* a NUL */
}

/* ---- masking */

/* The forms of a secret: as it is, and escaped for a URL, for a form or a query, for JSON, and for
 * a string of GraphQL inside JSON. */
enum form { FORM_PLAIN, FORM_URL, FORM_FIELD, FORM_JSON, FORM_GRAPHQL, FORMS };

/* The places in a secret and in a text; the part before them is the same. */
struct places {
    const char *secret, *at, *end;
};

static bool pass(struct places *places, size_t secret_bytes, size_t bytes) {
    places->secret += secret_bytes;
    places->at += bytes;
    return true;
}

/* -1: these are no hexadecimal digits. */
static int hex_value(const char *at, size_t digits) {
    int value = 0;

    for (size_t i = 0; i < digits; i++) {
        if (!isxdigit((unsigned char)at[i]))
            return -1;
        value =
            value * 16 + (isdigit((unsigned char)at[i]) ? at[i] - '0' : (at[i] | 0x20) - 'a' + 10);
    }
    return value;
}

/* An escape of JSON in any program's spelling: \/ or \u002f for /, for example. */
static bool pass_escape(struct places *places) {
    static const char letters[] = "bfnrt\"\\/", meant[] = "\b\f\n\r\t\"\\/";
    const size_t left = (size_t)(places->end - places->at);
    const char *letter = left >= 2 && places->at[1] != '\0' ? strchr(letters, places->at[1]) : NULL;
    const int code = left >= 6 && places->at[1] == 'u' ? hex_value(places->at + 2, 4) : -1;
    char utf8[4] = "";

    if (letter != NULL)
        return meant[letter - letters] == *places->secret && pass(places, 1, 2);
    if (code <= 0)
        return false;
    if (code < 0x80)
        utf8[0] = (char)code;
    else if (code < 0x800)
        utf8[0] = (char)(0xc0 | code >> 6), utf8[1] = (char)(0x80 | (code & 0x3f));
    else
        utf8[0] = (char)(0xe0 | code >> 12), utf8[1] = (char)(0x80 | (code >> 6 & 0x3f)),
        utf8[2] = (char)(0x80 | (code & 0x3f));
    return strncmp(places->secret, utf8, strlen(utf8)) == 0 && pass(places, strlen(utf8), 6);
}

/* As append_graphql() writes it. */
static bool pass_two_escapes(struct places *places) {
    const size_t left = (size_t)(places->end - places->at);

    if (left >= 4 && memcmp(places->at, "\\\\\\", 3) == 0)
        return places->at[3] == *places->secret && pass(places, 1, 4);
    return left >= 7 && memcmp(places->at, "\\\\u", 3) == 0 &&
           hex_value(places->at + 3, 4) == (unsigned char)*places->secret && pass(places, 1, 7);
}

static bool pass_byte(enum form form, struct places *places) {
    const char wanted = *places->secret, byte = *places->at;
    const bool is_percent = byte == '%' && places->end - places->at >= 3 &&
                            (form == FORM_URL || form == FORM_FIELD) &&
                            hex_value(places->at + 1, 2) == (unsigned char)wanted;

    if (form == FORM_JSON && byte == '\\')
        return pass_escape(places);
    if (form == FORM_GRAPHQL && byte == '\\')
        return pass_two_escapes(places);
    if (is_percent && (form == FORM_FIELD || wanted != '%'))
        return pass(places, 1, 3);
    if (form == FORM_FIELD && ((byte == '+' && wanted == ' ') || byte == '%'))
        return byte == '+' && pass(places, 1, 1);
    return byte == wanted && pass(places, 1, 1);
}

/* The length of the longest form of the secret that stands at `at`; 0: none does. */
static size_t form_at(const char *secret, const char *at, size_t left) {
    size_t longest = 0;

    for (enum form form = FORM_PLAIN; form < FORMS; form++) {
        struct places places = {secret, at, at + left};

        while (*places.secret != '\0' && places.at < places.end && pass_byte(form, &places))
            ;
        if (*places.secret == '\0' && (size_t)(places.at - at) > longest)
            longest = (size_t)(places.at - at);
    }
    return longest;
}

static size_t secret_at(const struct values *values, const char *at, size_t left) {
    size_t longest = 0;

    for (; values != NULL; values = values->above)
        for (size_t i = 0; i < values->count; i++) {
            const size_t length =
                values->items[i].is_secret ? form_at(values->items[i].text, at, left) : 0;

            longest = length > longest ? length : longest;
        }
    return longest;
}

bool values_mask(const struct values *values, const char *bytes, size_t *length, size_t most,
                 struct buffer *to) {
    bool is_ok = true;
    size_t at = 0;

    while (at < *length && to->length < most && is_ok) {
        const size_t secret = secret_at(values, bytes + at, *length - at);

        is_ok = secret > 0          ? buffer_append_text(to, "***")
                : bytes[at] == '\0' ? buffer_append(to, "?", 1)
                                    : buffer_append(to, bytes + at, 1);
        at += secret > 0 ? secret : 1;
    }
    *length = at;
    return is_ok && buffer_append(to, "", 1) && to->length-- > 0;
}

char *values_show(const struct values *values, const char *bytes, size_t length, size_t most) {
    struct buffer masked = {0};

    if (!values_mask(values, bytes, &length, most, &masked)) {
        buffer_free(&masked);
        return NULL;
    }
    utf8_make_printable(masked.bytes);
    return masked.bytes;
}

/* The longer text may be cut in a character. */
void values_show_why(const struct values *values, struct why *why) {
    char *shown = values_show(values, why->text, strlen(why->text), SIZE_MAX);

    (void)why_set(why, "%s", shown != NULL ? shown : no_memory);
    utf8_make_printable(why->text);
    free(shown);
}
