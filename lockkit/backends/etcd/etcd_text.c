/* Base64 (RFC 4648) and integers, in and out of etcd's JSON. */
#include "etcd_text.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

void base64_encode(char *text, const char *bytes, size_t length) {
    for (size_t at = 0; at < length; at += 3) {
        size_t left = length - at;
        unsigned bits = (unsigned)(unsigned char)bytes[at] << 16;

        if (left > 1)
            bits |= (unsigned)(unsigned char)bytes[at + 1] << 8;
        if (left > 2)
            bits |= (unsigned char)bytes[at + 2];
        *text++ = digits[bits >> 18];
        *text++ = digits[bits >> 12 & 63];
        *text++ = '=';
        *text++ = '=';
        if (left > 1)
            text[-2] = digits[bits >> 6 & 63];
        if (left > 2)
            text[-1] = digits[bits & 63];
    }
    *text = '\0';
}

static bool base64_decode(char *bytes, size_t size, size_t *length, const char *text) {
    size_t count = strspn(text, digits), made = count * 3 / 4;
    unsigned bits = 0;

    if (count % 4 == 1 || strlen(text) % 4 != 0 || strspn(text + count, "=") > 2 ||
        text[count + strspn(text + count, "=")] != '\0' || made >= size)
        return false;
    for (size_t i = 0; i < count; i++) {
        bits = bits << 6 | (unsigned)(strchr(digits, text[i]) - digits);
        if (i % 4 != 0)
            *bytes++ = (char)(bits >> (6 - 2 * (i % 4)) & 255);
    }
    *bytes = '\0';
    *length = made;
    return true;
}

int64_t json_integer_of(const json_t *object, const char *key) {
    const json_t *value = json_object_get(object, key);
    const char *text = json_string_value(value);
    int64_t number = json_integer_value(value);
    char *end;

    if (text != NULL) {
        errno = 0;
        number = strtoll(text, &end, 10);
        if (errno != 0 || *end != '\0')
            return 0;
    }
    return number > 0 ? number : 0;
}

bool json_bytes_of(const json_t *object, const char *key, char *bytes, size_t size) {
    const char *text = json_string_value(json_object_get(object, key));
    size_t length;

    return base64_decode(bytes, size, &length, text != NULL ? text : "") && strlen(bytes) == length;
}
