/* Makes JSON strings of any bytes. */
#include "json_text.h"

#include "iso_time.h"
#include "utf8.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

json_t *json_text(const char *text) {
    json_t *json = json_string(text); /* NULL when it is not UTF-8, which is rare */
    char *clean = json == NULL ? malloc(UTF8_ROOM(strlen(text))) : NULL;

    if (clean != NULL) {
        json = json_stringn(clean, (size_t)(utf8_clean(clean, text) - clean));
        free(clean);
    }
    return json;
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
