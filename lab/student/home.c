/* The search goes from /proc/self/exe upward, to the first folder that has the headers. */
#include "home.h"

#include <assert.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define HEADER "strategies/seam/strategy.h"

static int join(char path[static PATH_MAX], const char *folder, const char *below) {
    if (snprintf(path, PATH_MAX, "%s/%s", folder, below) < PATH_MAX)
        return 0;
    errno = ENAMETOOLONG;
    return -1;
}

static bool has_headers(const char *folder) {
    char header[PATH_MAX];

    return join(header, folder, HEADER) == 0 && access(header, R_OK) == 0;
}

int home_path(char path[static PATH_MAX], const char *below) {
    const char *given = getenv("LAB_HOME");
    char folder[PATH_MAX], *slash;
    const ssize_t length = readlink("/proc/self/exe", folder, sizeof folder - 1);

    assert(below[0] != '/');
    if (given != NULL && given[0] == '/')
        return join(path, given, below);
    if (length < 0)
        return -1;
    folder[length] = '\0';
    while ((slash = strrchr(folder, '/')) != NULL) {
        *slash = '\0';
        if (has_headers(folder))
            return join(path, folder, below);
    }
    errno = ENOENT;
    return -1;
}
