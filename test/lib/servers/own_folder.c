/* Makes and removes folders for a test's own servers. */
#include "own_folder.h"

#include "test.h"

#include <ftw.h>

enum { OPEN_AT_ONCE = 16 };

void own_folder_make(char *folder, size_t size, const char *name) {
    const char *parent = getenv("TMPDIR");

    assert_in_range(snprintf(folder, size, "%s/%s-XXXXXX", parent ? parent : "/tmp", name), 1,
                    size - 1);
    assert_non_null(mkdtemp(folder));
}

static int remove_entry(const char *path, const struct stat *about, int kind, struct FTW *at) {
    return remove(path);
}

void own_folder_remove(const char *folder) {
    (void)nftw(folder, remove_entry, OPEN_AT_ONCE, FTW_DEPTH | FTW_PHYS);
}
