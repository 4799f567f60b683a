/* Records of owners in the files of locks, and the names of such files. */
#include "file_record.h"
#include "fuzz.h"

#include <sys/mman.h>
#include <unistd.h>

static void read_record(const uint8_t *data, size_t size) {
    struct file_record record, again;
    int file = memfd_create("record", MFD_CLOEXEC);

    if (file < 0 || write(file, data, size) != (ssize_t)size)
        abort();
    if (size > 0 && file_record_read(file, &record) == 0) {
        if (file_record_write(file, &record) != 0 || file_record_read(file, &again) != 0)
            abort();
        if (record.fence != again.fence || strcmp(record.owner, again.owner) != 0)
            abort();
    }
    (void)close(file);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    char *text = fuzz_text(data, size), name[NAME_MAX_BYTES + 1];

    read_record(data, size);
    (void)file_name_decode(name, sizeof name, text);
    free(text);
    return 0;
}
