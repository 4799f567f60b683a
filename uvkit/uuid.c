/* UUIDs as text: version 7 made from the wall clock and the kernel's random bytes. */
#include "uuid.h"

#include "clock.h"

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* Random bytes for later, drawn 4 KiB at a time, because each draw is a system call. A child of
 * fork() finds the page wiped, `left` 0, and so draws its own. */
struct pool {
    size_t left;
    uint8_t bytes[4096 - sizeof(size_t)];
};

static struct pool *make_pool(void) {
    struct pool *made =
        mmap(NULL, sizeof *made, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (made == MAP_FAILED)
        return NULL;
    if (madvise(made, sizeof *made, MADV_WIPEONFORK) == 0)
        return made;
    (void)munmap(made, sizeof *made);
    return NULL;
}

static void uuid_draw(uint8_t *bytes, size_t length) {
    static _Thread_local struct pool *pool;

    if (pool == NULL)
        pool = make_pool();
    if (pool == NULL) {
        arc4random_buf(bytes, length);
        return;
    }
    if (pool->left < length) {
        arc4random_buf(pool->bytes, sizeof pool->bytes);
        pool->left = sizeof pool->bytes;
    }
    pool->left -= length;
    memcpy(bytes, pool->bytes + pool->left, length);
    memset(pool->bytes + pool->left, 0, length);
}

static const char digits[] = "0123456789abcdef";

static bool is_dash_place(size_t i) {
    return i == 8 || i == 13 || i == 18 || i == 23;
}

void uuid_v7(char out[UUID_TEXT]) {
    uint8_t bytes[16];
    uint64_t ms = (uint64_t)(clock_wall_us() / 1000);
    size_t at = 0;

    uuid_draw(bytes, sizeof bytes);
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

/* Hex digits in lower case; 0 for other characters. */
static const char lower[256] = {
    ['0'] = '0', ['1'] = '1', ['2'] = '2', ['3'] = '3', ['4'] = '4', ['5'] = '5',
    ['6'] = '6', ['7'] = '7', ['8'] = '8', ['9'] = '9', ['a'] = 'a', ['b'] = 'b',
    ['c'] = 'c', ['d'] = 'd', ['e'] = 'e', ['f'] = 'f', ['A'] = 'a', ['B'] = 'b',
    ['C'] = 'c', ['D'] = 'd', ['E'] = 'e', ['F'] = 'f'};

/* Without a branch for each digit: a million orders have four million UUIDs. */
int uuid_read(const char *text, char out[UUID_TEXT]) {
    static const uint8_t ends[] = {8, 13, 18, 23, UUID_TEXT - 1};
    unsigned wrong = 0;
    size_t i = 0;

    for (size_t part = 0; part < sizeof ends; part++, i++) {
        for (; i < ends[part]; i++) {
            out[i] = lower[(unsigned char)text[i]];
            wrong |= (unsigned)out[i] - 1; /* of 0 it has all bits */
        }
        if (i < UUID_TEXT - 1) {
            wrong |= text[i] == '-' ? 0 : UINT_MAX;
            out[i] = '-';
        }
    }
    out[wrong > UCHAR_MAX ? 0 : UUID_TEXT - 1] = '\0';
    return wrong > UCHAR_MAX ? -1 : 0;
}

static unsigned uuid_digit(char digit) {
    return (unsigned)(digit <= '9' ? digit - '0' : digit - 'a' + 10);
}

void uuid_bytes(const char text[UUID_TEXT], uint8_t out[UUID_BYTES]) {
    size_t at = 0;

    for (size_t i = 0; i < UUID_BYTES; i++, at += 2) {
        at += is_dash_place(at);
        out[i] = (uint8_t)(uuid_digit(text[at]) << 4 | uuid_digit(text[at + 1]));
    }
}

int uuid_parse(const char *text, char out[UUID_TEXT]) {
    if (text != NULL && strnlen(text, UUID_TEXT) == UUID_TEXT - 1)
        return uuid_read(text, out);
    out[0] = '\0';
    return -1;
}
