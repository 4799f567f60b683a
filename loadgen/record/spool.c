/* The spool: a ring of blocks between the one who fills them and the thread that writes them.
 *
 * Neither waits for the other: the filler counts the blocks it has filled, the thread those it has
 * written, and each reads the other's count. Not libuv's thread pool: uv_async_send() is answered
 * by a loop that spins until the sending thread has gone on, and a loop with real-time priority
 * (punctual.h) keeps that very thread from it, for as long as the kernel lets it. */
#include "spool.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

struct block {
    char *bytes; /* SPOOL_BLOCK_BYTES, or NULL: not needed yet */
    size_t used;
    off_t place; /* in the file */
};

struct spool {
    int fd;
    atomic_int error;                  /* the first, or 0 */
    size_t length;                     /* of all that came */
    struct block blocks[SPOOL_BLOCKS]; /* number n is blocks[n % SPOOL_BLOCKS] */
    atomic_size_t filled, written;     /* how many blocks; number `filled` is being filled */
    atomic_bool is_ending;
    pthread_t thread;
    bool has_thread;
    sem_t work;    /* posted for each block that is filled, and for the end */
    void *mapping; /* of `length` bytes, or NULL */
};

/* A name for a moment alone, because not every file system has O_TMPFILE. */
static int make_file(const char *directory) {
    char name[4096];
    int fd;

    if (snprintf(name, sizeof name, "%s/.records-XXXXXX", directory) >= (int)sizeof name)
        return -ENAMETOOLONG;
    fd = mkostemp(name, O_CLOEXEC);
    if (fd < 0)
        return -errno;
    (void)unlink(name);
    return fd;
}

static void keep_error(struct spool *spool, int error) {
    int none = 0;

    (void)atomic_compare_exchange_strong(&spool->error, &none, error);
}

/* After an error there is nothing to be had from writing more. A write may be cut short by a disk
 * that is almost full: the next one tells why. */
static void write_block(struct spool *spool, const struct block *block) {
    size_t written = 0;

    while (written < block->used && atomic_load(&spool->error) == 0) {
        ssize_t rc = pwrite(spool->fd, block->bytes + written, block->used - written,
                            block->place + (off_t)written);

        if (rc > 0)
            written += (size_t)rc;
        else if (rc == 0 || errno != EINTR)
            keep_error(spool, rc < 0 ? -errno : -EIO);
    }
}

static void *write_behind(void *arg) {
    struct spool *spool = arg;

    for (;;) {
        size_t number = atomic_load(&spool->written);

        if (number < atomic_load(&spool->filled)) {
            write_block(spool, &spool->blocks[number % SPOOL_BLOCKS]);
            atomic_store(&spool->written, number + 1);
        } else if (atomic_load(&spool->is_ending)) {
            return NULL;
        } else {
            (void)sem_wait(&spool->work);
        }
    }
}

/* Signals are the main thread's. Without a thread, all is written at once. */
static void start_thread(struct spool *spool) {
    sigset_t all, before;

    (void)sem_init(&spool->work, 0, 0);
    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &before);
    spool->has_thread = pthread_create(&spool->thread, NULL, write_behind, spool) == 0;
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
}

int spool_open(struct spool **spool, const char *directory) {
    struct spool *made = calloc(1, sizeof *made);
    const char *temporary = getenv("TMPDIR");

    if (made == NULL)
        return -ENOMEM;
    if (directory == NULL)
        directory = temporary != NULL && temporary[0] != '\0' ? temporary : "/tmp";
    made->blocks[0].bytes = malloc(SPOOL_BLOCK_BYTES);
    made->fd = made->blocks[0].bytes != NULL ? make_file(directory) : -ENOMEM;
    if (made->fd < 0) {
        int rc = made->fd;

        free(made->blocks[0].bytes);
        free(made);
        return rc;
    }
    (void)signal(SIGXFSZ, SIG_IGN);
    start_thread(made);
    *spool = made;
    return 0;
}

static void end_thread(struct spool *spool) {
    if (!spool->has_thread)
        return;
    atomic_store(&spool->is_ending, true);
    (void)sem_post(&spool->work);
    (void)pthread_join(spool->thread, NULL);
    spool->has_thread = false;
}

void spool_close(struct spool *spool) {
    if (spool == NULL)
        return;
    end_thread(spool);
    (void)sem_destroy(&spool->work);
    for (size_t i = 0; i < SPOOL_BLOCKS; i++)
        free(spool->blocks[i].bytes);
    if (spool->mapping != NULL)
        (void)munmap(spool->mapping, spool->length);
    (void)close(spool->fd);
    free(spool);
}

/* Whether the block after this one is written, and has memory. */
static bool has_next(struct spool *spool, size_t number) {
    struct block *next = &spool->blocks[(number + 1) % SPOOL_BLOCKS];

    if (!spool->has_thread || number + 1 - atomic_load(&spool->written) >= SPOOL_BLOCKS)
        return false;
    if (next->bytes == NULL)
        next->bytes = malloc(SPOOL_BLOCK_BYTES);
    return next->bytes != NULL;
}

/* The block is full: hand it over, or write it here and fill it again. */
static struct block *next_block(struct spool *spool) {
    size_t number = atomic_load(&spool->filled);
    struct block *block = &spool->blocks[number % SPOOL_BLOCKS];

    if (has_next(spool, number)) {
        block = &spool->blocks[(number + 1) % SPOOL_BLOCKS];
        atomic_store(&spool->filled, number + 1);
        (void)sem_post(&spool->work);
    } else {
        write_block(spool, block);
    }
    block->used = 0;
    block->place = (off_t)spool->length;
    return block;
}

void spool_write(struct spool *spool, const void *bytes, size_t length) {
    struct block *block = &spool->blocks[atomic_load(&spool->filled) % SPOOL_BLOCKS];
    const char *from = bytes;

    while (length > 0) {
        size_t room = SPOOL_BLOCK_BYTES - block->used, part = length < room ? length : room;

        memcpy(block->bytes + block->used, from, part);
        block->used += part;
        spool->length += part;
        from += part;
        length -= part;
        if (block->used == SPOOL_BLOCK_BYTES)
            block = next_block(spool);
    }
}

int spool_seal(struct spool *spool, const void **bytes) {
    *bytes = NULL;
    end_thread(spool);
    write_block(spool, &spool->blocks[atomic_load(&spool->filled) % SPOOL_BLOCKS]);
    if (atomic_load(&spool->error) != 0 || spool->length == 0)
        return atomic_load(&spool->error);
    spool->mapping = mmap(NULL, spool->length, PROT_READ, MAP_SHARED, spool->fd, 0);
    if (spool->mapping == MAP_FAILED) {
        spool->mapping = NULL;
        return -errno;
    }
    *bytes = spool->mapping;
    return 0;
}
