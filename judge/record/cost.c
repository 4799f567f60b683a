/* Parses Server-Timing: commas part metrics, semicolons part parameters; values are bare or
 * quoted. */
#include "cost.h"

#include <string.h>

const struct record_lock_row record_locks[RECORD_LOCK_COUNT] = {
#define X(name, text, is_own, noun) {text, is_own, noun},
    RECORD_LOCKS(X)
#undef X
};

void cost_init(struct record_cost *cost) {
    *cost = (struct record_cost){-1, -1, -1, -1, -1, -1, -1, RECORD_LOCK_UNTOLD, -1};
}

/* A piece of the header; it ends where `end` points. */
struct piece {
    const char *at, *end;
};

static bool is_space(char c) {
    return c == ' ' || c == '\t';
}

static struct piece trimmed(struct piece piece) {
    while (piece.at < piece.end && is_space(*piece.at))
        piece.at++;
    while (piece.at < piece.end && is_space(piece.end[-1]))
        piece.end--;
    return piece;
}

/* Cut the next piece off `rest`, up to `separator` outside quotes. False when nothing is left. */
static bool cost_cut(struct piece *rest, char separator, struct piece *piece) {
    bool is_quoted = false;
    const char *at = rest->at;

    if (at == NULL)
        return false;
    for (; at < rest->end && (is_quoted || *at != separator); at++) {
        is_quoted ^= *at == '"';
        if (is_quoted && *at == '\\' && at + 1 < rest->end)
            at++;
    }
    *piece = trimmed((struct piece){rest->at, at});
    rest->at = at < rest->end ? at + 1 : NULL;
    return true;
}

static bool cost_is_word(struct piece piece, const char *word) {
    size_t length = strlen(word);

    return (size_t)(piece.end - piece.at) == length && memcmp(piece.at, word, length) == 0;
}

static struct piece unquoted(struct piece piece) {
    if (piece.end - piece.at >= 2 && *piece.at == '"' && piece.end[-1] == '"')
        return (struct piece){piece.at + 1, piece.end - 1};
    return piece;
}

/* A decimal number in units of 10^-decimals; finer digits are cut off. -1: no number, or above
 * `most`. */
static int64_t cost_number(struct piece piece, int decimals, int64_t most) {
    int64_t value = 0;
    bool has_point = false;

    if (piece.at == piece.end || *piece.at == '.')
        return -1;
    for (; piece.at < piece.end; piece.at++) {
        if (*piece.at == '.' && decimals > 0 && !has_point) {
            has_point = true;
            continue;
        }
        if (*piece.at < '0' || *piece.at > '9')
            return -1;
        if (has_point && decimals == 0)
            continue; /* too fine */
        decimals -= has_point;
        value = value * 10 + (*piece.at - '0');
        if (value > most)
            return -1;
    }
    while (decimals-- > 0)
        value *= 10;
    return value <= most ? value : -1;
}

static int16_t cost_lock_of(struct piece text) {
    for (int16_t i = 0; i < RECORD_LOCK_COUNT; i++)
        if (cost_is_word(text, record_locks[i].text))
            return i;
    return RECORD_LOCK_UNTOLD;
}

static void take_duration(struct record_cost *cost, struct piece name, struct piece value) {
    int32_t us = (int32_t)cost_number(value, 3, INT32_MAX);

    if (cost_is_word(name, "wait"))
        cost->wait_us = us;
    else if (cost_is_word(name, "hold"))
        cost->hold_us = us;
    else if (cost_is_word(name, "commit"))
        cost->commit_us = us;
    else if (cost_is_word(name, "kept"))
        cost->kept_us = us;
}

static void take_description(struct record_cost *cost, struct piece name, struct piece value) {
    int16_t count = (int16_t)cost_number(value, 0, INT16_MAX);
    int32_t many = (int32_t)cost_number(value, 0, INT32_MAX);

    if (cost_is_word(name, "pg"))
        cost->postgres = count;
    else if (cost_is_word(name, "redis"))
        cost->redis = count;
    else if (cost_is_word(name, "retry"))
        cost->retries = many;
    else if (cost_is_word(name, "shard"))
        cost->shard = count;
    else if (cost_is_word(name, "lock"))
        cost->lock = cost_lock_of(value);
}

/* `name;dur=1.5;desc="text"` */
static void take_metric(struct record_cost *cost, struct piece metric) {
    struct piece name, parameter;

    if (!cost_cut(&metric, ';', &name))
        return;
    while (cost_cut(&metric, ';', &parameter)) {
        struct piece key;

        if (!cost_cut(&parameter, '=', &key) || parameter.at == NULL)
            continue;
        parameter = unquoted(trimmed(parameter));
        if (cost_is_word(key, "dur"))
            take_duration(cost, name, parameter);
        else if (cost_is_word(key, "desc"))
            take_description(cost, name, parameter);
    }
}

void cost_parse(const char *text, struct record_cost *cost) {
    struct piece rest = {text, text + strlen(text)}, metric;

    cost_init(cost);
    while (cost_cut(&rest, ',', &metric))
        take_metric(cost, metric);
}
