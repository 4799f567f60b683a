/* zookeeper://host[:port][,host[:port]...][/path][?session=ms][&fair=0|1][&layout=curator|kazoo] */
#include "zk_url.h"

#include "parameter.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DEFAULT_PORT 2181
#define DEFAULT_BASE "/lockkit"

/* -1 when it is empty or too long. */
static int zk_url_copy(char *to, size_t size, const char *from, size_t length) {
    if (length == 0 || length >= size)
        return -1;
    memcpy(to, from, length);
    to[length] = '\0';
    return 0;
}

/* What ZooKeeper takes for a path, of plain characters; "/" is the root. */
static int parse_base(struct zk_url *parsed, const char *at, const char *end) {
    size_t length = (size_t)(end - at);

    if (length == 0)
        return zk_url_copy(parsed->base, sizeof parsed->base, DEFAULT_BASE, strlen(DEFAULT_BASE));
    if (length == 1)
        return 0;
    if (zk_url_copy(parsed->base, sizeof parsed->base, at, length) != 0 || end[-1] == '/')
        return -1;
    for (const char *segment = parsed->base; segment != NULL; segment = strchr(segment + 1, '/')) {
        size_t size = strcspn(segment + 1, "/");

        if (size == 0 || (size <= 2 && strspn(segment + 1, ".") == size))
            return -1;
    }
    for (const char *c = parsed->base; *c; c++)
        if (*c <= ' ' || *c > '~')
            return -1;
    return 0;
}

/* "?session=...&fair=...&layout=...", each once at most and in any order. */
static int zk_url_parse_query(struct zk_url *parsed, const char *text) {
    char query[80], value[16];
    unsigned session_ms = parsed->session_ms;

    if (strlen(text) >= sizeof query)
        return -1;
    (void)strcpy(query, text);
    if (!parameter_take_number(query, "session", ZK_SESSION_MOST, &session_ms) ||
        session_ms < ZK_SESSION_LEAST)
        return -1;
    parsed->session_ms = session_ms;
    if (parameter_take(query, "fair", value, sizeof value)) {
        parsed->is_fair = strcmp(value, "1") == 0;
        if (!parsed->is_fair && strcmp(value, "0") != 0)
            return -1;
    }
    if (parameter_take(query, "layout", value, sizeof value)) {
        parsed->layout = strcmp(value, "kazoo") == 0 ? ZK_KAZOO : ZK_CURATOR;
        if (parsed->layout == ZK_CURATOR && strcmp(value, "curator") != 0)
            return -1;
    }
    return query[0] == '\0' ? 0 : -1;
}

int zk_url_parse(struct zk_url *parsed, const char *url) {
    const char *at = url + strlen(ZK_SCHEME), *path, *query;

    *parsed = (struct zk_url){.session_ms = 10000, .is_fair = true};
    if (strncmp(url, ZK_SCHEME, strlen(ZK_SCHEME)) != 0)
        return -1;
    path = at + strcspn(at, "/?");
    query = path + strcspn(path, "?");
    parsed->server_count =
        server_names_parse(parsed->servers, ZK_SERVERS_MOST, at, path, DEFAULT_PORT);
    if (parsed->server_count == 0 || parse_base(parsed, path, query) != 0)
        return -1;
    return zk_url_parse_query(parsed, query);
}

/* ---- Names of locks as names of nodes */

static bool zk_url_is_plain(const char *name, size_t at) {
    if (name[at] == '.')
        return strcmp(name, ".") != 0 && strcmp(name, "..") != 0;
    return name[at] > ' ' && name[at] <= '~' && name[at] != '/' && name[at] != '%';
}

void zk_folder(char folder[ZK_FOLDER_SIZE], const char *base, const char *name) {
    char *to = folder + sprintf(folder, "%s/", base);

    assert(strlen(base) <= ZK_BASE_MAX && strlen(name) <= NAME_MAX_BYTES);
    for (size_t at = 0; name[at]; at++)
        if (zk_url_is_plain(name, at))
            *to++ = name[at];
        else
            to += sprintf(to, "%%%02X", (unsigned char)name[at]);
    *to = '\0';
}

bool zk_path(char path[ZK_PATH_SIZE], const char *folder, const char *node) {
    int length = snprintf(path, ZK_PATH_SIZE, "%s/%s", folder, node);

    return length > 0 && length < ZK_PATH_SIZE;
}

const char *zk_node_of(const char *path) {
    const char *slash = strrchr(path, '/');

    return slash != NULL ? slash + 1 : path;
}
