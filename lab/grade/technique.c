/* Finds the techniques in the calls of sales. */
#include "technique.h"

#include <stdio.h>
#include <string.h>

enum technique {
#define X(name, word, text) TECHNIQUE_##name,
    TECHNIQUES(X)
#undef X
        TECHNIQUES_KNOWN
};

static const char *const words[][2] = {
#define X(name, word, text) {word, text},
    TECHNIQUES(X)
#undef X
};

unsigned technique_read(const char *word, size_t length) {
    for (unsigned i = 0; i < TECHNIQUES_KNOWN; i++)
        if (strlen(words[i][0]) == length && strncmp(words[i][0], word, length) == 0)
            return 1U << i;
    return 0;
}

static unsigned technique_of_command(enum kv_command command) {
    switch (command) {
    case KV_SET_ABSENT:
        return 1U << TECHNIQUE_KEY;
    case KV_DELETE:
    case KV_DELETE_IF_EQUAL:
        return 1U << TECHNIQUE_DELETE;
    case KV_COUNT:
        return 1U << TECHNIQUE_COUNT;
    case KV_EXPIRE:
    case KV_GET:
    case KV_IS:
        break;
    }
    return 0;
}

static unsigned technique_of_key(const struct call *call) {
    unsigned found = technique_of_command((enum kv_command)call->how);

    for (int i = 0; i < KV_STEPS - 1 && call->then[i].how != 0; i++)
        found |= technique_of_command((enum kv_command)(call->then[i].how - 1));
    return found;
}

static unsigned technique_of(const struct call *call) {
    static const unsigned short known[CALL_END + 1] = {[CALL_LOCK] = 1U << TECHNIQUE_LOCK,
                                                       [CALL_TAKE_STOCK] = 1U << TECHNIQUE_TAKE,
                                                       [CALL_TAKE_IN_BATCH] = 1U << TECHNIQUE_TAKE,
                                                       [CALL_TAKE_LOADED] = 1U << TECHNIQUE_TAKE,
                                                       [CALL_READ_FOR_UPDATE] =
                                                           1U << TECHNIQUE_ROW_LOCK};

    if (call->kind == CALL_KV)
        return technique_of_key(call);
    if (call->kind == CALL_WRITE_STOCK && call->how != GUARD_ANY)
        return call->how == GUARD_FENCE ? 1U << TECHNIQUE_FENCE : 1U << TECHNIQUE_GUARD;
    if (call->kind == CALL_BEGIN && call->how == SERIALIZABLE)
        return 1U << TECHNIQUE_SERIALIZABLE;
    return call->kind >= 0 && call->kind <= CALL_END ? known[call->kind] : 0;
}

/* The techniques of a sale, from its end to its beginning. The work of a sale has a write after it
 * and a read before it. */
static unsigned techniques_of(const struct plan_node *node) {
    bool has_write = false, has_work = false;
    unsigned found = 0, servers = 0;

    for (; node != NULL; node = plan_above(node)) {
        const struct call *call = plan_call(node);

        found |= technique_of(call);
        if (call->kind == CALL_KV && call->how == KV_SET_ABSENT && call->last > 0)
            servers |= 1U << call->last;
        has_write |= call->kind == CALL_WRITE_STOCK;
        has_work |= call->kind == CALL_WORK && has_write;
        if (has_work && (call->kind == CALL_READ_STOCK || call->kind == CALL_READ_FOR_UPDATE))
            found |= 1U << TECHNIQUE_WORK;
    }
    return __builtin_popcount(servers) > KV_SERVERS / 2 ? found | 1U << TECHNIQUE_SERVERS : found;
}

#define TECHNIQUE_TEXT 120

/* Returns `to`: the texts of a set, with "or" between. */
static const char *write_set(unsigned set, char *to, size_t size) {
    size_t used = 0;

    to[0] = '\0';
    for (unsigned i = 0; i < TECHNIQUES_KNOWN; i++)
        if ((set >> i & 1U) != 0 && used < size)
            used += (size_t)snprintf(to + used, size - used, "%s%s", used > 0 ? " or " : "",
                                     words[i][1]);
    return to;
}

/* Returns `to`: the texts of all that is required. */
static const char *write_required(const struct techniques *techniques, char *to, size_t size) {
    size_t used = 0;

    for (size_t i = 0; i < TECHNIQUE_GROUPS && techniques->required[i] != 0; i++) {
        char one[TECHNIQUE_TEXT];

        if (used < size)
            used += (size_t)snprintf(to + used, size - used, "%s%s", i > 0 ? ", and " : "",
                                     write_set(techniques->required[i], one, sizeof one));
    }
    return to;
}

/* The first call of a sale that is forbidden, or NULL. */
static const struct call *find_forbidden(const struct techniques *techniques,
                                         const struct plan *plan) {
    const struct plan_node *end = NULL;
    const struct call *found = NULL;

    while (found == NULL && (end = plan_next_sold(plan, end)) != NULL)
        for (const struct plan_node *node = end; node != NULL; node = plan_above(node))
            if ((technique_of(plan_call(node)) & techniques->forbidden) != 0)
                found = plan_call(node);
    return found;
}

/* Returns `to`: the operation of a call, as the file writes it. */
static const char *write_operation(const struct call *call, char *to, size_t size) {
    static const char *const guards[] = {[GUARD_VALUE] = "GUARD_VALUE",
                                         [GUARD_VERSION] = "GUARD_VERSION",
                                         [GUARD_FENCE] = "GUARD_FENCE"};

    (void)snprintf(to, size, "%s", call->kind == CALL_WRITE_STOCK ? guards[call->how] : "");
    if (call->kind == CALL_BEGIN)
        (void)snprintf(to, size, "a SERIALIZABLE transaction");
    else if (call->kind != CALL_WRITE_STOCK)
        (void)snprintf(to, size, "%s()", call_name(call));
    return to;
}

bool techniques_are_kept(const struct techniques *techniques, const struct plan *plan,
                         const struct plan_node *alone, struct why *why) {
    const unsigned used = techniques_of(alone);
    const struct call *refused = find_forbidden(techniques, plan);
    char text[TECHNIQUE_TEXT], required[TECHNIQUE_GROUPS * TECHNIQUE_TEXT];

    if (refused != NULL) {
        (void)why_set(why, "A sale uses %s. This chapter is about another way: %s.",
                      write_operation(refused, text, sizeof text),
                      write_required(techniques, required, sizeof required));
        return false;
    }
    for (size_t i = 0; i < TECHNIQUE_GROUPS && techniques->required[i] != 0; i++)
        if ((used & techniques->required[i]) == 0) {
            (void)why_set(why, "A sale makes no use of %s. This chapter asks for it.",
                          write_set(techniques->required[i], text, sizeof text));
            return false;
        }
    return true;
}
