/* A byte in a page that fork() wipes in the child: looking at it costs no system call, as getpid()
 * would for each check of a lease. */
#include "fork.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <sys/mman.h>

static atomic_uint depth;
static atomic_uchar *is_known;  /* 0: this process has just begun */
static atomic_uchar always = 1; /* without such a page no fork is noticed */

static void fork_begin(void) {
    void *page =
        mmap(NULL, sizeof *is_known, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    is_known = &always;
    if (page == MAP_FAILED || madvise(page, sizeof *is_known, MADV_WIPEONFORK) != 0)
        return;
    is_known = page;
    atomic_store(is_known, 1);
}

unsigned fork_depth(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    (void)pthread_once(&once, fork_begin);
    if (atomic_load(is_known) == 0 && atomic_exchange(is_known, 1) == 0)
        (void)atomic_fetch_add(&depth, 1);
    return atomic_load(&depth);
}
