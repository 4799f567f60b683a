/* A Redis server of this test's own, to be set, filled and spoilt as it likes. */
#ifndef TEST_OWN_REDIS_H
#define TEST_OWN_REDIS_H

#include <hiredis/hiredis.h>
#include <sys/types.h>

struct own_redis {
    pid_t pid;
    int port; /* of 127.0.0.1 */
    char url[64];
    char socket[64];     /* the path of another way to it */
    redisContext *admin; /* that blocks */
};

/* Start it, empty and without a password. */
void own_redis_start(struct own_redis *own);
void own_redis_stop(struct own_redis *own);
/* Kill it, or wait for it to have ended: what it held in memory is lost. It may be started again at
 * its port. */
void own_redis_kill(struct own_redis *own);
void own_redis_start_again(struct own_redis *own);
/* It does nothing from here on, until it may again; its connections stay. */
void own_redis_pause(struct own_redis *own);
void own_redis_go_on(struct own_redis *own);

/* For fixtures that start a server themselves: `admin`, when the server answers at its port. */
void own_redis_connect(struct own_redis *own);

/* A command, which must not be refused; the integer that it answers, or 0. */
__attribute__((format(printf, 2, 3))) long long own_redis_do(struct own_redis *own,
                                                             const char *format, ...);

#endif
