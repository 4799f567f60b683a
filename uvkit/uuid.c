/* UUIDs as text: version 7 made from the wall clock and the kernel's random bytes. */
#include "uuid.h"

#include "clock.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static const char digits[] = "0123456789abcdef";

static bool is_dash_place(size_t i) {
    return i == 8 || i == 13 || i == 18 || i == 23;
}

void uuid_v7(char out[UUID_TEXT]) {
    uint8_t bytes[16];
    uint64_t ms = (uint64_t)(clock_wall_us() / 1000);
    size_t at = 0;

    arc4random_buf(bytes, sizeof bytes);
    for (size_t i = 0; i < 6; i++)
        bytes[i] = (uint8_t)(ms >> (40 - 8 * i));
    bytes[6] = (uint8_t)(0x70 | (bytes[6] & 0x0f));
    bytes[8] = (uint8_t)(0x80 | (bytes[8] & 0x3f));
    for (size_t i = 0; i < sizeof bytes; i++) {
        if (is_dash_place(at))
            out[at++] = '-';
        out[at++] = digits[bytes[i] >> 4];
        out[at++] = digits[bytes[i] & 0x0f];
    }
    out[at] = '\0';
}

static char lower_hex(char c) {
    char lower = c >= 'A' && c <= 'F' ? (char)(c - 'A' + 'a') : c;

    return c != '\0' && strchr(digits, lower) != NULL ? lower : '\0';
}

int uuid_parse(const char *text, char out[UUID_TEXT]) {
    char lower[UUID_TEXT] = "";

    if (text == NULL || strnlen(text, UUID_TEXT) != UUID_TEXT - 1)
        goto refused;
    for (size_t i = 0; i < UUID_TEXT - 1; i++) {
        lower[i] = is_dash_place(i) ? (text[i] == '-' ? '-' : '\0') : lower_hex(text[i]);
        if (lower[i] == '\0')
            goto refused;
    }
    memcpy(out, lower, UUID_TEXT);
    return 0;

refused:
    out[0] = '\0';
    return -1;
}
