/* Places in the line: pure functions of the names in a lock's folder. */
#include "zk_line.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DIGITS "0123456789"

static bool zk_line_is_plain(const char *name, size_t at) {
    if (name[at] == '.')
        return strcmp(name, ".") != 0 && strcmp(name, "..") != 0;
    return name[at] > ' ' && name[at] <= '~' && name[at] != '/' && name[at] != '%';
}

void zk_folder(char folder[ZK_FOLDER_SIZE], const char *base, const char *name) {
    char *to = folder + sprintf(folder, "%s/", base);

    assert(strlen(base) <= ZK_BASE_MAX && strlen(name) <= NAME_MAX_BYTES);
    for (size_t at = 0; name[at]; at++)
        if (zk_line_is_plain(name, at))
            *to++ = name[at];
        else
            to += sprintf(to, "%%%02X", (unsigned char)name[at]);
    *to = '\0';
}

bool zk_path(char path[ZK_PATH_SIZE], const char *folder, const char *node) {
    int length = snprintf(path, ZK_PATH_SIZE, "%s/%s", folder, node);

    return length > 0 && length < ZK_PATH_SIZE;
}

void zk_line_node(char node[ZK_NODE_SIZE], enum zk_layout layout,
                  const struct lk_command *command) {
    const bool is_shared = command->mode == LK_SHARED;

    if (layout == ZK_KAZOO)
        (void)snprintf(node, ZK_NODE_SIZE, "%s%s", command->owner,
                       is_shared ? "__rlock__" : "__lock__");
    else if (is_shared && command->limit > 0)
        (void)snprintf(node, ZK_NODE_SIZE, "_c_%s-read-%u.%u-lock-", command->owner,
                       command->permits, command->limit);
    else
        (void)snprintf(node, ZK_NODE_SIZE, "_c_%s-%slock-", command->owner,
                       is_shared ? "read-" : "");
    assert(strlen(node) + strlen("-2147483648") < ZK_NODE_SIZE); /* the server adds the number */
}

bool zk_line_is_first(const char *node) {
    const size_t length = strlen(node), digits = strlen("0000000000");

    return length >= digits && strcmp(node + length - digits, "0000000000") == 0;
}

/* Cut `suffix` off the first `*length` bytes of `text`, if they end with it. */
static bool zk_line_cut(const char *text, size_t *length, const char *suffix) {
    size_t size = strlen(suffix);

    if (*length < size || memcmp(text + *length - size, suffix, size) != 0)
        return false;
    *length -= size;
    return true;
}

/* Cut the sequence number off: ten digits, with a sign once the counter has wrapped around. */
static bool cut_sequence(const char *node, size_t *length, int32_t *sequence) {
    const size_t digits = 10;
    long long value;

    if (*length <= digits || strspn(node + *length - digits, DIGITS) != digits)
        return false;
    *length -= digits;
    value = atoll(node + *length);
    /* The marks "lock-" and "-2147483648" each have a dash of their own. */
    if (*length >= 2 && node[*length - 1] == '-' &&
        (node[*length - 2] == '-' || node[*length - 2] == '_')) {
        value = -value;
        --*length;
    }
    *sequence = (int32_t)value;
    return value >= INT32_MIN && value <= INT32_MAX;
}

/* "...-read-2.10" */
static void cut_permits(struct zk_entry *entry, size_t *length) {
    size_t at = *length;
    unsigned permits, limit;
    int used = 0;

    while (at > 0 && strchr(DIGITS ".", entry->node[at - 1]) != NULL)
        at--;
    if (sscanf(entry->node + at, "%10u.%10u%n", &permits, &limit, &used) != 2 ||
        at + (size_t)used != *length || permits == 0 || !zk_line_cut(entry->node, &at, "-read-"))
        return;
    entry->is_shared = true;
    entry->permits = permits;
    entry->limit = limit;
    *length = at;
}

static bool zk_line_parse(struct zk_entry *entry, const char *node) {
    size_t length = strlen(node);

    *entry =
        (struct zk_entry){.node = node, .owner = node, .owner_length = (int)length, .permits = 1};
    if (!cut_sequence(node, &length, &entry->sequence))
        return false;
    if (zk_line_cut(node, &length, "__rlock__") || zk_line_cut(node, &length, "__READ__")) {
        entry->is_shared = true;
    } else if (zk_line_cut(node, &length, "lock-")) {
        (void)zk_line_cut(node, &length, "-");
        if (zk_line_cut(node, &length, "-read"))
            entry->is_shared = true;
        else
            cut_permits(entry, &length);
    } else if (!zk_line_cut(node, &length, "__lock__") && !zk_line_cut(node, &length, "__WRIT__")) {
        return true;
    }
    (void)zk_line_cut(node, &length, "-");
    if (strncmp(node, "_c_", 3) == 0 && length >= 3) {
        entry->owner += 3;
        length -= 3;
    }
    entry->owner_length = (int)length;
    return true;
}

/* Compares by distance, which is right across a wrap. */
static int zk_line_compare(const void *a, const void *b) {
    uint32_t distance = (uint32_t)((const struct zk_entry *)a)->sequence -
                        (uint32_t)((const struct zk_entry *)b)->sequence;

    return distance == 0 ? 0 : distance <= INT32_MAX ? 1 : -1;
}

int zk_line_read(struct zk_line *line, char *const *nodes, int32_t count) {
    *line = (struct zk_line){.entries = malloc((size_t)(count + 1) * sizeof *line->entries)};
    if (line->entries == NULL)
        return -1;
    for (int32_t i = 0; i < count; i++)
        line->count += zk_line_parse(&line->entries[line->count], nodes[i]);
    qsort(line->entries, line->count, sizeof *line->entries, zk_line_compare);
    return 0;
}

void zk_line_free(struct zk_line *line) {
    free(line->entries);
    *line = (struct zk_line){0};
}

const struct zk_entry *zk_line_find(const struct zk_line *line, const char *node,
                                    const char *owner) {
    for (size_t i = 0; i < line->count; i++) {
        const struct zk_entry *entry = &line->entries[i];

        if (node != NULL ? strcmp(entry->node, node) == 0
                         : (size_t)entry->owner_length == strlen(owner) &&
                               memcmp(entry->owner, owner, strlen(owner)) == 0)
            return entry;
    }
    return NULL;
}

/* For an entry that is, or would be, at `place`. */
static struct zk_stand zk_line_stand_at(const struct zk_line *line, size_t place,
                                        const struct zk_entry *entry) {
    struct zk_stand stand = {.is_granted = true};
    uint64_t taken = entry->permits;

    if (!entry->is_shared) {
        stand.is_granted = place == 0;
        stand.watched = place > 0 ? &line->entries[place - 1] : NULL;
        return stand;
    }
    for (size_t i = 0; i < place; i++) {
        taken += line->entries[i].permits;
        if (!line->entries[i].is_shared)
            stand = (struct zk_stand){.watched = &line->entries[i]};
    }
    if (entry->limit > 0 && taken > entry->limit)
        stand.is_granted = false;
    return stand;
}

struct zk_stand zk_line_stand(const struct zk_line *line, const struct zk_entry *entry) {
    assert(entry >= line->entries && entry < line->entries + line->count);
    return zk_line_stand_at(line, (size_t)(entry - line->entries), entry);
}

bool zk_line_admits(const struct zk_line *line, const struct lk_command *command) {
    const struct zk_entry entry = {
        .is_shared = command->mode == LK_SHARED,
        .permits = command->permits,
        .limit = command->limit,
    };

    return zk_line_stand_at(line, line->count, &entry).is_granted;
}
