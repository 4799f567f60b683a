/* The names of locks as names of nodes. */
#include "zk_name.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

static bool is_plain(const char *name, size_t at) {
    if (name[at] == '.')
        return strcmp(name, ".") != 0 && strcmp(name, "..") != 0;
    return name[at] > ' ' && name[at] <= '~' && name[at] != '/' && name[at] != '%';
}

void zk_folder(char folder[ZK_FOLDER_SIZE], const char *base, const char *name) {
    char *to = folder + sprintf(folder, "%s/", base);

    assert(strlen(base) <= ZK_BASE_MAX && strlen(name) <= NAME_MAX_BYTES);
    for (size_t at = 0; name[at]; at++)
        if (is_plain(name, at))
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

    return slash ? slash + 1 : path;
}
