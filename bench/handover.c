/* Measures hand-overs under contention: 16 callers in each of 4 processes want one lock.
 *
 *     bench_handover REDIS_URL SECONDS
 *
 * Alternate rounds measure the serial limit: the same processes pass a token around by the raw
 * round trips of a hand-over, one after another. The holder sends a script that gives the token
 * back and publishes to the next process, which answers the message with a script that claims the
 * token. Prints both rates, the commands and messages of a lockkit hand-over, and the longest
 * sequence of hand-overs inside one process. */
#include "clock.h"
#include "lockkit.h"

#include <hiredis/hiredis.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define PROCESSES 4
#define CALLERS   16
#define ROUNDS    5

static struct shared {
    atomic_bool is_over;
    atomic_ulong grants;
    atomic_int last, row, longest;
} * shared;

static const char *url, *host = "127.0.0.1", *password;
static int port = 6379;
static lk_lock *lock;
static int number; /* the number of this process */

static void check(bool is_well, const char *what) {
    if (is_well)
        return;
    (void)fprintf(stderr, "handover: %s\n", what);
    exit(1);
}

/* redis://[:password@]host[:port][/db]; the raw rounds do not use the db. */
static void parse(void) {
    static char text[256];
    char *at = text + strlen("redis://"), *sign, *colon;

    check(strncmp(url, "redis://", strlen("redis://")) == 0 && strlen(url) < sizeof text, url);
    (void)strcpy(text, url);
    at[strcspn(at, "/")] = '\0';
    sign = strrchr(at, '@');
    if (sign) {
        *sign = '\0';
        password = at + 1;
        at = sign + 1;
    }
    host = at;
    colon = strchr(at, ':');
    if (colon)
        port = atoi(colon + 1);
    if (colon)
        *colon = '\0';
}

static redisContext *connect_raw(void) {
    redisContext *redis = redisConnect(host, port);

    check(redis && redis->err == 0, "cannot connect");
    if (password)
        freeReplyObject(redisCommand(redis, "AUTH %s", password));
    return redis;
}

static void load(redisContext *redis, const char *script, char sha1[41]) {
    redisReply *reply = redisCommand(redis, "SCRIPT LOAD %s", script);

    check(reply && reply->type == REDIS_REPLY_STRING, "cannot load a script");
    (void)snprintf(sha1, 41, "%s", reply->str);
    freeReplyObject(reply);
}

static void pass_token(void) {
    redisContext *commands = connect_raw(), *messages = connect_raw();
    char claim[41], give[41], channel[32];
    redisReply *reply;

    load(commands, "return redis.call('PEXPIRE', KEYS[1], 10000)", claim);
    load(commands,
         "redis.call('DEL', KEYS[1]) redis.call('SET', KEYS[1], ARGV[2], 'PX', 1000) "
         "return redis.call('PUBLISH', ARGV[1], ARGV[2])",
         give);
    freeReplyObject(redisCommand(messages, "SUBSCRIBE bench:%d", number));
    (void)snprintf(channel, sizeof channel, "bench:%d", (number + 1) % PROCESSES);
    while (!atomic_load(&shared->is_over)) {
        check(redisGetReply(messages, (void **)&reply) == REDIS_OK, "no message");
        freeReplyObject(reply);
        freeReplyObject(redisCommand(commands, "EVALSHA %s 1 bench:token", claim));
        atomic_fetch_add(&shared->grants, 1);
        freeReplyObject(redisCommand(commands, "EVALSHA %s 1 bench:token %s token", give, channel));
    }
}

static void on_acquired(lk_request *request, enum lk_status status, lk_lease *lease, void *data) {
    (void)request;
    if (status != LK_OK)
        return;
    atomic_fetch_add(&shared->grants, 1);
    if (atomic_exchange(&shared->last, number) != number)
        atomic_store(&shared->row, 0);
    if (atomic_fetch_add(&shared->row, 1) >= atomic_load(&shared->longest))
        atomic_store(&shared->longest, atomic_load(&shared->row));
    lk_release(lease, NULL, NULL);
    if (!atomic_load(&shared->is_over))
        check(lk_acquire(lock, LK_FOREVER, on_acquired, data, NULL) == LK_OK, "lk_acquire");
}

static void contend(void) {
    struct lk_client_options options = {.size = sizeof options, .reply_ms = 5000};
    lk_client *client;
    uv_loop_t loop;

    check(uv_loop_init(&loop) == 0 && lk_client_open(&client, &loop, url, &options) == LK_OK &&
              lk_lock_open(&lock, client, "bench-handover", NULL) == LK_OK,
          "cannot open the client");
    for (int i = 0; i < CALLERS; i++)
        check(lk_acquire(lock, LK_FOREVER, on_acquired, NULL, NULL) == LK_OK, "lk_acquire");
    while (!atomic_load(&shared->is_over))
        (void)uv_run(&loop, UV_RUN_ONCE);
    lk_client_close(client, NULL, NULL);
    (void)uv_run(&loop, UV_RUN_DEFAULT);
}

static unsigned long calls_of(redisContext *redis, const char *command) {
    redisReply *reply = redisCommand(redis, "INFO commandstats");
    char name[64];
    const char *at;
    unsigned long calls;

    check(reply && reply->type == REDIS_REPLY_STRING, "INFO");
    (void)snprintf(name, sizeof name, "cmdstat_%s:calls=", command);
    at = strstr(reply->str, name);
    calls = at ? strtoul(at + strlen(name), NULL, 10) : 0;
    freeReplyObject(reply);
    return calls;
}

struct measured {
    double rate, commands, messages;
    int longest;
};

/* Run `life` in each process. The first second is not counted. */
static struct measured run(redisContext *redis, void (*life)(void), unsigned seconds) {
    unsigned long grants, commands, messages;
    struct measured measured;
    pid_t children[PROCESSES];
    int64_t start_ns;

    memset(shared, 0, sizeof *shared);
    shared->last = -1;
    for (number = 0; number < PROCESSES; number++)
        if ((children[number] = fork()) == 0) {
            (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
            life();
            exit(0);
        }
    (void)sleep(1);
    freeReplyObject(redisCommand(redis, "PUBLISH bench:0 token"));
    shared->longest = 0;
    grants = shared->grants;
    commands = calls_of(redis, "evalsha");
    messages = calls_of(redis, "publish");
    start_ns = clock_now_ns();
    (void)sleep(seconds);
    measured.rate = (double)(shared->grants - grants) * 1e9 / (double)(clock_now_ns() - start_ns);
    grants = shared->grants - grants;
    measured.commands = (double)(calls_of(redis, "evalsha") - commands) / (double)grants;
    measured.messages = (double)(calls_of(redis, "publish") - messages) / (double)grants;
    measured.longest = shared->longest;
    shared->is_over = true;
    for (int i = 0; i < PROCESSES; i++) {
        if (life == pass_token)
            (void)kill(children[i], SIGKILL);
        (void)waitpid(children[i], NULL, 0);
    }
    return measured;
}

static int by_value(const void *left, const void *right) {
    const double a = *(const double *)left, b = *(const double *)right;

    return (a > b) - (a < b);
}

int main(int argc, char **argv) {
    double ratios[ROUNDS];
    redisContext *redis;

    check(argc == 3, "usage: bench_handover REDIS_URL SECONDS");
    url = argv[1];
    parse();
    redis = connect_raw();
    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    check(shared != MAP_FAILED, "out of memory");
    for (int i = 0; i < ROUNDS; i++) {
        const struct measured raw = run(redis, pass_token, (unsigned)atoi(argv[2]));
        const struct measured ours = run(redis, contend, (unsigned)atoi(argv[2]));

        ratios[i] = ours.rate / raw.rate;
        (void)printf("serial limit %.0f/s  lockkit %.0f/s  ratio %.2f  commands %.2f and messages "
                     "%.2f a hand-over  longest row %d\n",
                     raw.rate, ours.rate, ratios[i], ours.commands, ours.messages, ours.longest);
        (void)fflush(stdout);
    }
    qsort(ratios, ROUNDS, sizeof ratios[0], by_value);
    (void)printf("median ratio %.2f\n", ratios[ROUNDS / 2]);
    redisFree(redis);
    return 0;
}
