/* The contract on both kinds of file backend. */
#include "contract.h"
#include "own_folder.h"

int main(void) {
    char folder[64], flock[100], mkdir[100];
    int failed;

    own_folder_make(folder, sizeof folder, "lockkit-file");
    (void)snprintf(flock, sizeof flock, "file:%s/flock", folder);
    (void)snprintf(mkdir, sizeof mkdir, "file:%s/mkdir?kind=mkdir", folder);
    failed = run_contract(&(struct contract){.name = "file, flock", .url = flock}) +
             run_contract(&(struct contract){.name = "file, mkdir", .url = mkdir});
    (void)strcat(flock, "?handover=16");
    (void)strcat(mkdir, "&handover=16");
    failed += run_contract(&(struct contract){.name = "flock with hand-over", .url = flock}) +
              run_contract(&(struct contract){.name = "mkdir with hand-over", .url = mkdir});
    own_folder_remove(folder);
    return failed;
}
