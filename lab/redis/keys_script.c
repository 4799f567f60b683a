/* Scripts.
 *
 * A script gets what Redis gives it: KEYS, ARGV, redis.call and redis.pcall, string, table, math
 * and the base functions that neither load code nor reach outside. What it sets globally is an
 * error. */
#include "keys_internal.h"

#include <lauxlib.h>
#include <lua.h>
#include <stdio.h>
#include <string.h>

/* Of the script that runs. */
static struct {
    struct keys *keys;
    int64_t now_ms;
} scripts;

/* ---- redis.call */

static void push_reply(lua_State *lua, const struct keys_reply *reply) {
    switch (reply->type) {
    case KEYS_IS_NIL:
        lua_pushboolean(lua, 0);
        return;
    case KEYS_IS_NUMBER:
        lua_pushnumber(lua, (lua_Number)reply->number);
        return;
    case KEYS_IS_TEXT:
        lua_pushstring(lua, reply->text);
        if (strcmp(reply->text, "OK") == 0) { /* a status */
            lua_newtable(lua);
            lua_insert(lua, -2);
            lua_setfield(lua, -2, "ok");
        }
        return;
    case KEYS_IS_ERROR:
        lua_newtable(lua);
        lua_pushstring(lua, reply->text);
        lua_setfield(lua, -2, "err");
        return;
    case KEYS_IS_LIST:
        lua_createtable(lua, (int)reply->number, 0);
        for (int i = 0; i < reply->number; i++) {
            if (reply->items[i].is_nil)
                lua_pushboolean(lua, 0);
            else
                lua_pushstring(lua, reply->items[i].text);
            lua_rawseti(lua, -2, i + 1);
        }
        return;
    }
}

/* Numbers are told as Redis tells them: whole ones without a fraction. */
static const char *argument(lua_State *lua, int at, char text[32]) {
    if (lua_type(lua, at) == LUA_TNUMBER) {
        (void)snprintf(text, 32, "%.17g", lua_tonumber(lua, at));
        return text;
    }
    return lua_type(lua, at) == LUA_TSTRING ? lua_tostring(lua, at) : NULL;
}

static int run(lua_State *lua, bool is_protected) {
    const char *argv[32];
    char numbers[32][32];
    struct keys_reply reply;
    const int argc = lua_gettop(lua);

    if (argc < 1 || argc > 32)
        return luaL_error(lua, "redis.call takes 1 to 32 arguments");
    for (int i = 0; i < argc; i++) {
        argv[i] = argument(lua, i + 1, numbers[i]);
        if (argv[i] == NULL)
            return luaL_error(lua, "redis.call takes strings and numbers");
    }
    keys_run(scripts.keys, scripts.now_ms, argv, (size_t)argc, &reply);
    if (reply.type == KEYS_IS_ERROR && !is_protected)
        return luaL_error(lua, "%s", reply.text);
    push_reply(lua, &reply);
    return 1;
}

static int on_call(lua_State *lua) {
    return run(lua, false);
}

static int on_pcall(lua_State *lua) {
    return run(lua, true);
}

static int make_table_of(lua_State *lua, const char *field) {
    if (lua_gettop(lua) != 1 || lua_type(lua, 1) != LUA_TSTRING)
        return luaL_error(lua, "one string is wanted");
    lua_newtable(lua);
    lua_insert(lua, 1);
    lua_setfield(lua, 1, field);
    return 1;
}

static int on_error_reply(lua_State *lua) {
    return make_table_of(lua, "err");
}

static int on_status_reply(lua_State *lua) {
    return make_table_of(lua, "ok");
}

static const luaL_Reg functions[] = {{"call", on_call},
                                     {"pcall", on_pcall},
                                     {"error_reply", on_error_reply},
                                     {"status_reply", on_status_reply},
                                     {NULL, NULL}};

/* ---- a script */

struct script {
    const char *text, *key;
    const char *const *args;
    size_t count;
    struct keys_reply *reply;
};

static void push_compiled(lua_State *lua, const char *text) {
    lua_getfield(lua, LUA_REGISTRYINDEX, "compiled");
    lua_getfield(lua, -1, text);
    if (!lua_isnil(lua, -1))
        return;
    lua_pop(lua, 1);
    if (text[0] == LUA_SIGNATURE[0])
        (void)luaL_error(lua, "a script is a text");
    if (luaL_loadbuffer(lua, text, strlen(text), "@script") != 0)
        (void)lua_error(lua);
    lua_pushvalue(lua, -1);
    lua_setfield(lua, -3, text);
}

static void set_list(lua_State *lua, const char *name, const char *const *texts, size_t count) {
    lua_pushstring(lua, name);
    lua_createtable(lua, (int)count, 0);
    for (size_t i = 0; i < count; i++) {
        lua_pushstring(lua, texts[i]);
        lua_rawseti(lua, -2, (int)i + 1);
    }
    lua_rawset(lua, LUA_GLOBALSINDEX);
}

/* What no number can be is told as Redis tells it. */
static int64_t whole(lua_Number number) {
    return number >= -9223372036854775808.0 && number < 9223372036854775808.0 ? (int64_t)number
                                                                              : INT64_MIN;
}

/* { ok = } and { err = } are replies of their own. */
static bool is_reply(lua_State *lua, const char *field, struct keys_reply *reply,
                     enum keys_reply_type type) {
    bool is = false;

    lua_pushstring(lua, field);
    lua_rawget(lua, -2);
    if (lua_type(lua, -1) == LUA_TSTRING) {
        is = true;
        reply->type = type;
        (void)snprintf(reply->text, sizeof reply->text, "%s", lua_tostring(lua, -1));
    }
    lua_pop(lua, 1);
    return is;
}

/* To the first nil, as Redis does. */
static void read_table(lua_State *lua, struct keys_reply *reply) {
    if (is_reply(lua, "err", reply, KEYS_IS_ERROR) || is_reply(lua, "ok", reply, KEYS_IS_TEXT))
        return;
    reply->type = KEYS_IS_LIST;
    for (reply->number = 0; reply->number < KEYS_REPLIES; reply->number++) {
        char number[32];

        lua_rawgeti(lua, -1, (int)reply->number + 1);
        if (lua_isnil(lua, -1))
            break;
        if (lua_type(lua, -1) == LUA_TNUMBER)
            (void)snprintf(number, sizeof number, "%lld", (long long)whole(lua_tonumber(lua, -1)));
        reply->items[reply->number].is_nil = lua_isboolean(lua, -1) && !lua_toboolean(lua, -1);
        (void)snprintf(reply->items[reply->number].text, KV_TEXT, "%s",
                       lua_type(lua, -1) == LUA_TNUMBER   ? number
                       : lua_type(lua, -1) == LUA_TSTRING ? lua_tostring(lua, -1)
                                                          : "");
        lua_pop(lua, 1);
    }
}

static void read_result(lua_State *lua, struct keys_reply *reply) {
    switch (lua_type(lua, -1)) {
    case LUA_TNUMBER:
        reply->type = KEYS_IS_NUMBER;
        reply->number = whole(lua_tonumber(lua, -1));
        break;
    case LUA_TSTRING:
        reply->type = KEYS_IS_TEXT;
        (void)snprintf(reply->text, sizeof reply->text, "%s", lua_tostring(lua, -1));
        break;
    case LUA_TBOOLEAN:
        reply->type = lua_toboolean(lua, -1) ? KEYS_IS_NUMBER : KEYS_IS_NIL;
        reply->number = 1;
        break;
    case LUA_TTABLE:
        read_table(lua, reply);
        break;
    default:
        reply->type = KEYS_IS_NIL;
    }
}

static int run_script(lua_State *lua) {
    const struct script *script = lua_touserdata(lua, 1);

    keys_lua_begin(lua);
    set_list(lua, "KEYS", &script->key, 1);
    set_list(lua, "ARGV", script->args, script->count);
    push_compiled(lua, script->text);
    keys_lua_watch(lua);
    lua_call(lua, 0, 1);
    (void)lua_sethook(lua, NULL, 0, 0);
    read_result(lua, script->reply);
    return 0;
}

void keys_eval(struct keys *keys, int64_t now_ms, const char *text, const char *key,
               const char *const *args, size_t count, struct keys_reply *reply) {
    struct script script = {text, key, args, count, reply};
    lua_State *lua = keys_lua_open(functions);

    if (lua == NULL) {
        keys_fail(reply, "ERR no memory for scripts");
        return;
    }
    scripts.keys = keys;
    scripts.now_ms = now_ms;
    if (lua_cpcall(lua, run_script, &script) != 0) {
        const char *why = lua_tostring(lua, -1);

        keys_fail(reply, "ERR %s", why != NULL ? why : "the script failed");
    }
    keys_lua_end(lua);
}
