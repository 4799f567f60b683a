/* The texts that go to etcd and come from it: base64, and integers of 64 bits, which its JSON has
 * as strings. */
#ifndef LOCKKIT_ETCD_TEXT_H
#define LOCKKIT_ETCD_TEXT_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define BASE64_SIZE(bytes) (((bytes) + 2) / 3 * 4 + 1)

/* With a NUL; `text` has BASE64_SIZE(length). */
void base64_encode(char *text, const char *bytes, size_t length);
/* 0 when it is missing, as etcd leaves out what is 0, or is no number from 0 up. */
int64_t json_integer_of(const json_t *object, const char *key);
/* Of base64, decoded; "" when it is missing. False when it does not fit, or is none. */
bool json_bytes_of(const json_t *object, const char *key, char *bytes, size_t size);

#endif
