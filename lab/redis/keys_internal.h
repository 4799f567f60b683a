/* What the parts of the server share. */
#ifndef LAB_KEYS_INTERNAL_H
#define LAB_KEYS_INTERNAL_H

#include "keys.h"

#include <lauxlib.h>

/* keys_script.c: as EVAL does. */
void keys_eval(struct keys *keys, int64_t now_ms, const char *text, const char *key,
               const char *const *args, size_t count, struct keys_reply *reply);
/* keys_lua.c: the state that all scripts run in, with a table `redis` of these; NULL without
 * memory. */
lua_State *keys_lua_open(const luaL_Reg *redis);
/* Before a script, in a protected call: nothing is there of those before it. */
void keys_lua_begin(lua_State *lua);
/* From here on its steps and calls are bounded. */
void keys_lua_watch(lua_State *lua);
void keys_lua_end(lua_State *lua);
__attribute__((format(printf, 2, 3))) void keys_fail(struct keys_reply *reply, const char *format,
                                                     ...);

/* A command while it runs. */
struct keys_running {
    struct keys *keys;
    int64_t now_ms;
    const char *const *argv;
    size_t argc;
    struct keys_reply *reply;
    int key; /* the place of argv[1]; -1: there is no such key */
};

/* keys_values.c: what commands are made of. */
void keys_say_number(struct keys_running *at, int64_t number);
void keys_say_text(struct keys_running *at, const char *text);
void keys_add_item(struct keys_running *at, const char *text);
void keys_begin_list(struct keys_running *at);
int keys_find(const struct keys *keys, const char *name);
/* The place of a key of this type, which is made when it is not there; -1 and an error. */
int keys_make(struct keys_running *at, enum keys_type type);
int keys_find_value(const struct keys_running *at, const char *member);
void keys_remove_value(struct keys *keys, int place);
int64_t keys_count_values(const struct keys_running *at);
/* A key without values is none. */
void keys_drop_if_empty(struct keys_running *at);
/* At the end, or in front of all others of the key. 0, or -1 and an error. */
int keys_add_value(struct keys_running *at, const char *member, const char *value, bool is_first);
/* 1: it is new; 0: it was there; -1: an error. */
int keys_put_value(struct keys_running *at, const char *member, const char *value);
const char *keys_value_of(const struct keys_running *at, const char *member);
int keys_read_number(struct keys_running *at, const char *text, int64_t *number);
void keys_remove(struct keys_running *at);

#endif
