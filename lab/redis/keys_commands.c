/* The commands, a function each. */
#include "keys_internal.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

/* ---- any key */

static void run_del(struct keys_running *at) {
    int64_t deleted = 0;

    for (size_t i = 1; i < at->argc; i++) {
        at->key = keys_find(at->keys, at->argv[i]);
        deleted += at->key >= 0;
        keys_remove(at);
    }
    keys_say_number(at, deleted);
}

static void run_exists(struct keys_running *at) {
    int64_t found = 0;

    for (size_t i = 1; i < at->argc; i++)
        found += keys_find(at->keys, at->argv[i]) >= 0;
    keys_say_number(at, found);
}

/* The moment in so many units of `unit_ms`. 0, or -1 and an error. */
static int read_moment(struct keys_running *at, const char *text, int64_t unit_ms, int64_t *at_ms) {
    int64_t units, ms;

    if (keys_read_number(at, text, &units) != 0)
        return -1;
    if (!__builtin_mul_overflow(units, unit_ms, &ms) &&
        !__builtin_add_overflow(at->now_ms, ms, at_ms))
        return 0;
    keys_fail(at->reply, "ERR invalid expire time in '%s' command", at->argv[0]);
    return -1;
}

static void expire_in(struct keys_running *at, int64_t unit_ms) {
    int64_t at_ms;

    if (read_moment(at, at->argv[2], unit_ms, &at_ms) != 0)
        return;
    keys_say_number(at, at->key >= 0);
    if (at->key < 0)
        return;
    if (at_ms <= at->now_ms)
        keys_remove(at);
    else
        at->keys->keys[at->key].expires_ms = at_ms;
}

static void run_pexpire(struct keys_running *at) {
    expire_in(at, 1);
}

static void run_expire(struct keys_running *at) {
    expire_in(at, 1000);
}

static void run_persist(struct keys_running *at) {
    keys_say_number(at, at->key >= 0 && at->keys->keys[at->key].expires_ms != 0);
    if (at->key >= 0)
        at->keys->keys[at->key].expires_ms = 0;
}

static void run_pttl(struct keys_running *at) {
    const int64_t at_ms = at->key >= 0 ? at->keys->keys[at->key].expires_ms : 0;

    keys_say_number(at, at->key < 0 ? -2 : at_ms == 0 ? -1 : at_ms - at->now_ms);
}

/* ---- texts */

static void run_get(struct keys_running *at) {
    keys_say_text(at, keys_value_of(at, ""));
}

static int set_text(struct keys_running *at, const char *value) {
    return keys_make(at, KEYS_TEXT) >= 0 && keys_put_value(at, "", value) >= 0 ? 0 : -1;
}

static void run_set(struct keys_running *at) {
    bool is_nx = false, is_xx = false;
    int64_t expires_ms = 0;

    for (size_t i = 3; i < at->argc; i++) {
        const bool is_px = strcasecmp(at->argv[i], "px") == 0;

        if (strcasecmp(at->argv[i], "nx") == 0) {
            is_nx = true;
        } else if (strcasecmp(at->argv[i], "xx") == 0) {
            is_xx = true;
        } else if ((is_px || strcasecmp(at->argv[i], "ex") == 0) && i + 1 < at->argc) {
            if (read_moment(at, at->argv[++i], is_px ? 1 : 1000, &expires_ms) != 0)
                return;
            if (expires_ms <= at->now_ms) {
                keys_fail(at->reply, "ERR invalid expire time in 'set' command");
                return;
            }
        } else {
            keys_fail(at->reply, "ERR syntax error");
            return;
        }
    }
    if ((is_nx && at->key >= 0) || (is_xx && at->key < 0)) {
        keys_say_text(at, NULL);
        return;
    }
    keys_remove(at);
    if (set_text(at, at->argv[2]) != 0)
        return;
    at->keys->keys[at->key].expires_ms = expires_ms;
    keys_say_text(at, "OK");
}

static void run_setnx(struct keys_running *at) {
    const bool is_absent = at->key < 0;

    if (!is_absent || set_text(at, at->argv[2]) == 0)
        keys_say_number(at, is_absent);
}

/* `old` and more; NULL is 0. 0, or -1 and an error. */
static int add(struct keys_running *at, const char *old, int64_t more, int64_t *sum,
               char text[24]) {
    int64_t number = 0;

    if (old != NULL && keys_read_number(at, old, &number) != 0)
        return -1;
    if (__builtin_add_overflow(number, more, sum)) {
        keys_fail(at->reply, "ERR increment or decrement would overflow");
        return -1;
    }
    (void)snprintf(text, 24, "%lld", (long long)*sum);
    return 0;
}

static void add_to_text(struct keys_running *at, int64_t more) {
    char text[24];
    int64_t sum;

    if (add(at, keys_value_of(at, ""), more, &sum, text) == 0 && set_text(at, text) == 0)
        keys_say_number(at, sum);
}

static void run_incr(struct keys_running *at) {
    add_to_text(at, 1);
}

static void run_decr(struct keys_running *at) {
    add_to_text(at, -1);
}

static void run_incrby(struct keys_running *at) {
    int64_t more;

    if (keys_read_number(at, at->argv[2], &more) == 0)
        add_to_text(at, more);
}

static void run_decrby(struct keys_running *at) {
    int64_t less;

    if (keys_read_number(at, at->argv[2], &less) != 0)
        return;
    if (less == INT64_MIN)
        keys_fail(at->reply, "ERR decrement would overflow");
    else
        add_to_text(at, -less);
}

/* ---- hashes */

static void run_hget(struct keys_running *at) {
    keys_say_text(at, keys_value_of(at, at->argv[2]));
}

static void run_hexists(struct keys_running *at) {
    keys_say_number(at, keys_value_of(at, at->argv[2]) != NULL);
}

static void run_hmget(struct keys_running *at) {
    keys_begin_list(at);
    for (size_t i = 2; i < at->argc; i++)
        keys_add_item(at, keys_value_of(at, at->argv[i]));
}

static void run_hset(struct keys_running *at) {
    int64_t added = 0;
    int put = 0;

    if (at->argc % 2 != 0) {
        keys_fail(at->reply, "ERR wrong number of arguments for 'hset' command");
        return;
    }
    if (keys_make(at, KEYS_HASH) < 0)
        return;
    for (size_t i = 2; i < at->argc && put >= 0; i += 2) {
        put = keys_put_value(at, at->argv[i], at->argv[i + 1]);
        added += put > 0;
    }
    if (put >= 0)
        keys_say_number(at, added);
}

static void run_hsetnx(struct keys_running *at) {
    const bool is_absent = keys_value_of(at, at->argv[2]) == NULL;

    if (!is_absent ||
        (keys_make(at, KEYS_HASH) >= 0 && keys_put_value(at, at->argv[2], at->argv[3]) >= 0))
        keys_say_number(at, is_absent);
}

static void run_hincrby(struct keys_running *at) {
    char text[24];
    int64_t more, sum;

    if (keys_read_number(at, at->argv[3], &more) == 0 &&
        add(at, keys_value_of(at, at->argv[2]), more, &sum, text) == 0 &&
        keys_make(at, KEYS_HASH) >= 0 && keys_put_value(at, at->argv[2], text) >= 0)
        keys_say_number(at, sum);
}

/* Of a hash or a sorted set. */
static void run_remove_members(struct keys_running *at) {
    int64_t removed = 0;

    for (size_t i = 2; i < at->argc; i++) {
        const int place = keys_find_value(at, at->argv[i]);

        if (place >= 0)
            keys_remove_value(at->keys, place);
        removed += place >= 0;
    }
    keys_drop_if_empty(at);
    keys_say_number(at, removed);
}

static void run_count(struct keys_running *at) {
    keys_say_number(at, keys_count_values(at));
}

/* ---- lists */

static void push(struct keys_running *at, bool is_first) {
    if (keys_make(at, KEYS_LIST) < 0)
        return;
    for (size_t i = 2; i < at->argc; i++)
        if (keys_add_value(at, "", at->argv[i], is_first) != 0)
            return;
    keys_say_number(at, keys_count_values(at));
}

static void run_rpush(struct keys_running *at) {
    push(at, false);
}

static void run_lpush(struct keys_running *at) {
    push(at, true);
}

static void pop(struct keys_running *at, bool is_first) {
    const int last = at->keys->value_count - 1;
    int place = is_first ? 0 : last;

    if (at->key < 0) {
        keys_say_text(at, NULL);
        return;
    }
    while (at->keys->values[place].key != at->key)
        place += is_first ? 1 : -1;
    keys_say_text(at, at->keys->values[place].value);
    keys_remove_value(at->keys, place);
    keys_drop_if_empty(at);
}

static void run_lpop(struct keys_running *at) {
    pop(at, true);
}

static void run_rpop(struct keys_running *at) {
    pop(at, false);
}

static void run_lrange(struct keys_running *at) {
    const int64_t count = keys_count_values(at);
    int64_t from, to, number = 0;

    if (keys_read_number(at, at->argv[2], &from) != 0 ||
        keys_read_number(at, at->argv[3], &to) != 0)
        return;
    from += from < 0 ? count : 0;
    to += to < 0 ? count : 0;
    keys_begin_list(at);
    for (size_t i = 0; at->key >= 0 && i < at->keys->value_count; i++)
        if (at->keys->values[i].key == at->key) {
            if (number >= from && number <= to)
                keys_add_item(at, at->keys->values[i].value);
            number++;
        }
}

/* ---- sorted sets */

static void run_zadd(struct keys_running *at) {
    int64_t added = 0, score;
    int put = 0;

    for (size_t i = 2; i < at->argc; i += 2)
        if (i + 1 == at->argc || keys_read_number(at, at->argv[i], &score) != 0) {
            keys_fail(at->reply, "ERR value is not a valid float");
            return;
        }
    if (keys_make(at, KEYS_SORTED) < 0)
        return;
    for (size_t i = 2; i < at->argc && put >= 0; i += 2) {
        put = keys_put_value(at, at->argv[i + 1], at->argv[i]);
        added += put > 0;
    }
    if (put >= 0)
        keys_say_number(at, added);
}

static void run_zscore(struct keys_running *at) {
    keys_say_text(at, keys_value_of(at, at->argv[2]));
}

/* ---- the server's own */

static void run_time(struct keys_running *at) {
    char text[24];

    at->keys->is_timed = true;
    keys_begin_list(at);
    (void)snprintf(text, sizeof text, "%lld", (long long)(at->now_ms / 1000));
    keys_add_item(at, text);
    (void)snprintf(text, sizeof text, "%lld", (long long)(at->now_ms % 1000 * 1000));
    keys_add_item(at, text);
}

static const struct {
    const char *name;
    enum keys_type type; /* of the key that it takes; NONE: any */
    size_t least, most;  /* of argc */
    void (*run)(struct keys_running *at);
} commands[] = {
    {"get", KEYS_TEXT, 2, 2, run_get},
    {"set", KEYS_NONE, 3, 6, run_set},
    {"setnx", KEYS_NONE, 3, 3, run_setnx},
    {"incr", KEYS_TEXT, 2, 2, run_incr},
    {"decr", KEYS_TEXT, 2, 2, run_decr},
    {"incrby", KEYS_TEXT, 3, 3, run_incrby},
    {"decrby", KEYS_TEXT, 3, 3, run_decrby},
    {"del", KEYS_NONE, 2, SIZE_MAX, run_del},
    {"exists", KEYS_NONE, 2, SIZE_MAX, run_exists},
    {"pexpire", KEYS_NONE, 3, 3, run_pexpire},
    {"expire", KEYS_NONE, 3, 3, run_expire},
    {"persist", KEYS_NONE, 2, 2, run_persist},
    {"pttl", KEYS_NONE, 2, 2, run_pttl},
    {"hget", KEYS_HASH, 3, 3, run_hget},
    {"hmget", KEYS_HASH, 3, SIZE_MAX, run_hmget},
    {"hset", KEYS_HASH, 4, SIZE_MAX, run_hset},
    {"hsetnx", KEYS_HASH, 4, 4, run_hsetnx},
    {"hincrby", KEYS_HASH, 4, 4, run_hincrby},
    {"hexists", KEYS_HASH, 3, 3, run_hexists},
    {"hdel", KEYS_HASH, 3, SIZE_MAX, run_remove_members},
    {"hlen", KEYS_HASH, 2, 2, run_count},
    {"rpush", KEYS_LIST, 3, SIZE_MAX, run_rpush},
    {"lpush", KEYS_LIST, 3, SIZE_MAX, run_lpush},
    {"lpop", KEYS_LIST, 2, 2, run_lpop},
    {"rpop", KEYS_LIST, 2, 2, run_rpop},
    {"llen", KEYS_LIST, 2, 2, run_count},
    {"lrange", KEYS_LIST, 4, 4, run_lrange},
    {"zadd", KEYS_SORTED, 4, SIZE_MAX, run_zadd},
    {"zrem", KEYS_SORTED, 3, SIZE_MAX, run_remove_members},
    {"zcard", KEYS_SORTED, 2, 2, run_count},
    {"zscore", KEYS_SORTED, 3, 3, run_zscore},
    {"time", KEYS_NONE, 1, 1, run_time},
};

void keys_run(struct keys *keys, int64_t now_ms, const char *const *argv, size_t argc,
              struct keys_reply *reply) {
    struct keys_running at = {keys, now_ms, argv, argc, reply, -1};
    size_t i = 0;

    reply->type = KEYS_IS_NIL;
    keys_forget(keys, now_ms);
    while (i < sizeof commands / sizeof *commands &&
           (argc == 0 || strcasecmp(commands[i].name, argv[0]) != 0))
        i++;
    if (i == sizeof commands / sizeof *commands) {
        keys_fail(reply, "ERR the model has no command '%.40s'", argc > 0 ? argv[0] : "");
        return;
    }
    if (argc < commands[i].least || argc > commands[i].most) {
        keys_fail(reply, "ERR wrong number of arguments for '%s' command", commands[i].name);
        return;
    }
    at.key = argc > 1 ? keys_find(keys, argv[1]) : -1;
    if (at.key >= 0 && commands[i].type != KEYS_NONE && keys->keys[at.key].type != commands[i].type)
        keys_fail(reply, "WRONGTYPE Operation against a key holding the wrong kind of value");
    else
        commands[i].run(&at);
}
