/* The servers of keys and values as plain data. They answer the seam's commands like Redis. Server 0
 * holds the stock that is loaded into it, too.
 *
 * It is one flat struct of fixed size. An assignment copies it, and a replica is such a copy. Time
 * is an argument. A key is gone at the moment at which it expires. */
#ifndef LAB_KEYS_H
#define LAB_KEYS_H

#include "segments.h"
#include "store.h"

#include <stddef.h>
#include <stdint.h>

#define KEYS_MAX   16
#define KEYS_PARTS 2  /* of the loaded stock: masters of a Redis Cluster */
#define KEYS_NAME  48 /* with the NUL */

struct keys_key {
    char name[KEYS_NAME];
    char value[KV_TEXT];
    int64_t expires_ms; /* 0: never */
    int32_t owner;      /* the order that has set it */
    int32_t server;     /* as in struct kv_call */
};

struct keys {
    size_t key_count; /* the places behind these are unused */
    struct keys_key keys[KEYS_MAX];
    struct segments segments[KEYS_PARTS]; /* the second one only on a cluster */
};

/* Run a command of the seam at a server, without call->then, like inventory-svc's live store. OK, or
 * BUSY if the server refused it: then call->reply has the reason. A key that was made is the last
 * one, and its owner is 0. */
enum outcome keys_call(struct keys *keys, int server, int64_t now_ms, struct kv_call *call);
/* NULL if there is no such key. */
struct keys_key *keys_find(struct keys *keys, int server, const char *name);
/* True if the server has a key. */
bool keys_are_at(const struct keys *keys, int server);
/* Drop all keys of a server. */
void keys_lose(struct keys *keys, int server);
/* Give the master of this part what it had in `old`; that of part 0 is server 0, with its keys. The
 * other servers keep theirs. */
void keys_go_back(struct keys *keys, const struct keys *old, int part);

/* The moment at which the first key expires; 0: none does. */
int64_t keys_expire_next(const struct keys *keys);
/* Drop the keys that have expired. */
void keys_forget(struct keys *keys, int64_t now_ms);
/* A hash of the keys. It is equal for equal keys with equal times to live, in any sequence. */
uint64_t keys_hash(const struct keys *keys, int64_t now_ms);

#endif
