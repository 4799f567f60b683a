/* A server of keys and values as plain data: what Redis answers to the seam's commands and scripts.
 *
 * All of it is one flat struct of bounded size: copied by assignment, a replica is a copy. Time is
 * an argument, and a key is gone the moment it expires. It knows texts, hashes, lists and sorted
 * sets, and of their commands those that scripts of a sale use; the others are an error that names
 * them. */
#ifndef LAB_KEYS_H
#define LAB_KEYS_H

#include "store.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define KEYS_MAX     12 /* keys */
#define KEYS_VALUES  56 /* values of them all: one of a text, one for each member of the others */
#define KEYS_NAME    48 /* of a key, with the NUL */
#define KEYS_MEMBER  48 /* of a field or a member, with the NUL */
#define KEYS_REPLIES 64

enum keys_type { KEYS_NONE, KEYS_TEXT, KEYS_HASH, KEYS_LIST, KEYS_SORTED };

struct keys_key {
    uint8_t type; /* enum keys_type; NONE: a free place */
    char name[KEYS_NAME];
    int64_t expires_ms; /* 0: never */
};

struct keys_value {
    uint8_t key; /* its place */
    char member[KEYS_MEMBER];
    char value[KV_TEXT]; /* a sorted set's is the score */
};

/* Values of a list stand in its order. */
struct keys {
    uint16_t key_count, value_count; /* places in use; those behind them mean nothing */
    bool is_timed;                   /* it was asked what time it is */
    struct keys_key keys[KEYS_MAX];
    struct keys_value values[KEYS_VALUES];
};

enum keys_reply_type { KEYS_IS_NIL, KEYS_IS_NUMBER, KEYS_IS_TEXT, KEYS_IS_LIST, KEYS_IS_ERROR };

struct keys_reply {
    enum keys_reply_type type;
    int64_t number; /* of a list: its items */
    char text[256]; /* of a text or an error */
    struct {
        bool is_nil;
        char text[KV_TEXT];
    } items[KEYS_REPLIES];
};

/* Run one command: argv[0] is its name. */
void keys_run(struct keys *keys, int64_t now_ms, const char *const *argv, size_t argc,
              struct keys_reply *reply);

/* Run a call of the seam, as inventory-svc's live store does. OK; or BUSY, the server refused it,
 * as it does a script that fails, and call->reply says why. A script that fails in its middle has
 * done what it did before. */
enum outcome keys_call(struct keys *keys, int64_t now_ms, struct kv_call *call);

/* The moment at which the first of them expires; 0: none does. */
int64_t keys_expire_next(const struct keys *keys);
/* Drop what has expired. */
void keys_forget(struct keys *keys, int64_t now_ms);
/* Equal for equal contents, whatever the order in which they came, that expire in as long. */
uint64_t keys_hash(const struct keys *keys, int64_t now_ms);

#endif
