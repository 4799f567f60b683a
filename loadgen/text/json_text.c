/* Makes JSON strings of any bytes. */
#include "json_text.h"

#include "iso_time.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define REPLACEMENT "\xef\xbf\xbd"

/* The length of the UTF-8 sequence that begins here, by table 3-7 of the Unicode standard; 0 when
 * there is none. */
static size_t sequence(const unsigned char *at) {
    static const struct {
        unsigned char first, last, low, high;
        size_t length;
    } forms[] = {
        {0x01, 0x7f, 0, 0, 1},       {0xc2, 0xdf, 0x80, 0xbf, 2}, {0xe0, 0xe0, 0xa0, 0xbf, 3},
        {0xe1, 0xec, 0x80, 0xbf, 3}, {0xed, 0xed, 0x80, 0x9f, 3}, {0xee, 0xef, 0x80, 0xbf, 3},
        {0xf0, 0xf0, 0x90, 0xbf, 4}, {0xf1, 0xf3, 0x80, 0xbf, 4}, {0xf4, 0xf4, 0x80, 0x8f, 4}};

    for (size_t i = 0; i < sizeof forms / sizeof forms[0]; i++) {
        if (at[0] < forms[i].first || at[0] > forms[i].last)
            continue;
        if (forms[i].length > 1 && (at[1] < forms[i].low || at[1] > forms[i].high))
            return 0;
        for (size_t n = 2; n < forms[i].length; n++)
            if (at[n] < 0x80 || at[n] > 0xbf)
                return 0;
        return forms[i].length;
    }
    return 0;
}

static json_t *cleaned(const char *text) {
    char *clean = malloc(strlen(text) * strlen(REPLACEMENT) + 1), *to = clean;
    json_t *json;

    if (clean == NULL)
        return NULL;
    while (*text != '\0') {
        size_t length = sequence((const unsigned char *)text);

        memcpy(to, length > 0 ? text : REPLACEMENT, length > 0 ? length : strlen(REPLACEMENT));
        to += length > 0 ? length : strlen(REPLACEMENT);
        text += length > 0 ? length : 1;
    }
    json = json_stringn(clean, (size_t)(to - clean));
    free(clean);
    return json;
}

json_t *json_text(const char *text) {
    json_t *json = json_string(text); /* NULL when it is no UTF-8, which is rare */

    return json != NULL ? json : cleaned(text);
}

json_t *json_ms(double ns) {
    return json_real(round(ns / 1e3) / 1e3);
}

static void keep_whole(json_t **json, int rc) {
    if (rc == 0)
        return;
    json_decref(*json);
    *json = NULL;
}

void json_text_append(json_t **array, json_t *one) {
    keep_whole(array, json_array_append_new(*array, one));
}

void json_text_set(json_t **object, const char *key, json_t *one) {
    keep_whole(object, json_object_set_new(*object, key, one));
}

json_t *json_text_array(const char *first, size_t size, size_t count) {
    json_t *array = json_array();

    for (size_t i = 0; i < count; i++)
        json_text_append(&array, json_text(first + i * size));
    return array;
}

json_t *json_text_object(const struct json_member *members) {
    json_t *object = json_object();

    for (; members->key != NULL; members++) {
        assert(json_object_get(object, members->key) == NULL);
        json_text_set(&object, members->key, members->value);
    }
    return object;
}

json_t *json_text_time(int64_t us) {
    char text[ISO_TIME];

    return json_string(iso_time(text, us));
}

int json_text_print(json_t *json, FILE *to) {
    int rc = json_dumpf(json, to, JSON_INDENT(2) | JSON_REAL_PRECISION(9));

    json_decref(json);
    return rc == 0 && fputc('\n', to) != EOF && fflush(to) == 0 && !ferror(to) ? 0 : -1;
}
