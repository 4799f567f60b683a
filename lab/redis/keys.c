/* The data, and the seam's calls. */
#include "keys_internal.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void keys_fail(struct keys_reply *reply, const char *format, ...) {
    va_list args;

    reply->type = KEYS_IS_ERROR;
    va_start(args, format);
    (void)vsnprintf(reply->text, sizeof reply->text, format, args);
    va_end(args);
}

/* ---- what has expired, and what is equal */

int64_t keys_expire_next(const struct keys *keys) {
    int64_t next_ms = 0;

    for (size_t i = 0; i < keys->key_count; i++) {
        const int64_t at_ms = keys->keys[i].type != KEYS_NONE ? keys->keys[i].expires_ms : 0;

        if (at_ms != 0 && (next_ms == 0 || at_ms < next_ms))
            next_ms = at_ms;
    }
    return next_ms;
}

static void drop(struct keys *keys, size_t key) {
    uint16_t left = 0;

    for (size_t i = 0; i < keys->value_count; i++)
        if (keys->values[i].key != key)
            keys->values[left++] = keys->values[i];
    keys->value_count = left;
    keys->keys[key].type = KEYS_NONE;
    while (keys->key_count > 0 && keys->keys[keys->key_count - 1].type == KEYS_NONE)
        keys->key_count--;
}

void keys_forget(struct keys *keys, int64_t now_ms) {
    for (size_t i = keys->key_count; i-- > 0;)
        if (keys->keys[i].type != KEYS_NONE && keys->keys[i].expires_ms != 0 &&
            keys->keys[i].expires_ms <= now_ms)
            drop(keys, i);
}

/* FNV-1a, finished by a multiplication (Fowler, Noll and Vo). */
static uint64_t mix(uint64_t hash, const char *text) {
    do
        hash = (hash ^ (unsigned char)*text) * UINT64_C(0x100000001b3);
    while (*text++ != '\0');
    hash *= UINT64_C(0x9e3779b97f4a7c15);
    return hash ^ hash >> 32;
}

static uint64_t left_ms(const struct keys_key *key, int64_t now_ms) {
    if (key->expires_ms == 0)
        return 0;
    return key->expires_ms > now_ms ? (uint64_t)(key->expires_ms - now_ms) + 1 : 1;
}

/* A sum, so that their order is all the same; but in a list each has a place. */
uint64_t keys_hash(const struct keys *keys, int64_t now_ms) {
    uint64_t sum = 0, places[KEYS_MAX] = {0};

    for (size_t i = 0; i < keys->key_count; i++)
        if (keys->keys[i].type != KEYS_NONE)
            sum += mix(mix(keys->keys[i].type, keys->keys[i].name), (const char[]){'\0'}) *
                   (1 + 2 * left_ms(&keys->keys[i], now_ms));
    for (size_t i = 0; i < keys->value_count; i++) {
        const struct keys_value *value = &keys->values[i];
        const struct keys_key *key = &keys->keys[value->key];
        uint64_t hash = mix(mix(mix(7, key->name), value->member), value->value);

        if (key->type == KEYS_LIST)
            hash *= 3 + 2 * places[value->key]++;
        sum += hash;
    }
    return sum;
}

/* ---- the seam's calls */

/* As kv_live.c reads replies. */
static void read_reply(struct kv_call *call, const struct keys_reply *reply) {
    call->is_yes = reply->type != KEYS_IS_NIL;
    call->reply[0] = '\0';
    if (reply->type == KEYS_IS_NUMBER) {
        call->number = reply->number;
        call->is_yes = reply->number != 0;
        (void)snprintf(call->reply, sizeof call->reply, "%lld", (long long)reply->number);
    } else if (reply->type == KEYS_IS_TEXT) {
        (void)snprintf(call->reply, sizeof call->reply, "%.*s", KV_TEXT - 1, reply->text);
    }
}

static void run_script(struct keys *keys, int64_t now_ms, const struct kv_call *call,
                       struct keys_reply *reply) {
    const char *args[KV_ARGS_MAX + 1];
    size_t count = 0;

    if (call->value != NULL)
        args[count++] = call->value;
    for (size_t i = 0; i < KV_ARGS_MAX && call->args[i] != NULL; i++)
        args[count++] = call->args[i];
    keys_eval(keys, now_ms, call->script->text, call->key, args, count, reply);
}

static void run_call(struct keys *keys, int64_t now_ms, const struct kv_call *call,
                     struct keys_reply *reply) {
    char ttl[24];
    const char *argv[6] = {"get", call->key};
    size_t argc = 2;

    (void)snprintf(ttl, sizeof ttl, "%lld", (long long)call->ttl_ms);
    switch (call->command) {
    case KV_SET_ABSENT:
        memcpy(argv, (const char *[]){"set", call->key, call->value, "nx", "px", ttl}, sizeof argv);
        argc = call->ttl_ms > 0 ? 6 : 4;
        break;
    case KV_EXPIRE:
        argv[0] = "pexpire";
        argv[argc++] = ttl;
        break;
    case KV_GET:
        break;
    case KV_DELETE:
        argv[0] = "del";
        break;
    case KV_DELETE_IF_EQUAL:
        keys_run(keys, now_ms, argv, argc, reply);
        if (reply->type != KEYS_IS_TEXT || strcmp(reply->text, call->value) != 0) {
            *reply = (struct keys_reply){.type = reply->type == KEYS_IS_ERROR ? KEYS_IS_ERROR
                                                                              : KEYS_IS_NUMBER};
            return;
        }
        argv[0] = "del";
        break;
    case KV_SCRIPT:
        run_script(keys, now_ms, call, reply);
        return;
    }
    keys_run(keys, now_ms, argv, argc, reply);
}

enum outcome keys_call(struct keys *keys, int64_t now_ms, struct kv_call *call) {
    struct keys_reply reply = {.type = KEYS_IS_NIL};

    run_call(keys, now_ms, call, &reply);
    if (reply.type == KEYS_IS_ERROR) {
        (void)snprintf(call->reply, sizeof call->reply, "%.*s", KV_TEXT - 1, reply.text);
        return OUTCOME_BUSY;
    }
    read_reply(call, &reply);
    return OUTCOME_OK;
}
