/* The Lua that scripts run in: 5.1, as Redis has it, with bounds on memory, steps and calls, and
 * with nothing in it that differs from run to run or stays for the next script. */
#include "keys_internal.h"

#include <lauxlib.h>
#include <lua.h>
#include <lualib.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#define MEMORY ((size_t)16 << 20)
/* Memory that one script may ask for, used again or not. Lua 5.1 hashes a few characters of a long
 * string: strings that collide take time by the square of their number. */
#define SPENT   ((size_t)4 << 20)
#define KEPT    ((size_t)1 << 20) /* without looking what is used */
#define STEPS   200000
#define STACK   ((size_t)40 << 10) /* of the fiber that it runs in */
#define PATTERN 256                /* bytes, as each may be a call of a call */
#define TRIES   1e8                /* of a pattern, at a guess */

static struct {
    lua_State *lua;
    size_t bytes;
    /* Of the script that runs. */
    size_t spent;
    const char *stack; /* where it began */
} scripts;

static void on_hook(lua_State *lua, lua_Debug *debug);

static bool is_room(size_t more) {
    if (scripts.bytes + more <= MEMORY && scripts.spent + more <= SPENT) {
        scripts.spent += more;
        return true;
    }
    if (scripts.lua != NULL) /* a script that catches the error goes no further */
        (void)lua_sethook(scripts.lua, on_hook, LUA_MASKCOUNT, 1);
    return false;
}

static void *allocate(void *data, void *old, size_t old_size, size_t size) {
    void *block;

    (void)data;
    if (size == 0) {
        free(old);
        scripts.bytes -= old_size;
        return NULL;
    }
    if (size > old_size && !is_room(size - old_size))
        return NULL;
    block = realloc(old, size);
    if (block != NULL)
        scripts.bytes += size - old_size;
    return block;
}

/* A script may catch the error, but then its next step is one, too. */
static void on_hook(lua_State *lua, lua_Debug *debug) {
    const char *at = __builtin_frame_address(0);

    if (debug->event == LUA_HOOKCOUNT) {
        (void)lua_sethook(lua, on_hook, LUA_MASKCOUNT, 1);
        (void)luaL_error(lua, "the script does not end");
    }
    if (scripts.stack - at > (ptrdiff_t)STACK)
        (void)luaL_error(lua, "the script calls too deep");
}

/* ---- what is not as in Lua */

/* Without its address, which would differ from run to run. */
static int on_tostring(lua_State *lua) {
    const int type = lua_type(lua, 1);

    luaL_checkany(lua, 1);
    if (type == LUA_TTABLE || type == LUA_TFUNCTION) {
        lua_pushfstring(lua, "%s: 0x0", lua_typename(lua, type));
        return 1;
    }
    lua_settop(lua, 1);
    lua_pushvalue(lua, lua_upvalueindex(1));
    lua_insert(lua, 1);
    lua_call(lua, 1, 1);
    return 1;
}

/* A handler would be called where no hook is: an endless one would be that. */
static int on_xpcall(lua_State *lua) {
    int failed;

    luaL_checkany(lua, 2);
    lua_settop(lua, 2);
    lua_pushvalue(lua, 1);
    failed = lua_pcall(lua, 0, LUA_MULTRET, 0);
    if (failed) {
        lua_pushvalue(lua, 2);
        lua_insert(lua, -2);
        (void)lua_pcall(lua, 1, 1, 0);
    }
    lua_pushboolean(lua, !failed);
    lua_replace(lua, 2);
    return lua_gettop(lua) - 1;
}

/* How often a pattern may be tried at most: each repetition at each place of the text. */
static double count_tries(const char *pattern, size_t length, double places) {
    double tries = places;
    bool is_set = false;

    for (size_t i = 0; i < length; i++) {
        if (pattern[i] == '%')
            i++;
        else if (pattern[i] == '[' || pattern[i] == ']')
            is_set = pattern[i] == '[';
        else if (!is_set && strchr("*+-?", pattern[i]) != NULL && pattern[i] != '\0')
            tries *= places;
    }
    return tries;
}

/* Before string.find and the like, which no hook sees. */
static int on_pattern(lua_State *lua) {
    size_t size = 0, length = 0;
    const char *text = lua_tolstring(lua, 1, &size), *pattern = lua_tolstring(lua, 2, &length);

    if (text != NULL && pattern != NULL &&
        (length > PATTERN || count_tries(pattern, length, (double)size + 1) > TRIES))
        return luaL_error(lua, "the pattern would take too long");
    lua_pushvalue(lua, lua_upvalueindex(1));
    lua_insert(lua, 1);
    lua_call(lua, lua_gettop(lua) - 1, LUA_MULTRET);
    return lua_gettop(lua);
}

static int on_global(lua_State *lua) {
    return luaL_error(lua, "Script attempted to access nonexistent global variable '%s'",
                      lua_tostring(lua, 2));
}

/* ---- the state, made once */

/* Puts a table in its place through which the one on the stack can be read. What a script gets into
 * it all the same is thrown away before the next: see clear(). */
static void push_proxy(lua_State *lua) {
    lua_newtable(lua);
    lua_newtable(lua);
    lua_pushvalue(lua, -3);
    lua_setfield(lua, -2, "__index");
    lua_pushcfunction(lua, on_global);
    lua_setfield(lua, -2, "__newindex");
    lua_setmetatable(lua, -2);
    lua_remove(lua, -2);
    lua_getfield(lua, LUA_REGISTRYINDEX, "proxies");
    lua_pushvalue(lua, -2);
    lua_rawseti(lua, -2, (int)lua_objlen(lua, -2) + 1);
    lua_pop(lua, 1);
}

static void clear(lua_State *lua) {
    lua_getfield(lua, LUA_REGISTRYINDEX, "proxies");
    for (int i = (int)lua_objlen(lua, -1); i > 0; i--) {
        lua_rawgeti(lua, -1, i);
        for (lua_pushnil(lua); lua_next(lua, -2) != 0; lua_pushnil(lua)) {
            lua_pop(lua, 1);
            lua_pushnil(lua);
            lua_rawset(lua, -3);
        }
        lua_pop(lua, 1);
    }
    lua_pop(lua, 1);
}

static void wrap(lua_State *lua, const char *name, lua_CFunction around) {
    lua_getfield(lua, -1, name);
    lua_pushcclosure(lua, around, 1);
    lua_setfield(lua, -2, name);
}

static void change_strings(lua_State *lua) {
    static const char *const patterns[] = {"find", "match", "gmatch", "gsub", "gfind"};

    lua_getglobal(lua, "string");
    lua_pushnil(lua); /* bytes of a function are code */
    lua_setfield(lua, -2, "dump");
    for (size_t i = 0; i < sizeof patterns / sizeof *patterns; i++)
        wrap(lua, patterns[i], on_pattern);
    lua_pop(lua, 1);
}

static void lock_tables(lua_State *lua) {
    static const char *const tables[] = {"string", "table", "math", "redis"};

    lua_newtable(lua);
    lua_setfield(lua, LUA_REGISTRYINDEX, "proxies");
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++) {
        lua_getglobal(lua, tables[i]);
        push_proxy(lua);
        lua_setglobal(lua, tables[i]);
    }
    lua_newtable(lua);
    lua_pushcfunction(lua, on_global);
    lua_setfield(lua, -2, "__index");
    lua_setmetatable(lua, LUA_GLOBALSINDEX);
    lua_pushvalue(lua, LUA_GLOBALSINDEX);
    push_proxy(lua);
    lua_pushvalue(lua, -1);
    lua_setglobal(lua, "_G");
    lua_replace(lua, LUA_GLOBALSINDEX);
}

static int set_up(lua_State *lua) {
    const luaL_Reg *own = lua_touserdata(lua, 1);
    static const lua_CFunction libraries[] = {luaopen_base, luaopen_string, luaopen_table,
                                              luaopen_math};
    static const char *const outside[] = {
        "load",         "loadstring", "loadfile", "dofile",   "print",   "collectgarbage",
        "newproxy",     "module",     "require",  "getfenv",  "setfenv", "getmetatable",
        "setmetatable", "rawset",     "gcinfo",   "coroutine"};

    for (size_t i = 0; i < sizeof libraries / sizeof *libraries; i++) {
        lua_pushcfunction(lua, libraries[i]);
        lua_call(lua, 0, 0);
    }
    for (size_t i = 0; i < sizeof outside / sizeof *outside; i++) {
        lua_pushnil(lua);
        lua_setglobal(lua, outside[i]);
    }
    change_strings(lua);
    lua_getglobal(lua, "math"); /* chance would differ from run to run */
    lua_pushnil(lua);
    lua_setfield(lua, -2, "random");
    lua_pushvalue(lua, LUA_GLOBALSINDEX);
    wrap(lua, "tostring", on_tostring);
    wrap(lua, "xpcall", on_xpcall);
    lua_newtable(lua);
    luaL_register(lua, NULL, own);
    lua_setglobal(lua, "redis");
    lua_newtable(lua);
    lua_setfield(lua, LUA_REGISTRYINDEX, "compiled");
    lock_tables(lua);
    return 0;
}

static void end_lua(void) {
    if (scripts.lua != NULL)
        lua_close(scripts.lua);
    scripts.lua = NULL;
}

lua_State *keys_lua_open(const luaL_Reg *redis) {
    if (scripts.lua != NULL)
        return scripts.lua;
    scripts.spent = 0;
    scripts.lua = lua_newstate(allocate, NULL);
    if (scripts.lua != NULL && lua_cpcall(scripts.lua, set_up, (void *)(uintptr_t)redis) != 0)
        end_lua();
    return scripts.lua;
}

/* ---- a script's bounds */

void keys_lua_begin(lua_State *lua) {
    scripts.spent = 0;
    scripts.stack = __builtin_frame_address(0);
    clear(lua);
}

void keys_lua_watch(lua_State *lua) {
    (void)lua_sethook(lua, on_hook, LUA_MASKCOUNT | LUA_MASKCALL, STEPS);
}

void keys_lua_end(lua_State *lua) {
    (void)lua_sethook(lua, NULL, 0, 0);
    lua_settop(lua, 0);
    scripts.spent = 0;
    if (scripts.bytes > KEPT) /* so that no script has less room for those before it */
        (void)lua_gc(lua, LUA_GCCOLLECT, 0);
}
