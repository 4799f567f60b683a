/* The commands of the servers of keys, a function each. */
#include "keys.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- expiry and hash */

int64_t keys_expire_next(const struct keys *keys) {
    int64_t next_ms = 0;

    for (size_t i = 0; i < keys->key_count; i++) {
        const int64_t at_ms = keys->keys[i].expires_ms;

        if (at_ms != 0 && (next_ms == 0 || at_ms < next_ms))
            next_ms = at_ms;
    }
    return next_ms;
}

static void keys_drop(struct keys *keys, struct keys_key *key) {
    *key = keys->keys[--keys->key_count];
}

void keys_forget(struct keys *keys, int64_t now_ms) {
    for (size_t i = keys->key_count; i-- > 0;)
        if (keys->keys[i].expires_ms != 0 && keys->keys[i].expires_ms <= now_ms)
            keys_drop(keys, &keys->keys[i]);
}

/* FNV-1a with a multiplication at the end (Fowler, Noll and Vo). */
static uint64_t mix(uint64_t hash, const char *text) {
    do
        hash = (hash ^ (unsigned char)*text) * UINT64_C(0x100000001b3);
    while (*text++ != '\0');
    hash *= UINT64_C(0x9e3779b97f4a7c15);
    return hash ^ hash >> 32;
}

static uint64_t keys_left_ms(const struct keys_key *key, int64_t now_ms) {
    if (key->expires_ms == 0)
        return 0;
    return key->expires_ms > now_ms ? (uint64_t)(key->expires_ms - now_ms) + 1 : 1;
}

/* A sum, so that the keys' sequence does not matter. */
uint64_t keys_hash(const struct keys *keys, int64_t now_ms) {
    uint64_t sum = 0;

    for (size_t i = 0; i < keys->key_count; i++)
        sum += mix(mix(7, keys->keys[i].name), keys->keys[i].value) *
               (1 + 2 * keys_left_ms(&keys->keys[i], now_ms)) *
               (1 + 2 * (uint64_t)keys->keys[i].owner) * (1 + 2 * (uint64_t)keys->keys[i].server);
    return sum;
}

/* ---- commands */

struct keys_key *keys_find(struct keys *keys, int server, const char *name) {
    for (size_t i = 0; i < keys->key_count; i++)
        if (keys->keys[i].server == server && strcmp(keys->keys[i].name, name) == 0)
            return &keys->keys[i];
    return NULL;
}

static enum outcome keys_refuse(struct kv_call *call, const char *why) {
    (void)snprintf(call->reply, sizeof call->reply, "ERR %s", why);
    return OUTCOME_BUSY;
}

static enum outcome keys_answer(struct kv_call *call, bool is_yes) {
    call->is_yes = is_yes;
    return OUTCOME_OK;
}

static enum outcome keys_make(struct keys *keys, int server, struct kv_call *call,
                              const char *value, int64_t expires_ms) {
    struct keys_key *key = &keys->keys[keys->key_count];

    if (keys->key_count == KEYS_MAX || strlen(call->key) >= sizeof key->name ||
        strlen(value) >= sizeof key->value)
        return keys_refuse(call, "the model has no room for this key or its value");
    *key = (struct keys_key){.expires_ms = expires_ms, .server = server};
    strcpy(key->name, call->key);
    strcpy(key->value, value);
    keys->key_count++;
    return keys_answer(call, true);
}

static enum outcome set_absent(struct keys *keys, int server, int64_t now_ms,
                               struct kv_call *call) {
    int64_t expires_ms = 0;

    if (call->ttl_ms > 0 && __builtin_add_overflow(now_ms, call->ttl_ms, &expires_ms))
        return keys_refuse(call, "invalid expire time in 'set' command");
    if (keys_find(keys, server, call->key) != NULL)
        return keys_answer(call, false);
    return keys_make(keys, server, call, call->value, expires_ms);
}

static enum outcome keys_expire(struct keys *keys, struct keys_key *key, int64_t now_ms,
                                struct kv_call *call) {
    int64_t expires_ms;

    if (__builtin_add_overflow(now_ms, call->ttl_ms, &expires_ms))
        return keys_refuse(call, "invalid expire time in 'pexpire' command");
    if (key == NULL)
        return keys_answer(call, false);
    if (expires_ms <= now_ms)
        keys_drop(keys, key);
    else
        key->expires_ms = expires_ms;
    return keys_answer(call, true);
}

static enum outcome keys_get(const struct keys_key *key, struct kv_call *call) {
    if (key != NULL)
        memcpy(call->reply, key->value, sizeof call->reply);
    return keys_answer(call, key != NULL);
}

/* Delete the key if it has this value. NULL: any value. */
static enum outcome delete_key(struct keys *keys, struct keys_key *key, struct kv_call *call,
                               const char *value) {
    if (key == NULL || (value != NULL && strcmp(key->value, value) != 0))
        return keys_answer(call, false);
    keys_drop(keys, key);
    return keys_answer(call, true);
}

/* A number as Redis writes it. False: it is none, or has no successor. */
static bool keys_read_number(const char *text, int64_t *number) {
    char again[KV_TEXT];
    char *end;

    errno = 0;
    *number = strtoll(text, &end, 10);
    (void)snprintf(again, sizeof again, "%" PRId64, *number);
    return errno == 0 && *end == '\0' && strcmp(again, text) == 0 && *number < INT64_MAX;
}

static enum outcome keys_count(struct keys *keys, int server, struct keys_key *key,
                               struct kv_call *call) {
    int64_t number = 0;
    enum outcome outcome;

    if (key != NULL && !keys_read_number(key->value, &number))
        return keys_refuse(call, "value is not an integer or out of range");
    outcome = key != NULL ? OUTCOME_OK : keys_make(keys, server, call, "0", 0);
    if (outcome != OUTCOME_OK)
        return outcome;
    key = keys_find(keys, server, call->key);
    (void)snprintf(key->value, sizeof key->value, "%" PRId64, number + 1);
    return keys_get(key, call);
}

enum outcome keys_call(struct keys *keys, int server, int64_t now_ms, struct kv_call *call) {
    struct keys_key *key;

    keys_forget(keys, now_ms);
    call->is_yes = false;
    call->reply[0] = '\0';
    key = keys_find(keys, server, call->key);
    switch (call->command) {
    case KV_SET_ABSENT:
        return set_absent(keys, server, now_ms, call);
    case KV_EXPIRE:
        return keys_expire(keys, key, now_ms, call);
    case KV_GET:
        return keys_get(key, call);
    case KV_DELETE:
        return delete_key(keys, key, call, NULL);
    case KV_DELETE_IF_EQUAL:
        return delete_key(keys, key, call, call->value);
    case KV_IS:
        return keys_answer(call, key != NULL && strcmp(key->value, call->value) == 0);
    case KV_COUNT:
        return keys_count(keys, server, key, call);
    }
    return OUTCOME_BUSY;
}

/* ---- servers */

bool keys_are_at(const struct keys *keys, int server) {
    for (size_t i = 0; i < keys->key_count; i++)
        if (keys->keys[i].server == server)
            return true;
    return false;
}

void keys_lose(struct keys *keys, int server) {
    for (size_t i = keys->key_count; i-- > 0;)
        if (keys->keys[i].server == server)
            keys_drop(keys, &keys->keys[i]);
}

void keys_go_back(struct keys *keys, const struct keys *old, int part) {
    keys->segments[part] = old->segments[part];
    if (part > 0)
        return;
    keys_lose(keys, 0);
    for (size_t i = 0; i < old->key_count && keys->key_count < KEYS_MAX; i++)
        if (old->keys[i].server == 0)
            keys->keys[keys->key_count++] = old->keys[i];
}
