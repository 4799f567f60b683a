/* See query_text.h. */
#include "query_text.h"

#include <stdio.h>
#include <string.h>

static const char no_memory[] = "out of memory";

/* ---- parameters */

/* Where SQL stands behind `text`, if it stood at `state` before: 0 between words; ' or " inside
 * quotes; - or * inside a comment. */
static char scan(char state, const char *text, size_t length) {
    for (size_t i = 0; i < length; i++) {
        const char next = i + 1 < length ? text[i + 1] : '\0';

        if (state == '\0' && (text[i] == '\'' || text[i] == '"'))
            state = text[i];
        else if (state == '\0' && text[i] == '-' && next == '-')
            state = '-';
        else if (state == '\0' && text[i] == '/' && next == '*')
            state = '*';
        else if ((state == '-' && text[i] == '\n') ||
                 (state == '*' && text[i] == '*' && next == '/') ||
                 ((state == '\'' || state == '"') && text[i] == state))
            state = '\0';
    }
    return state;
}

/* What stands in place of the names: numbers, and `names` gets the names; or constants. */
struct places {
    const char **names;
    const char *const *constants;
    int count;
};

static int append_place(struct buffer *sql, struct places *places, const char *name,
                        struct why *why) {
    char number[16];

    if (places->count == QUERY_NAMES_MAX)
        return why_set(why, "more than %d {{names}} in a query", QUERY_NAMES_MAX);
    (void)snprintf(number, sizeof number, "$%d", places->count + 1);
    if (places->names != NULL)
        places->names[places->count] = name;
    if (!buffer_append_text(sql,
                            places->constants != NULL ? places->constants[places->count] : number))
        return why_set(why, no_memory);
    places->count++;
    return 0;
}

static int append_query(const struct shop_text *query, struct buffer *sql, struct places *places,
                        struct why *why) {
    char state = '\0';

    for (size_t i = 0; i < query->count; i++) {
        const struct shop_part *part = &query->parts[i];

        if (part->kind == SHOP_LITERAL) {
            state = scan(state, part->text, part->length);
            if (!buffer_append(sql, part->text, part->length))
                return why_set(why, no_memory);
        } else if (state == '\'' || state == '"') {
            return why_set(why,
                           "{{%s}} stands between quotes; write it without them: it becomes a "
                           "parameter of the query",
                           part->text);
        } else if (state == '\0' && append_place(sql, places, part->text, why) != 0) {
            return -1;
        }
    }
    return buffer_append(sql, "", 1) ? places->count : why_set(why, no_memory);
}

int query_text_number(const struct shop_text *query, struct buffer *sql,
                      const char *names[QUERY_NAMES_MAX], struct why *why) {
    struct places places = {.names = names};

    return append_query(query, sql, &places, why);
}

int query_text_quote(const struct shop_text *query, struct buffer *sql,
                     const char *const *constants, struct why *why) {
    struct places places = {.constants = constants};

    return append_query(query, sql, &places, why) >= 0 ? 0 : -1;
}

/* ---- the input of a command */

bool query_text_is_harmless(const char *value) {
    static const char allowed[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.:@+=/-";

    return value[0] != '\0' && value[0] != '-' && strstr(value, "--") == NULL &&
           value[strspn(value, allowed)] == '\0';
}

int query_text_fill(const struct shop_text *query, const struct values *values, struct buffer *to,
                    struct why *why) {
    for (size_t i = 0; i < query->count; i++) {
        const struct shop_part *part = &query->parts[i];
        const char *value = part->text;

        if (part->kind != SHOP_LITERAL) {
            value = values_get(values, part->text);
            if (value == NULL)
                return why_set(why, "{{%s}} has no value here", part->text);
            if (!query_text_is_harmless(value))
                return why_set(why,
                               "the value of {{%s}} has other characters than letters, digits and "
                               "_ . : @ + = / -, so it may not stand in a query for a command",
                               part->text);
        }
        if (!buffer_append_text(to, value))
            return why_set(why, no_memory);
    }
    return 0;
}
