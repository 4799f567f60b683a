#include "group.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The name of a program may have blanks and brackets, so the fields begin behind the last one. */
bool group_has(pid_t group, pid_t pid) {
    char path[64], text[512], state = 'Z';
    int its_group = 0;
    size_t length;
    const char *fields;
    FILE *file;

    (void)snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    file = fopen(path, "re");
    if (file == NULL)
        return false;
    length = fread(text, 1, sizeof text - 1, file);
    (void)fclose(file);
    text[length] = '\0';
    fields = strrchr(text, ')');
    return fields != NULL && sscanf(fields, ") %c %*d %d", &state, &its_group) == 2 &&
           state != 'Z' && state != 'X' && its_group == group;
}

size_t group_members(pid_t group, pid_t *pids, size_t room) {
    DIR *all = opendir("/proc");
    const struct dirent *entry;
    size_t count = 0;

    while (all != NULL && count < room && (entry = readdir(all)) != NULL) {
        const pid_t pid = (pid_t)strtol(entry->d_name, NULL, 10);

        if (pid > 0 && group_has(group, pid))
            pids[count++] = pid;
    }
    if (all != NULL)
        (void)closedir(all);
    return count;
}
