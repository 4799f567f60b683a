/* A Redis server of this test's own, which the test may configure, fill and damage. */
#ifndef TEST_OWN_REDIS_H
#define TEST_OWN_REDIS_H

#include <hiredis/hiredis.h>
#include <sys/types.h>

struct own_redis {
    pid_t pid;
    int port; /* of 127.0.0.1 */
    char url[64];
    char socket[64];     /* the path of its Unix socket */
    redisContext *admin; /* a blocking connection */
};

/* Start it without keys and without a password. */
void own_redis_start(struct own_redis *own);
void own_redis_stop(struct own_redis *own);
/* Kill it, or wait for its end. Its data in memory is lost. It may be started again at its port. */
void own_redis_kill(struct own_redis *own);
void own_redis_start_again(struct own_redis *own);
/* Pause the process and let it continue. Its connections stay. */
void own_redis_pause(struct own_redis *own);
void own_redis_go_on(struct own_redis *own);

/* For fixtures that start a server themselves: wait until it answers at its port, and set
 * `admin`. */
void own_redis_connect(struct own_redis *own);

/* Run a command, which must succeed. Returns the integer of its reply, or 0. */
__attribute__((format(printf, 2, 3))) long long own_redis_do(struct own_redis *own,
                                                             const char *format, ...);

#endif
