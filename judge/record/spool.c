/* An unnamed file, and memory over it. */
#include "spool.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#define TOUCHED ((size_t)256 << 20) /* bytes to touch before use: records of 2 million requests */

/* The file has a name for a moment, because not every file system has O_TMPFILE. */
static int make_nameless(const char *directory) {
    char *name;
    int fd;

    if (asprintf(&name, "%s/.records-XXXXXX", directory) < 0)
        return -1;
    fd = mkostemp(name, O_CLOEXEC);
    if (fd >= 0)
        (void)unlink(name);
    free(name);
    return fd;
}

/* Reserve all of the room at once: then a full disk is an error here, and not a SIGBUS during the
 * load. */
int spool_make(const char *directory, size_t length) {
    const char *temporary = getenv("TMPDIR");
    int fd, rc;

    if (directory == NULL)
        directory = temporary != NULL && temporary[0] != '\0' ? temporary : "/tmp";
    fd = make_nameless(directory);
    if (fd < 0)
        return -1;
    do
        rc = posix_fallocate(fd, 0, (off_t)length);
    while (rc == EINTR);
    if (rc == 0)
        return fd;
    (void)close(fd);
    errno = rc;
    return -1;
}

/* Touch pages in advance: the first touch is slow, and may wait for the file system's journal. */
void *spool_map(int fd, size_t length) {
    void *room = mmap(NULL, length, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

    if (room == MAP_FAILED)
        return NULL;
    (void)madvise(room, length < TOUCHED ? length : TOUCHED, MADV_POPULATE_WRITE);
    return room;
}
