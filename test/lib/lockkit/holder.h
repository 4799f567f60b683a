/* A process that takes a lock and keeps it, for tests that kill or stop it. */
#ifndef LOCKKIT_TEST_HOLDER_H
#define LOCKKIT_TEST_HOLDER_H

#include "fixture.h"

#include <sys/types.h>

/* Its news: that it holds, and later that it has lost the lock, and has released it. */
struct news {
    uint64_t fence;
    enum lk_state state;
    enum lk_status checked, released;
};

struct holder {
    pid_t pid;
    int pipe;
    struct news news;
};

/* Start a process that will want the lock. */
void holder_start(struct holder *holder, const char *url, const char *name, uint32_t ttl_ms);
/* The test read something new into `news`. */
bool holder_has_news(struct holder *holder);
/* Kill it, if it lives. */
void holder_end(struct holder *holder);

#endif
