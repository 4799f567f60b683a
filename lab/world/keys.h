/* A server of keys and values as plain data: what Redis answers to the seam's commands, and the
 * stock that is loaded into it.
 *
 * All of it is one flat struct of bounded size: copied by assignment, a replica is a copy. Time is
 * an argument, and a key is gone the moment it expires. */
#ifndef LAB_KEYS_H
#define LAB_KEYS_H

#include "segments.h"
#include "store.h"

#include <stddef.h>
#include <stdint.h>

#define KEYS_MAX  12
#define KEYS_NAME 48 /* with the NUL */

struct keys_key {
    char name[KEYS_NAME];
    char value[KV_TEXT];
    int64_t expires_ms; /* 0: never */
};

struct keys {
    size_t key_count; /* the places behind them mean nothing */
    struct keys_key keys[KEYS_MAX];
    struct segments segments;
};

/* Run a call of the seam, as inventory-svc's live store does. OK; or BUSY, the server refused it,
 * and call->reply says why. */
enum outcome keys_call(struct keys *keys, int64_t now_ms, struct kv_call *call);

/* The moment at which the first of them expires; 0: none does. */
int64_t keys_expire_next(const struct keys *keys);
/* Drop what has expired. */
void keys_forget(struct keys *keys, int64_t now_ms);
/* Of the keys: equal for equal contents, whatever the order in which they came, that expire in as
 * long. */
uint64_t keys_hash(const struct keys *keys, int64_t now_ms);

#endif
