/* The contract on both kinds of file backend. */
#include "contract.h"

#include <ftw.h>

static int remove_entry(const char *path, const struct stat *stat, int type, struct FTW *at) {
    (void)stat;
    (void)type;
    (void)at;
    return remove(path);
}

int main(void) {
    char folder[] = "/tmp/lockkit-file-XXXXXX", flock[80], mkdir[80];
    int failed;

    if (!mkdtemp(folder))
        return 1;
    (void)snprintf(flock, sizeof flock, "file:%s/flock", folder);
    (void)snprintf(mkdir, sizeof mkdir, "file:%s/mkdir?kind=mkdir", folder);
    failed = run_contract(&(struct contract){.name = "file, flock", .url = flock}) +
             run_contract(&(struct contract){.name = "file, mkdir", .url = mkdir});
    (void)strcat(flock, "?handover=16");
    (void)strcat(mkdir, "&handover=16");
    failed += run_contract(&(struct contract){.name = "flock with hand-over", .url = flock}) +
              run_contract(&(struct contract){.name = "mkdir with hand-over", .url = mkdir});
    (void)nftw(folder, remove_entry, 8, FTW_DEPTH | FTW_PHYS);
    return failed;
}
