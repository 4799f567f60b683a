/* Names of the nodes in a lock's folder, one a line, and names of locks. */
#include "fuzz.h"
#include "zk_line.h"

#define NODES_MOST 64

static void read_line(char *const *nodes, int32_t count) {
    const struct lk_command command = {.mode = LK_SHARED, .permits = 1, .limit = 2};
    struct zk_line line;

    if (zk_line_read(&line, nodes, count) != 0)
        return;
    for (size_t i = 0; i < line.count; i++) {
        (void)zk_line_stand(&line, &line.entries[i]);
        if (!zk_line_find(&line, line.entries[i].node, NULL))
            abort();
    }
    (void)zk_line_admits(&line, &command);
    zk_line_free(&line);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    char *text = fuzz_text(data, size), *nodes[NODES_MOST], *save = NULL;
    char folder[ZK_FOLDER_SIZE], path[ZK_PATH_SIZE];
    int32_t count = 0;

    if (strlen(text) <= NAME_MAX_BYTES)
        zk_folder(folder, "/locks", text);
    (void)zk_path(path, "/locks/x", text);
    for (char *node = strtok_r(text, "\n", &save); node && count < NODES_MOST;
         node = strtok_r(NULL, "\n", &save))
        nodes[count++] = node;
    read_line(nodes, count);
    free(text);
    return 0;
}
