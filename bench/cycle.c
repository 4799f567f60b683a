/* One process acquires and releases NAMES locks on Redis, all at once, on one connection.
 *
 *     bench_cycle lockkit REDIS_URL NAMES SECONDS
 *     bench_cycle raw     REDIS_URL NAMES SECONDS ACQUIRE_SHA1 RELEASE_SHA1
 *
 * `raw` sends the same scripts only by hiredis; lockkit has loaded them before. It acquires all
 * names, reads the replies, releases all, and reads the replies. Prints the cycles a second, and
 * the CPU of this process for a cycle in microseconds. */
#include "clock.h"
#include "lockkit.h"

#include <hiredis/hiredis.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#define NAMES_MOST 1024

static unsigned long cycles;
static int64_t end_ns;

static void check(bool is_well, const char *what) {
    if (is_well)
        return;
    (void)fprintf(stderr, "cycle: %s\n", what);
    exit(1);
}

/* redis://[:password@]host[:port][/db]; `raw` does not use the db. */
static redisContext *connect_raw(const char *url) {
    char text[256], *at = text + strlen("redis://"), *sign, *colon;
    redisContext *redis;
    int port = 6379;

    check(strncmp(url, "redis://", strlen("redis://")) == 0 && strlen(url) < sizeof text, url);
    (void)strcpy(text, url);
    at[strcspn(at, "/")] = '\0';
    sign = strrchr(at, '@');
    colon = strrchr(sign ? sign : at, ':');
    if (colon) {
        port = atoi(colon + 1);
        *colon = '\0';
    }
    redis = redisConnect(sign ? sign + 1 : at, port);
    check(redis && redis->err == 0, "cannot connect");
    if (sign) {
        *sign = '\0';
        freeReplyObject(redisCommand(redis, "AUTH %s", at + 1));
    }
    return redis;
}

static void take_replies(redisContext *redis, long names) {
    redisReply *reply;

    for (long i = 0; i < names; i++) {
        check(redisGetReply(redis, (void **)&reply) == REDIS_OK, redis->errstr);
        check(reply->type == REDIS_REPLY_ARRAY && reply->elements > 0 &&
                  reply->element[0]->integer == 1,
              "a lock was not free, or the scripts are not those of this server");
        freeReplyObject(reply);
    }
}

#define KEYS                                                                                       \
    "lk:{raw-%ld} lk:{raw-%ld}:fence lk:{raw-%ld}:queue lk:{raw-%ld}:shared lk:{raw-%ld}:info"

static void run_raw(const char *url, long names, const char *acquire, const char *release) {
    redisContext *redis = connect_raw(url);
    char owner[41];

    (void)memset(owner, 'a', sizeof owner);
    owner[40] = '\0';
    while (clock_now_ns() < end_ns) {
        for (long i = 0; i < names; i++)
            (void)redisAppendCommand(redis, "EVALSHA %s 5 " KEYS " %s raw 10000 0 0 bench", acquire,
                                     i, i, i, i, i, owner);
        take_replies(redis, names);
        for (long i = 0; i < names; i++)
            (void)redisAppendCommand(redis, "EVALSHA %s 5 " KEYS " %s raw", release, i, i, i, i, i,
                                     owner);
        take_replies(redis, names);
        cycles += (unsigned long)names;
    }
    redisFree(redis);
}

static void acquire_again(lk_lock *lock);

static void on_released(enum lk_status status, void *data) {
    if (clock_now_ns() >= end_ns)
        return;
    check(status == LK_OK, "lk_release");
    cycles++;
    acquire_again(data);
}

static void on_acquired(lk_request *request, enum lk_status status, lk_lease *lease, void *data) {
    (void)request;
    if (status == LK_OK)
        lk_release(lease, on_released, data);
    else
        check(clock_now_ns() >= end_ns, "lk_acquire"); /* otherwise it was cancelled at the end */
}

static void acquire_again(lk_lock *lock) {
    check(lk_acquire(lock, 10000, on_acquired, lock, NULL) == LK_OK, "lk_acquire");
}

static void run_lockkit(const char *url, long names) {
    lk_client *client;
    lk_lock *lock;
    uv_loop_t loop;
    char name[32];

    check(uv_loop_init(&loop) == 0 && lk_client_open(&client, &loop, url, NULL) == LK_OK, url);
    for (long i = 0; i < names; i++) {
        (void)snprintf(name, sizeof name, "cycle-%ld", i);
        check(lk_lock_open(&lock, client, name, NULL) == LK_OK, "lk_lock_open");
        acquire_again(lock);
    }
    while (clock_now_ns() < end_ns)
        (void)uv_run(&loop, UV_RUN_ONCE);
    lk_client_close(client, NULL, NULL);
    (void)uv_run(&loop, UV_RUN_DEFAULT);
}

int main(int argc, char **argv) {
    long names = argc > 4 ? atol(argv[3]) : 0;
    struct rusage used;
    int64_t began_ns = clock_now_ns();
    double took_s, cpu_us;

    check(names > 0 && names <= NAMES_MOST && (argc == 5 || argc == 7),
          "usage: lockkit URL NAMES SECONDS | raw URL NAMES SECONDS ACQUIRE_SHA1 RELEASE_SHA1");
    end_ns = began_ns + (int64_t)(atof(argv[4]) * 1e9);
    if (argc == 7)
        run_raw(argv[2], names, argv[5], argv[6]);
    else
        run_lockkit(argv[2], names);
    took_s = (double)(clock_now_ns() - began_ns) / 1e9;
    (void)getrusage(RUSAGE_SELF, &used);
    cpu_us = (double)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) * 1e6 +
             (double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec);
    (void)printf("%.0f %.2f\n", (double)cycles / took_s, cpu_us / (double)cycles);
    return 0;
}
